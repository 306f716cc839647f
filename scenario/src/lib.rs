// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is run: links, queues, flows and their timeline, one TOML file; and what came out.
//!
//! Both engines, the simulator and the lab, read the one and write the other.
#![forbid(unsafe_code)]
