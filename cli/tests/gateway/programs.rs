// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gateway among programs and queues of others, all of which go on working.

use ebb_lab::home::LAN;
use ebb_lab::judging::{self, Attempt};

use crate::held::{Way, alone};
use crate::home::Home;
use crate::others::{Others, Place, Point, Program};
use crate::support::Ebb;
use crate::transfers::has_installed;
use crate::{at_once, can_run};

use Place::{Filter, First, Last};
use Point::{In, Out};
use Program::{Decide, Look, Mark, Redirect, Tag, Untag};

/// The port of the bridge that the device is behind, like the cable of a container.
const PORT: &str = "lan0";
/// Of the device itself.
const CABLE: &str = "eth0";

const EVERYTHING: &str = "everything = true";

/// A program of others, and where.
type Put = (Program, &'static str, Point, Place);

/// The gateway among programs of others.
struct Case {
    what: &'static str,
    lan: &'static str,
    by: &'static str,
    condition: &'static str,
    before: &'static [Put],
    after: &'static [Put],
    /// At the device's end of the cable.
    at_device: &'static [Put],
    is_held: bool,
}

const CASE: Case = Case {
    what: "",
    lan: LAN,
    by: "tcx",
    condition: EVERYTHING,
    before: &[],
    after: &[],
    at_device: &[],
    is_held: true,
};

const CASES: [Case; 7] = [
    Case {
        what: "tcx, in front those that look and mark, behind one that decides",
        condition: "mark = \"0x10\"",
        after: &[
            (Mark, LAN, Out, First),
            (Look, LAN, In, First),
            (Decide, LAN, In, Last),
            (Decide, LAN, Out, Last),
        ],
        ..CASE
    },
    Case {
        what: "tcx, one that decides stood there before",
        before: &[(Decide, LAN, In, Last), (Decide, LAN, Out, Last)],
        ..CASE
    },
    Case {
        what: "clsact, others before and behind",
        by: "clsact",
        before: &[
            (Look, LAN, In, Filter(1)),
            (Decide, LAN, In, Filter(2)),
            (Mark, LAN, Out, Filter(1)),
        ],
        after: &[(Decide, LAN, Out, Filter(3))],
        ..CASE
    },
    Case {
        what: "clsact, others by tcx",
        by: "clsact",
        before: &[(Look, LAN, In, Last)],
        after: &[(Mark, LAN, Out, First)],
        ..CASE
    },
    Case {
        what: "a container's cable, behind the gateway one that redirects",
        lan: PORT,
        before: &[(Redirect, PORT, In, Last)],
        after: &[(Look, PORT, Out, Last)],
        ..CASE
    },
    Case {
        what: "a container's cable, in front of the gateway one that redirects",
        lan: PORT,
        after: &[(Redirect, PORT, In, First)],
        is_held: false,
        ..CASE
    },
    Case {
        what: "a trunk, whose frames are on a VLAN where the gateway sees them",
        lan: PORT,
        before: &[(Untag, PORT, In, Last)],
        after: &[(Tag, PORT, Out, First)],
        at_device: &[(Untag, CABLE, In, Last), (Tag, CABLE, Out, Last)],
        ..CASE
    },
];

fn among_programs(case: &Case) -> Attempt {
    let home = Home::start(1);
    let (ebb, folder) = (Ebb::new(), home.folder.path().to_owned());
    let load = |namespace, to| Others::load(namespace, &folder, to);
    let mut others = load(home.path().client(), LAN);
    let mut at_device = load(home.devices[0].namespace(), CABLE);
    let put = |others: &mut Others, all: &[Put]| {
        for &(program, interface, point, place) in all {
            others.put(program, interface, point, place);
        }
    };
    put(&mut others, case.before);
    put(&mut at_device, case.at_device);
    let rules = format!("[[rule]]\n{}\n", case.condition);
    let gateway = home.gateway_on(case.lan, &ebb, &["--attach-by", case.by], &rules);
    put(&mut others, case.after);
    let all = [case.before, case.after].concat();
    let seen = || all.iter().map(|(program, ..)| others.seen(*program));
    let mut before: Vec<u64> = Vec::new();
    let alone = alone(home, Way::Download, |_| {
        gateway.kill().unwrap();
        before.extend(seen());
    });
    let mut attempt = alone.judge(case.what, case.is_held);
    // They see packets, and go on when the gateway is gone.
    for ((program, ..), (before, after)) in all.iter().zip(before.into_iter().zip(seen())) {
        if before <= 1000 || after <= before + 100 {
            let seen = format!("{}: {program:?} {before} {after}", case.what);
            attempt.wrong.push(seen);
        }
    }
    attempt
}

#[test]
fn programs_of_others_go_on_working_before_and_behind_the_gateway() {
    let name = "programs_of_others_go_on_working_before_and_behind_the_gateway";
    if !can_run(name) || !has_installed(name, &["clang"]) {
        return;
    }
    judging::judge(name, || at_once(&CASES, among_programs));
}
