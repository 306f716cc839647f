// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled programs, and the structs that they share with their owner.

macro_rules! skeleton {
    ($name:ident) => {
        #[allow(clippy::all, clippy::undocumented_unsafe_blocks, unused)]
        pub(crate) mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".skel.rs"));
        }
    };
}

skeleton!(gateway);
skeleton!(layouts);
