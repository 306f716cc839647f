// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links and devices that are not as most are: all are held, and no byte is wrong.

use ebb_lab::judging::{self, Attempt};

use crate::held::{Way, alone};
use crate::home::Home;
use crate::support::Ebb;
use crate::{LINK_MBIT_PER_S, at_once, can_run};

use Way::{Download, Upload};

/// What is not as it mostly is.
struct Case {
    what: &'static str,
    way: Way,
    /// For `ip`, and for `nft`, of the router.
    router: [&'static str; 2],
    /// A sysctl of the device's that is 0.
    without: Option<&'static str>,
    least_mbit_per_s: f64,
}

const CASE: Case = Case {
    what: "",
    way: Download,
    router: ["", ""],
    without: None,
    least_mbit_per_s: 0.93 * LINK_MBIT_PER_S,
};

/// As of PPPoE.
const SMALL_MTU: &str = "link set ebb0 mtu 1492\n";
/// As most routers have it beside that: data is never too long, ...
const CLAMP: &str = "table ip clamp {
chain pass { type filter hook forward priority 0 ;
tcp flags syn tcp option maxseg size set rt mtu ; }
}
";
const WITHOUT_TIMESTAMPS: Option<&str> = Some("net.ipv4.tcp_timestamps");
const WITHOUT_SACK: Option<&str> = Some("net.ipv4.tcp_sack");
const WITHOUT_SCALES: Option<&str> = Some("net.ipv4.tcp_window_scaling");

const CASES: [Case; 8] = [
    Case {
        what: "an MTU of 1492, the MSS clamped",
        router: [SMALL_MTU, CLAMP],
        ..CASE
    },
    // ... and where it has not, the device learns it when the router sends data back.
    Case {
        what: "an MTU of 1492, which the device learns",
        way: Upload,
        router: [SMALL_MTU, ""],
        ..CASE
    },
    Case {
        what: "a download without timestamps",
        without: WITHOUT_TIMESTAMPS,
        ..CASE
    },
    Case {
        what: "an upload without timestamps",
        way: Upload,
        without: WITHOUT_TIMESTAMPS,
        ..CASE
    },
    Case {
        what: "a download without SACK",
        without: WITHOUT_SACK,
        ..CASE
    },
    Case {
        what: "an upload without SACK",
        way: Upload,
        without: WITHOUT_SACK,
        ..CASE
    },
    // At the most 64 kB in a round trip of 100 ms: 5.2 Mbit/s.
    Case {
        what: "a download without window scales",
        without: WITHOUT_SCALES,
        least_mbit_per_s: 4.5,
        ..CASE
    },
    Case {
        what: "an upload without window scales",
        way: Upload,
        without: WITHOUT_SCALES,
        least_mbit_per_s: 4.5,
        ..CASE
    },
];

fn on_path(case: &Case) -> Attempt {
    let home = Home::start(1);
    let router = home.path().client();
    let [ip, nft] = case.router;
    router.ip(ip).unwrap();
    router.nft(nft).unwrap();
    if let Some(option) = case.without {
        let device = home.devices[0].namespace();
        device.set_sysctls(&[(option, "0")]).unwrap();
    }
    let ebb = Ebb::new();
    let gateway = home.gateway(&ebb, &[], "[[rule]]\neverything = true\n");
    let alone = alone(home, case.way, |_| {
        let status = ebb.says(["status", "--flows"]);
        assert!(status.contains("192.168.7.10"), "{}: {status}", case.what);
    });
    gateway.kill().unwrap();
    alone.judge_by(case.what, true, case.least_mbit_per_s)
}

#[test]
fn small_mtus_and_missing_options_of_tcp_are_held_without_a_wrong_byte() {
    let name = "small_mtus_and_missing_options_of_tcp_are_held_without_a_wrong_byte";
    if !can_run(name) {
        return;
    }
    judging::judge(name, || at_once(&CASES, on_path));
}
