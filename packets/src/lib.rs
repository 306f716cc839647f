// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Headers of eBPF programs, for the build scripts of whoever compiles some: the parser of packets
//! and the call of a receiver law by its number. What they include of the laws is in
//! `algorithms/`.

/// The folder that is to be searched for headers.
pub const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf");
