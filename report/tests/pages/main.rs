// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages of experiments, in a real browser: wide and narrow, dark and light.
mod browser;
mod written;

use ebb_experiments::Experiment;
use ebb_report::pages::{self, Commands, Entry};

use crate::browser::{browser, elements, screenshot, widths_px};
use crate::written::{EXPERIMENT, SCENARIO, written};

#[test]
fn what_was_not_run_says_so_and_has_no_commands_if_none_are_given() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let file = folder.path().join("experiment.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let experiment = Experiment::read("paper/table-1", &file).unwrap();
    let entry = Entry {
        experiment: &experiment,
        comparisons: Vec::new(),
        influences: Vec::new(),
        commands: Commands::default(),
    };
    let index = pages::write(&[entry], &folder.path().join("pages")).unwrap();
    let text = std::fs::read_to_string(&index).unwrap();
    assert!(text.contains("None was run yet."), "{text}");
    let page = index.with_file_name("paper/table-1.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("Not run yet.") && !page.contains("How to run it"),
        "{page}"
    );
}

#[test]
fn pages_have_values_pictures_files_and_commands_and_ask_for_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [index, page] = written(folder.path()).map(|path| std::fs::read_to_string(path).unwrap());
    assert!(index.contains("href=\"paper/table-1.html\"") && index.contains("not run"));
    // What the simulator gave is not mixed with what the kernel did.
    let lines: Vec<&str> = index.split("<li>").skip(1).collect();
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
        "<h2>How the paper's words were taken</h2><ul><li>values are read off, to &lt;one&gt; digit</li>",
        "How it matters: the queue is deep",
        "● 3 green",
        "○ 4 shortened",
        "Shortened: not the paper’s scenario.",
        "data-l=\"within\">0.097</td>",
        "data-l=\"within\">0.2</td>",
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

/// As files beside this one; `INSTA_UPDATE=always` writes them anew.
#[test]
fn a_browser_finds_the_same_elements_as_ever() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pages = written(folder.path());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("elements");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, page) in ["index", "experiment"].into_iter().zip(pages) {
            let elements = elements(&browser, folder.path(), &page);
            let here = folder.path().display().to_string();
            let elements = elements.replace(&here, "FOLDER");
            let elements = elements.replace(env!("CARGO_PKG_VERSION"), "VERSION");
            insta::assert_snapshot!(name, elements);
        }
    });
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
