// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a [`Figure`] to its SVG and PNG files: one drawing, two backends.

use crate::Error;
use crate::canvas::{FONT_FAMILY, Fit, OVERSAMPLING};
use crate::draw::{draw, height_px};
use crate::figure::Figure;
use plotters::prelude::{BitMapBackend, IntoDrawingArea, SVGBackend};
use plotters::style::{FontStyle, register_font};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// PNG pixels per figure pixel: sharp on today's screens.
const PNG_SCALE: u32 = 2;

const SVG_FIT: Fit = Fit {
    size: 1.065,
    drop: 0.08,
    has_spiky_joins: false,
};
const PNG_FIT: Fit = Fit {
    size: 1.0,
    drop: 0.2,
    has_spiky_joins: true,
};

/// Where Debian, Fedora and Arch keep DejaVu Sans.
const FONT_FOLDERS: [&str; 3] = [
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/dejavu-sans-fonts",
    "/usr/share/fonts/TTF",
];

/// Writes `<folder>/<stem>.svg` and `.png`, making the folder if need be, and names them.
///
/// *Errors:* a missing font, a figure that fits no grid, a file that cannot be written.
pub fn write(figure: &Figure, folder: &Path, stem: &str) -> Result<[PathBuf; 2], Error> {
    let files = ["svg", "png"].map(|suffix| folder.join(format!("{stem}.{suffix}")));
    create(folder, std::fs::create_dir_all(folder))?;
    create(&files[0], std::fs::write(&files[0], svg(figure)?))?;
    create(&files[1], std::fs::write(&files[1], png(figure)?))?;
    Ok(files)
}

/// The figure as an SVG document.
///
/// *Errors:* as [`write`], without files.
pub fn svg(figure: &Figure) -> Result<String, Error> {
    prepare(figure)?;
    let (width, height) = (figure.width_px, height_px(figure));
    let size = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn =
        draw(figure, &area, SVG_FIT).and_then(|()| area.present().map_err(|e| e.to_string()));
    drop(area);
    drawn.map_err(|problem| drawing_error(figure, problem))?;
    let drawn_size = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    Ok(text.replacen(
        &drawn_size,
        &format!("<svg width=\"{width}\" height=\"{height}\""),
        1,
    ))
}

/// The figure as a PNG file of twice its size in pixels.
///
/// *Errors:* as [`write`], without files.
pub fn png(figure: &Figure) -> Result<Vec<u8>, Error> {
    prepare(figure)?;
    let size = (
        figure.width_px * OVERSAMPLING,
        height_px(figure) * OVERSAMPLING,
    );
    let mut pixels = vec![0_u8; (size.0 * size.1 * 3) as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
    let drawn =
        draw(figure, &area, PNG_FIT).and_then(|()| area.present().map_err(|e| e.to_string()));
    drop(area);
    drawn.map_err(|problem| drawing_error(figure, problem))?;

    let factor = OVERSAMPLING / PNG_SCALE;
    let averaged = average(&pixels, size, factor);
    encode(&averaged, (size.0 / factor, size.1 / factor))
        .map_err(|error| drawing_error(figure, error.to_string()))
}

fn prepare(figure: &Figure) -> Result<(), Error> {
    figure.check()?;
    static FONT: OnceLock<()> = OnceLock::new();
    if FONT.get().is_none() {
        load_font("DejaVuSans.ttf", FontStyle::Normal)?;
        load_font("DejaVuSans-Bold.ttf", FontStyle::Bold)?;
        FONT.get_or_init(|| ());
    }
    Ok(())
}

fn load_font(file: &str, style: FontStyle) -> Result<(), Error> {
    let tried = FONT_FOLDERS.map(|folder| Path::new(folder).join(file));
    let Some(path) = tried.iter().find(|path| path.exists()) else {
        let tried: Vec<_> = tried
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(Error::FontMissing {
            tried: tried.join(", "),
        });
    };
    let font = std::fs::read(path).map_err(|source| Error::File {
        path: path.clone(),
        source,
    })?;
    // The library wants the font for ever; it is loaded once in a process.
    register_font(FONT_FAMILY, style, font.leak())
        .map_err(|_| Error::FontBroken { path: path.clone() })
}

/// Averages squares of `factor` by `factor` pixels of three bytes each.
fn average(pixels: &[u8], (width, height): (u32, u32), factor: u32) -> Vec<u8> {
    let (width, height, factor) = (width as usize, height as usize, factor as usize);
    let mut averaged = Vec::with_capacity(pixels.len() / (factor * factor));
    for (y, x) in (0..height / factor).flat_map(|y| (0..width / factor).map(move |x| (y, x))) {
        for channel in 0..3 {
            let in_square = (0..factor * factor).map(|i| {
                let (row, column) = (y * factor + i / factor, x * factor + i % factor);
                usize::from(pixels[(row * width + column) * 3 + channel])
            });
            averaged.push((in_square.sum::<usize>() / (factor * factor)) as u8);
        }
    }
    averaged
}

fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

fn drawing_error(figure: &Figure, problem: String) -> Error {
    Error::Drawing {
        title: figure.title.clone(),
        problem,
    }
}

fn create<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, Error> {
    outcome.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}
