// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A deterministic packet-level simulator in which all laws meet under the same conditions.
#![forbid(unsafe_code)]
