// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law inside the kernel, one call at a time.

use ebb_algorithms::{LawInfo, Policy, Side};
use ebb_kernel::trace::Input;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput};
use std::mem::MaybeUninit;

macro_rules! skeleton {
    ($name:ident) => {
        #[allow(clippy::all, clippy::undocumented_unsafe_blocks, unused)]
        mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".skel.rs"));
        }
    };
}
skeleton!(replay_receiver);
skeleton!(replay_sender);

/// A law's programs, loaded.
pub struct Kernel {
    law: &'static LawInfo,
    object: Object,
}

enum Object {
    Receiver(replay_receiver::ReplayReceiverSkel<'static>),
    Sender(replay_sender::ReplaySenderSkel<'static>),
}

/// Loads a skeleton with the law's number in its constants.
macro_rules! loaded {
    ($builder:expr, $law:ident) => {{
        // As long as the test: there is one for each law.
        let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new_uninit());
        let mut open = $builder.open(storage).unwrap();
        let constants = open.maps.rodata_config_data.as_deref_mut().unwrap();
        constants.config.law_number = $law.number;
        open.load().unwrap()
    }};
}

/// Makes one call of a loaded skeleton's program, with a step of its own type.
macro_rules! call {
    ($loaded:ident, $types:path, $policy:ident, $input:ident) => {{
        use $types as types;
        let mut step = types::ebb_replay_step {
            kind: $input.kind(),
            ..Default::default()
        };
        for (place, value) in step.params.iter_mut().zip($policy.values()) {
            *place = *value;
        }
        let told = $input.as_bytes();
        assert!(told.len() <= size_of_val(&step.input));
        // SAFETY: the input is a union of plain integers, at least as long; the step is one, too.
        let context = unsafe {
            (&raw mut step.input)
                .cast::<u8>()
                .copy_from(told.as_ptr(), told.len());
            std::slice::from_raw_parts_mut((&raw mut step).cast::<u8>(), size_of_val(&step))
        };
        // The kernel writes there as well: not by a reference.
        let state = &raw mut $loaded.maps.data_state_data.as_deref_mut().unwrap().state;
        if matches!($input, Input::Start(_) | Input::SenderStart(_)) {
            // SAFETY: the map's memory, which is a union of plain integers.
            unsafe { state.write_bytes(0, 1) };
        }
        let input = ProgramInput {
            context_in: Some(context),
            ..Default::default()
        };
        let output = $loaded.progs.ebb_replay.test_run(input).unwrap();
        assert_eq!(output.return_value, 1);
        // SAFETY: as above; nobody writes there between two calls.
        unsafe { std::slice::from_raw_parts(state.cast::<u8>(), size_of_val(&*state)).to_vec() }
    }};
}

impl Kernel {
    pub fn load(law: &'static LawInfo) -> Self {
        let object = match law.side() {
            Side::Receiver => Object::Receiver(loaded!(
                replay_receiver::ReplayReceiverSkelBuilder::default(),
                law
            )),
            Side::Sender => Object::Sender(loaded!(
                replay_sender::ReplaySenderSkelBuilder::default(),
                law
            )),
        };
        Self { law, object }
    }

    /// Makes one call and gives the law's state.
    pub fn call(&mut self, policy: &Policy, input: &Input) -> Vec<u8> {
        let mut state = match &mut self.object {
            Object::Receiver(loaded) => call!(loaded, replay_receiver::types, policy, input),
            Object::Sender(loaded) => call!(loaded, replay_sender::types, policy, input),
        };
        state.truncate(self.law.state_bytes);
        state
    }
}
