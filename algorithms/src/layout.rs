// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `layout.h` says of the structs that C and Rust share, asserted of those in Rust.

use crate::MAX_PARAMS;
use crate::floor::{
    FLOOR_UNBOUND_BYTES_PER_S, FloorEvent, FloorNews, NativeFloor, NativeFloorMember,
};
use crate::insight::{Doing, NativeInsight};
use crate::native::{
    NativeBundle, NativePairs, NativeParam, NativeReceiverLaw, NativeSenderLaw, Variations,
};
use crate::receiver_contract::{Ack, Segment, Start};
use crate::sender_contract::{Phase, SenderAck, SenderEvent, SenderStart, SenderWindow};

include!(concat!(env!("OUT_DIR"), "/layout.rs"));
