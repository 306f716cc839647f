// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traffic of people: calls, web pages, videos, and what they notice of the network.
//!
//! What a source draws comes from streams of its own that the network does not touch:
//! under another law the same people want the same pages at the same pace.

mod call;
mod draw;
mod on_off;
mod video;
mod web;

pub use call::Call;
pub use on_off::OnOff;
pub use video::Video;
pub use web::Web;
