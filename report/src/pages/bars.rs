// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures with bars beside each other.
use ebb_experiments::{Curve, Picture, Place, Point};
use maud::{Markup, html};

use super::axes::{Axes, BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, drawing, name_of, px};
use super::marks::{Whose, colour};

/// Groups of bars; in each, of each curve the paper's and ours.
pub(super) fn bars(picture: &Picture) -> Markup {
    let labels = labels(&picture.curves);
    let longest = labels
        .iter()
        .map(|it| it.chars().count())
        .max()
        .unwrap_or(0);
    let group = (WIDTH - LEFT - RIGHT) / labels.len().max(1) as f64;
    // About the width of a character; what does not fit is turned.
    let is_turned = longest as f64 * 6.5 > group;
    let below = if is_turned {
        24.0 + longest as f64 * 4.8
    } else {
        BOTTOM
    };
    let height = HEIGHT - BOTTOM + below;
    let axes = Axes::new(picture, height - below);
    let columns = columns(&picture.curves);
    let width = (group * 0.8 / columns.len().max(1) as f64).min(28.0);
    let drawn = html! {
        (axes.draw())
        @for (place, text) in labels.iter().enumerate() {
            @let middle = LEFT + group * (place as f64 + 0.5);
            @let first = middle - width * columns.len() as f64 / 2.0;
            @for (order, column) in columns.iter().enumerate() {
                (column.draw(&axes, text, first + width * order as f64, width - 1.0))
            }
            (group_label(text, middle, axes.bottom, is_turned))
        }
        (axes.marks(None))
    };
    drawing(height, &format!("bars of {}", name_of(&picture.y)), &drawn)
}

/// Bars that stand on each other, one for each label.
struct Column<'c> {
    whose: Whose,
    /// Numbers of the curves and their values, the lowest first.
    parts: Vec<(usize, &'c [Point])>,
}

/// What stands above a label.
struct Part<'c> {
    /// Of its curve.
    number: usize,
    point: &'c Point,
    /// How high what is below it is, if anything is.
    below: Option<f64>,
}

impl<'c> Column<'c> {
    fn draw(&self, axes: &Axes<'_>, label: &str, left: f64, width: f64) -> Markup {
        html! {
            @for part in self.at(label) { (part.draw(axes, self.whose, left, width)) }
        }
    }

    /// The lowest first.
    fn at(&self, label: &str) -> Vec<Part<'c>> {
        let is_here = |point: &&Point| matches!(&point.x, Place::Label(it) if it == label);
        let mut below = None;
        let part = |(number, points): &(usize, &'c [Point])| {
            let point = points.iter().find(is_here)?;
            let height = below.unwrap_or(0.0) + point.y;
            Some(Part {
                number: *number,
                point,
                below: below.replace(height),
            })
        };
        self.parts.iter().filter_map(part).collect()
    }
}

impl Part<'_> {
    /// How high its upper end is.
    fn height(&self) -> f64 {
        self.below.unwrap_or(0.0) + self.point.y
    }

    /// A bar from what stands below it, or from the axis.
    fn draw(&self, axes: &Axes<'_>, whose: Whose, left: f64, width: f64) -> Markup {
        let top = axes.y(self.height());
        // A line of background keeps what stands on something apart from it.
        let foot = self.below.map_or(axes.bottom, |below| axes.y(below) - 1.0);
        let paper = if whose.is_paper() { " p" } else { "" };
        let ends = |half: f64| [-half, half].map(|by| axes.y(self.height() + by));
        let interval = self.point.half_width_95.map(ends);
        let interval = interval.filter(|[low, high]| low - high > 1.0);
        html! {
            rect class={ "r" (paper) " " (colour(self.number)) } x=(px(left)) y=(px(top))
                width=(px(width)) height=(px((foot - top).max(0.5))) {}
            @if let Some([low, high]) = interval {
                path.e d={ "M" (px(left + width / 2.0)) " " (px(low)) "V" (px(high)) } {}
            }
        }
    }
}

/// The paper's and ours of each curve that has bars of its own, and of each stack.
fn columns(curves: &[Curve]) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    for (number, curve) in curves.iter().enumerate() {
        let stands_on = |other: &Curve| curve.stack.is_some() && other.stack == curve.stack;
        // A stack is drawn with its first curve.
        if curves[..number].iter().any(stands_on) {
            continue;
        }
        let own = (number..curves.len()).filter(|one| *one == number || stands_on(&curves[*one]));
        let own: Vec<usize> = own.collect();
        for whose in [Whose::Paper, Whose::Ours] {
            let points = |one: &usize| match whose {
                Whose::Paper => (*one, curves[*one].paper.as_slice()),
                Whose::Ours => (*one, curves[*one].ours.as_slice()),
            };
            let parts: Vec<_> = own.iter().map(points).collect();
            if parts.iter().any(|(_, points)| !points.is_empty()) {
                columns.push(Column { whose, parts });
            }
        }
    }
    columns
}

/// How high bars that stand on each other are, with their intervals.
pub(super) fn heights(curves: &[Curve]) -> Vec<f64> {
    let mut heights = Vec::new();
    for column in columns(curves) {
        for label in labels(curves) {
            for part in column.at(&label) {
                heights.push(part.height() + part.point.half_width_95.unwrap_or(0.0));
            }
        }
    }
    heights
}

fn labels(curves: &[Curve]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for point in curves.iter().flat_map(|it| it.paper.iter().chain(&it.ours)) {
        if let Place::Label(label) = &point.x
            && !labels.contains(label)
        {
            labels.push(label.clone());
        }
    }
    labels
}

fn group_label(text: &str, middle: f64, bottom: f64, is_turned: bool) -> Markup {
    let (x, y) = match is_turned {
        true => (px(middle + 4.0), px(bottom + 12.0)),
        false => (px(middle), px(bottom + 16.0)),
    };
    html! {
        @if is_turned {
            text.t x=(x) y=(y) text-anchor="end" transform={ "rotate(-40 " (x) " " (y) ")" } { (text) }
        } @else {
            text.t x=(x) y=(y) text-anchor="middle" { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use ebb_experiments::{Axis, Form};

    use super::*;

    fn curve(stack: Option<&str>, y: f64, half_width_95: Option<f64>) -> Curve {
        let point = Point {
            x: Place::Label("1 s".into()),
            y,
            half_width_95,
        };
        Curve {
            name: String::new(),
            ours: vec![point],
            paper: Vec::new(),
            is_upside_down: false,
            stack: stack.map(str::to_owned),
        }
    }

    fn picture(curves: Vec<Curve>) -> Picture {
        Picture {
            title: String::new(),
            form: Form::Bars,
            x: Axis::default(),
            y: Axis::default(),
            curves,
            marks: Vec::new(),
        }
    }

    #[test]
    fn curves_of_one_stack_stand_on_each_other_beside_the_others() {
        let all = vec![
            curve(None, 4.0, None),
            curve(Some("on"), 5.0, None),
            curve(Some("on"), 3.0, Some(1.0)),
        ];
        assert_eq!(heights(&all), [4.0, 5.0, 9.0]);
        // The axis ends at 10: 23 for each from 240 upwards, and one group around 215.
        let svg = bars(&picture(all)).0;
        for part in [
            "s0\" x=\"187.0\" y=\"148.0\" width=\"27.0\" height=\"92.0\"",
            "s1\" x=\"215.0\" y=\"125.0\" width=\"27.0\" height=\"115.0\"",
            "s2\" x=\"215.0\" y=\"56.0\" width=\"27.0\" height=\"68.0\"",
            "M228.5 79.0V33.0",
        ] {
            assert!(svg.contains(part), "no `{part}` in {svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 3);
    }

    #[test]
    fn stacks_of_other_names_stand_beside_each_other() {
        let stacks = [Some("a"), Some("b"), None, Some("a"), None];
        let curves: Vec<Curve> = stacks.map(|stack| curve(stack, 1.0, None)).into();
        let columns = columns(&curves);
        let columns = columns.iter().map(|column| column.parts.iter());
        let numbers: Vec<Vec<usize>> = columns
            .map(|parts| parts.map(|(number, _)| *number).collect())
            .collect();
        assert_eq!(numbers, [vec![0, 3], vec![1], vec![2], vec![4]]);
    }
}
