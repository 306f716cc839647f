// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled programs of each end and the structs that they share with their owner, as
//! `build.rs` has them generated from the objects.

macro_rules! skeleton {
    ($name:ident) => {
        #[allow(clippy::all, clippy::undocumented_unsafe_blocks, unused)]
        pub(crate) mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".skel.rs"));
        }
    };
}

skeleton!(receiver);
skeleton!(sender);
skeleton!(rules);
skeleton!(claims);
skeleton!(layouts);
