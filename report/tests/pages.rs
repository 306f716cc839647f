// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages of experiments, in a real browser: wide and narrow, dark and light.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ebb_experiments::{Engine, Experiment, Plan, Ran, Runner};
use ebb_report::pages::{self, Entry};

const SCENARIO: &str = "\
duration = \"4s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
all = [\"0s\", \"end\"]
second = [\"1s\", \"2s\"]
[[flow]]
name = \"mine\"
start_spread = \"100ms\"
";

const EXPERIMENT: &str = "\
title = \"a <title> that is \\\"quoted\\\" & longer than a telephone is wide, on purpose\"
did = \"nothing: it is a test\"
assumed = [\"a_word_without_any_place_to_break_it_that_is_as_long_as_two_lines_of_a_telephone_are\"]
taken = [\"values are read off, to <one> digit\"]
engines = [\"sim\", \"lab\"]
runs = 3
scenario = \"scenario.toml\"

[lab]
quick_set = [\"duration=3s\"]

[[case]]
name = \"shallow\"

[[case]]
name = \"deep, with a name that fits into no column\"
set = [\"bottleneck.queue=80\"]

[[row]]
name = \"use\"
measure = { kind = \"utilisation\" }
paper = { \"shallow\" = 0.97, \"deep, with a name that fits into no column\" = 0.97 }

[[row]]
name = \"queueing\"
measure = { kind = \"queue-mean\" }
unit = \"ms\"
why = \"the paper's values are made up\"
paper = { \"shallow\" = \">= 1\", \"deep, with a name that fits into no column\" = 2.0 }

[[sweep]]
assumption = \"the queue is deep\"
key = \"bottleneck.queue\"
values = [5, 10, 20, 40, 80]
runs = 1

[[plot]]
title = \"waiting against depth\"
x = { label = \"depth\", unit = \"packets\", log = true }
y = { label = \"waiting\", unit = \"ms\" }
[[plot.line]]
name = \"CUBIC\"
row = \"queueing\"
x = [20, 80]

[[plot]]
form = \"bars\"
y = { label = \"use\", to = 1 }
[[plot.line]]
name = \"CUBIC\"
row = \"use\"

[[plot]]
form = \"time\"
y = { label = \"goodput\", unit = \"Mbit/s\", from = 0, to = 5 }
bin = \"100ms\"
[[plot.line]]
name = \"mine\"
case = \"shallow\"
series = \"goodput\"
flow = \"mine\"
upside_down = true
paper = [[0.5, 4], [3, 5]]
[[plot.mark]]
label = \"the <second> second\"
case = \"shallow\"
interval = \"second\"
[[plot.mark]]
label = \"a fifth\"
y = 1
[[plot.mark]]
label = \"a fifth\"
case = \"shallow\"
y = 2
interval = \"second\"
";

/// Pages of one experiment that was run, and of one that was not.
fn written(folder: &Path) -> [PathBuf; 2] {
    std::fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    let file = folder.join("experiment.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let experiment = Experiment::read("paper/table-1", &file).unwrap();
    let other = Experiment::read("paper/table-2", &file).unwrap();
    let runner = Runner::default();
    // As if the lab had given what the simulator gives.
    let compare = |engine, is_quick| {
        let plan = Plan { engine, is_quick };
        let results = runner.simulate(&experiment.scenarios(plan), None).unwrap();
        experiment.compare(&Ran {
            plan,
            results: &results,
            simulated: (engine == Engine::Lab).then_some(results.as_slice()),
            disturbed_runs: 0,
        })
    };
    let comparisons = vec![compare(Engine::Sim, false), compare(Engine::Lab, true)];
    let sweep = &experiment.sweeps[0];
    let influence = runner.influence(&experiment, sweep).unwrap();
    let entries = [
        Entry {
            experiment: &experiment,
            comparisons,
            influences: vec![influence],
        },
        Entry {
            experiment: &other,
            comparisons: Vec::new(),
            influences: Vec::new(),
        },
    ];
    let pages = folder.join("pages");
    let index = pages::write(&entries, &pages).unwrap();
    [index, pages.join("paper/table-1.html")]
}

#[test]
fn what_only_the_lab_runs_is_run_as_root_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let file = folder.path().join("experiment.toml");
    let only = EXPERIMENT.replace("[\"sim\", \"lab\"]", "[\"lab\"]");
    std::fs::write(
        &file,
        only.replace("[lab]", "[lab]\nset = [\"tcp.mss=960\"]"),
    )
    .unwrap();
    let experiment = Experiment::read("paper/table-1", &file).unwrap();
    let entry = Entry {
        experiment: &experiment,
        comparisons: Vec::new(),
        influences: Vec::new(),
    };
    let index = pages::write(&[entry], &folder.path().join("pages")).unwrap();
    assert!(
        std::fs::read_to_string(&index)
            .unwrap()
            .contains("None was run yet.")
    );
    let page = index.with_file_name("paper/table-1.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(">sudo ebb reproduce paper/table-1\n"),
        "{page}"
    );
    assert!(page.contains("\nsudo ebb lab run "), "{page}");
    assert!(page.contains(" \\\n    --set 'tcp.mss=960'\n"), "{page}");
}

#[test]
fn pages_have_values_pictures_files_and_commands_and_ask_for_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [index, page] = written(folder.path()).map(|path| std::fs::read_to_string(path).unwrap());
    assert!(index.contains("href=\"paper/table-1.html\"") && index.contains("not run"));
    // What the simulator gave is not mixed with what the kernel did.
    let lines: Vec<&str> = index.lines().filter(|line| line.contains("<li>")).collect();
    let [simulated, lab] = lines[..] else {
        panic!("{lines:?}");
    };
    assert!(
        simulated.contains("In the simulator, 1 that was run: <span class=\"v green\">● 3 green")
    );
    assert!(lab.contains(
        "With real kernel TCP, 1 that was run: <span class=\"v shortened\">○ 4 shortened"
    ));
    for part in [
        "&lt;title&gt; that is &quot;quoted&quot; &amp; longer",
        "the paper's values are made up",
        "ebb reproduce paper/table-1",
        "--set 'bottleneck.queue=80'",
        "rtt = &quot;20ms&quot;",
        "<h2>How the paper's words were taken</h2>\n<ul>\n<li>values are read off, to &lt;one&gt; digit</li>",
        "How it matters: the queue is deep",
        "● 3 green",
        "○ 4 shortened",
        "Shortened: not the paper’s scenario.",
        "data-l=\"within\">0.05</td>",
        "data-l=\"within\">0.4</td>",
        "<td class=\"n\">&gt;= 1</td>",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
    // Three pictures by each engine, of which each has values of ours and of the paper.
    assert_eq!(page.matches("<figure>").count(), 6);
    for text in [&index, &page] {
        for way_out in [
            "<script", "http:", "https:", "<link", "@import", "url(", "<img",
        ] {
            assert!(!text.contains(way_out), "the page has {way_out}");
        }
    }
}

#[test]
fn a_curve_hangs_from_the_top_and_marks_stand_where_their_intervals_are() {
    let folder = tempfile::tempdir().unwrap();
    let [_, page] = written(folder.path()).map(|path| std::fs::read_to_string(path).unwrap());
    let figures = page.split("<figure>").filter(|it| it.contains("upside"));
    let figures: Vec<&str> = figures.collect();
    let [simulated, lab] = figures[..] else {
        panic!("{}", figures.len());
    };
    // A frame of 308 by 230 from 46, 10 on; the lab's runs are of 3 s, not 4.
    for (figure, curve, upright, level) in [
        (
            simulated,
            "M84.5 194.0L277.0 240.0",
            ["M123.0 10V240.0", "M200.0 10V240.0"],
            "M123.0 148.0H200.0",
        ),
        (
            lab,
            "M97.3 194.0L354.0 240.0",
            ["M148.7 10V240.0", "M251.3 10V240.0"],
            "M148.7 148.0H251.3",
        ),
    ] {
        for path in [curve, upright[0], upright[1], level, "M46.0 194.0H354.0"] {
            assert!(figure.contains(&format!("d=\"{path}\"")), "no `{path}`");
        }
        // Four lines, and a sample of each kind.
        assert_eq!(figure.matches("class=\"d\"").count(), 6);
        for text in [
            "</svg>the &lt;second&gt; second</li>",
            "</svg>mine, upside down</li>",
            "</svg>mine, upside down (paper)</li>",
            ">upside down: goodput, Mbit/s</text>",
        ] {
            assert_eq!(figure.matches(text).count(), 1, "{text}");
        }
        assert_eq!(figure.matches("</svg>a fifth</li>").count(), 1);
    }
}

/// The browser, if there is one.
fn browser() -> Option<PathBuf> {
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
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A browser that hangs is stopped: nothing else would stop it.
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the browser did not end with {arguments:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// How wide the pages' contents are in a window of this width, by the browser's own count.
fn widths_px(browser: &Path, folder: &Path, pages: &[PathBuf], width_px: u32) -> Vec<u32> {
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
fn screenshot(browser: &Path, folder: &Path, page: &Path, is_dark: bool) -> (u32, Vec<u8>) {
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

#[test]
fn nothing_is_wider_than_a_telephone_or_a_desk() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pages = written(folder.path());
    for width_px in [360, 1000] {
        let widths = widths_px(&browser, folder.path(), &pages, width_px);
        assert_eq!(widths, [width_px, width_px]);
    }
}

#[test]
fn pages_are_seen_dark_and_light_and_not_blank() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [_, page] = written(folder.path());
    for is_dark in [false, true] {
        let (width, pixels) = screenshot(&browser, folder.path(), &page, is_dark);
        assert_eq!(width, 1000);
        let background = pixels[0];
        assert_eq!(background < 64, is_dark, "the corner is {background}");
        assert_eq!(background > 192, !is_dark, "the corner is {background}");
        // Letters and curves: enough to read, far from the background.
        let ink = pixels.iter().filter(|grey| grey.abs_diff(background) > 100);
        let share = ink.count() as f64 / pixels.len() as f64;
        assert!((0.01..0.3).contains(&share), "{share} of the page is ink");
    }
}
