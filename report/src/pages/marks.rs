// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a curve is told from the others: by a colour, by the shape of its marks, and the paper's by
//! dashes.
use maud::{Markup, html};

use super::axes::px;

/// Of the page's colours for curves.
const COLOURS: usize = 6;

/// Whose values.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Whose {
    Ours,
    Paper,
}

impl Whose {
    pub fn is_paper(self) -> bool {
        self == Self::Paper
    }
}

pub(super) fn colour(number: usize) -> String {
    format!("s{}", number % COLOURS)
}

/// Circle, square, triangle, diamond, cross, and again.
pub(super) fn mark(number: usize, (x, y): (f64, f64), whose: Whose) -> Markup {
    let path = match number % 5 {
        0 => None,
        1 => Some(format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5)),
        2 => Some(format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0)),
        3 => Some(format!("M{x:.1} {:.1}l6.5 6.5l-6.5 6.5l-6.5-6.5z", y - 6.5)),
        _ => Some(format!("M{:.1} {:.1}l8 8m0-8l-8 8", x - 4.0, y - 4.0)),
    };
    html! {
        @match path {
            Some(path) => { path.m.p[whose.is_paper()] d=(path) {} }
            None => { circle.m.p[whose.is_paper()] cx=(px(x)) cy=(px(y)) r="4" {} }
        }
    }
}

/// The middle of a sample.
pub(super) const MIDDLE: (f64, f64) = (18.0, 7.0);

/// What a legend shows beside a text.
pub(super) fn sample(drawn: &Markup) -> Markup {
    html! { svg viewBox="0 0 36 14" aria-hidden="true" { (drawn) } }
}
