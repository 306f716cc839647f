// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of the service, in a real browser.

mod browser;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use browser::Browser;
use ebb_kernel::{requires, requires_root, until};
use nix::sys::signal::Signal;
use support::serving::{BYTES, Scene, Service};

const PAGE: &str = "127.0.0.1:9752";
const SETTINGS: &str = "[page]\nlisten = \"127.0.0.1:9752\"\n";
const RULE: &str = "[[rule]]\nname = \"one\"\nunit = \"one@*\"\n";
/// The narrowest telephone.
const NARROW_PX: u32 = 360;

/// With EBB_PICTURES=FOLDER pictures of the page are left there.
const PICTURES: &str = "EBB_PICTURES";
/// The page draws everything anew within that.
const HELD_LONG: Duration = Duration::from_millis(2_500);

/// A service with a page and a past, and a connection under its rule.
struct Shown {
    scene: Scene,
    _service: Service,
    url: String,
}

impl Shown {
    fn new() -> Self {
        let scene = Scene::new("w");
        scene.write("a.toml", RULE);
        scene.write_gateway();
        fs::create_dir(scene.rules.path().join("settings")).unwrap();
        scene.write("settings/ebbd.toml", SETTINGS);
        // What there was of a connection stands in the past of the next service.
        let service = scene.serve();
        let client = scene.connect_from("one@0.service");
        scene.until_carried("one", &[BYTES as u64]);
        std::thread::sleep(Duration::from_millis(1_500));
        drop(client);
        service.end(Signal::SIGTERM);
        let service = scene.serve();
        let [(_, records)] = scene.ebb.environment();
        let url = fs::read_to_string(records.join("page.url")).unwrap();
        Self {
            scene,
            _service: service,
            url: url.trim().to_owned(),
        }
    }

    fn until_rule_is(&self, state: &str) {
        let listed = || (self.scene.ebb).says(["rules", "--rules", &self.scene.folder()]);
        until(state, || listed().contains(state));
    }
}

fn until_text(browser: &mut Browser, part: &str) {
    until(&format!("the page says '{part}'"), || {
        browser.text().contains(part)
    });
}

#[test]
fn the_page_shows_what_yields_in_a_real_browser_and_its_switch_switches_rules() {
    let name = "the_page_shows_what_yields_in_a_real_browser_and_its_switch_switches_rules";
    let program = browser::find();
    let is_there = || requires(name, "chromium", "chromium", program.is_some());
    if !requires_root(name) || !is_there() {
        return;
    }
    let shown = Shown::new();
    let scene = &shown.scene;
    let _client = scene.connect_from("one@1.service");
    scene.until_carried("one", &[BYTES as u64]);
    let mut browser = Browser::start(&program.unwrap());
    browser.open(&shown.url);
    for part in [
        "2 rules, ",
        "Switch off",
        "by ebb, sending by ebb-sender",
        "Connections: 1",
        "from 10.78.0.2:7000: 0.1 MB",
        "24 hours ago",
        "queueing delay, at the most ",
        "Everything else on this machine",
        "home/console",
        "Switch off home",
        "of what passes lan0, by ebb",
    ] {
        until_text(&mut browser, part);
    }
    assert!(!browser.text().contains("Held by hand"));
    assert_eq!(
        browser.value("location.href").as_str().unwrap(),
        format!("http://{PAGE}/")
    );
    for (width, scheme) in [(NARROW_PX, "light"), (NARROW_PX, "dark"), (1_000, "dark")] {
        look_at(&mut browser, width, scheme);
    }

    // A press is short, or longer than what is drawn stays.
    browser.press("Switch off", Duration::ZERO);
    shown.until_rule_is("one (off)");
    until_text(&mut browser, "switched off: it takes what it gets");
    browser.press("Switch on", HELD_LONG);
    shown.until_rule_is("one (on)");
    until_text(&mut browser, "Switch off");

    // A gateway is switched as a whole.
    browser.press("Switch off home", Duration::ZERO);
    shown.until_rule_is("gateway of lan0 (off)");
    until_text(&mut browser, "Switch on home");
    browser.press("Switch on home", HELD_LONG);
    shown.until_rule_is("gateway of lan0 (on)");

    // Without the token it shows nothing but what to do.
    browser.value("sessionStorage.clear()");
    browser.open(&format!("http://{PAGE}/"));
    until_text(&mut browser, "sudo cat /run/ebb/page.url");
    assert_eq!(browser.value("document.querySelectorAll('h2').length"), 1);
}

/// Nothing is wider than the window, also when all is open.
fn look_at(browser: &mut Browser, width: u32, scheme: &str) {
    browser.look(width, scheme);
    browser.value("for (const it of document.querySelectorAll('details')) it.open = true");
    let wide = browser.value("document.documentElement.scrollWidth");
    assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide}");
    if let Some(folder) = std::env::var_os(PICTURES).map(PathBuf::from) {
        browser.picture(&folder.join(format!("page-{width}-{scheme}.png")));
    }
}
