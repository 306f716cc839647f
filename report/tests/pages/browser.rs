// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A real browser, and what it sees of a page.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The browser, if there is one.
pub fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: there is no chromium (scripts/packages-test.txt)");
    }
    found
}

/// Runs the browser with a profile of its own; answers what it printed.
fn browse(browser: &Path, folder: &Path, arguments: &[&str]) -> String {
    // A pipe holds less than a page, and nobody reads it before the end.
    let printed = folder.join("printed");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--allow-file-access-from-files", "--disable-dev-shm-usage"])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .args(arguments)
        .stdout(File::create(&printed).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A browser that hangs is stopped: nothing else would stop it.
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the browser did not end with {arguments:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{arguments:?}");
    String::from_utf8_lossy(&std::fs::read(&printed).unwrap()).into_owned()
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The elements of a page as the browser understood them, one a line and without the style: the
/// same for all ways of writing the same page.
pub fn elements(browser: &Path, folder: &Path, page: &Path) -> String {
    let dom = browse(browser, folder, &["--dump-dom", &url(page)]);
    let (before, styled) = dom.split_once("<style>").unwrap();
    let (_, behind) = styled.split_once("</style>").unwrap();
    let dom = format!("{before}{behind}");
    let lines = dom.lines().map(|line| line.replace("><", ">\n<"));
    lines
        .filter(|line| !line.is_empty())
        .map(|line| line + "\n")
        .collect()
}

/// How wide the pages' contents are in a window of this width, by the browser's own count.
pub fn widths_px(browser: &Path, folder: &Path, pages: &[PathBuf], width_px: u32) -> Vec<u32> {
    // In a frame, since a window cannot be as narrow as a telephone.
    let frames: String = pages
        .iter()
        .map(|page| {
            format!(
                "<iframe src=\"{}\" width={width_px} height=800 style=\"border:0\"></iframe>",
                url(page)
            )
        })
        .collect();
    let script = "onload = () => { for (const frame of document.querySelectorAll('iframe')) {\
         const page = frame.contentDocument;\
         for (const part of page.querySelectorAll('details')) part.open = true;\
         document.body.append('width=' + page.documentElement.scrollWidth + ';'); } }";
    let harness = folder.join("harness.html");
    let text = format!("<!DOCTYPE html><body>{frames}<script>{script}</script></body>");
    std::fs::write(&harness, text).unwrap();
    let dom = browse(browser, folder, &["--dump-dom", &url(&harness)]);
    let body = dom.split("</script>").last().unwrap_or("");
    let widths = body.split("width=").skip(1);
    widths
        .map(|text| text.split(';').next().unwrap().parse().unwrap())
        .collect()
}

/// The picture of a page: its width and its pixels as grey from 0 to 255.
pub fn screenshot(browser: &Path, folder: &Path, page: &Path, is_dark: bool) -> (u32, Vec<u8>) {
    let file = folder.join("shot.png");
    let into = format!("--screenshot={}", file.display());
    // 0 is dark and 1 light in Blink's enumeration.
    let scheme = format!(
        "--blink-settings=preferredColorScheme={}",
        if is_dark { 0 } else { 1 }
    );
    let arguments = [&into, "--window-size=1000,1400", &scheme, &url(page)];
    browse(browser, folder, &arguments);
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let channels = info.color_type.samples();
    let grey = |pixel: &[u8]| {
        let sum: u32 = pixel[..3].iter().map(|part| u32::from(*part)).sum();
        (sum / 3) as u8
    };
    (info.width, bytes.chunks(channels).map(grey).collect())
}
