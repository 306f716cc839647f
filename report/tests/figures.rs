// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figures become two files that say the same.

use ebb_report::figure::{Column, Figure, Legend, Mark, Panel, Row, Sample, colours};
use ebb_report::{Error, image};
use std::path::Path;

fn column(title: &str, colour: ebb_report::figure::Colour) -> Column {
    Column {
        title: title.into(),
        subtitle: "second line".into(),
        colour,
        x_max: 20.0,
    }
}

fn wave(column: usize) -> Vec<(f64, f64)> {
    (0..200)
        .map(|i| f64::from(i) / 10.0)
        .map(|x| (x, 4.0 + column as f64 + (x * 2.0).sin()))
        .collect()
}

fn row(title: &str, mark: fn(Vec<(f64, f64)>) -> Mark) -> Row {
    let panel = |i| Panel {
        headline: format!("mean {}", 4 + i),
        marks: vec![mark(wave(i)), Mark::Level { y: 9.0 }],
    };
    Row {
        title: title.into(),
        unit: "Mbit/s".into(),
        y_max: 10.0,
        height_px: 120,
        panels: (0..3).map(panel).collect(),
    }
}

fn example() -> Figure {
    Figure {
        title: "A title that says what is seen".into(),
        subtitle: vec!["One line about the set-up & its <details>.".into()],
        columns: vec![
            column("grey", colours::GREY),
            column("vermillion", colours::VERMILLION),
            column("blue", colours::BLUE),
        ],
        rows: vec![
            row("Areas", |points| Mark::Area {
                points: points.into_iter().map(|(x, y)| (x, 0.0, y)).collect(),
                colour: colours::BLUE,
                opacity: 0.7,
            }),
            row("Lines", |points| Mark::Line {
                points,
                colour: colours::VERMILLION,
                width_px: 1.6,
            }),
            row("Stems", |points| Mark::Stems {
                points: points.into_iter().step_by(10).collect(),
                colour: colours::GREY,
            }),
        ],
        x_label: "seconds".into(),
        legend: vec![
            Legend {
                sample: Sample::Patch(colours::BLUE, 0.7),
                meaning: "blue".into(),
            },
            Legend {
                sample: Sample::Level,
                meaning: "a level".into(),
            },
        ],
        width_px: 900,
    }
}

fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

#[test]
fn png_shows_each_colour_that_was_drawn_and_is_mostly_light() {
    let (width, height, pixels) = decoded(&image::png(&example()).unwrap());
    assert_eq!((width, pixels.len()), (1800, (width * height * 3) as usize));
    let has = |r, g, b| pixels.chunks(3).any(|pixel| pixel == [r, g, b]);
    assert!(has(0xd5, 0x5e, 0x00) && has(0x76, 0x76, 0x76) && has(0xff, 0xff, 0xff));
    let dark = pixels
        .chunks(3)
        .filter(|pixel| pixel.iter().all(|&value| value < 0x80))
        .count();
    assert!(
        (500..pixels.len() / 30).contains(&dark),
        "{dark} dark pixels: is there text?"
    );
}

#[test]
fn svg_has_every_label_escaped_and_scales_by_its_view_box() {
    let svg = image::svg(&example()).unwrap();
    for label in [
        "A title that says",
        "set-up &amp; its &lt;details&gt;",
        "vermillion",
        "mean 6",
    ] {
        assert!(svg.contains(label), "{label} is missing");
    }
    assert!(svg.contains("<svg width=\"900\"") && svg.contains("viewBox=\"0 0 3600 "));
}

#[test]
fn both_files_are_written_into_a_folder_that_is_made() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures/new");
    let _ = std::fs::remove_dir_all(&folder);
    let [svg, png] = image::write(&example(), &folder, "example").unwrap();
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_row_that_lacks_a_panel_is_refused_by_name() {
    let mut figure = example();
    figure.rows[1].panels.pop();
    let error = image::svg(&figure).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("row \"Lines\" has 2 panels for 3 columns"),
        "{error}"
    );
}

#[test]
fn an_axis_without_length_is_refused_by_name() {
    let mut figure = example();
    figure.rows[2].y_max = f64::NAN;
    assert!(
        image::png(&figure)
            .unwrap_err()
            .to_string()
            .contains("row \"Stems\" ends at NaN")
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let error = image::write(&example(), Path::new("/proc/ebb-no-such"), "x").unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if path.starts_with("/proc/ebb-no-such")));
}
