// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each demo calls its parts.

use ebb_lab::demo::PartKind;

/// The words of a demo.
#[derive(Debug)]
pub(super) struct Words {
    /// What makes downloads yield.
    pub(super) by: &'static str,
    /// The parts, by their kinds.
    quiet: &'static str,
    plain: &'static str,
    ebb: &'static str,
    /// Over the table.
    pub(super) table: &'static str,
    /// Over the figure, where it shows just that.
    pub(super) claim: &'static str,
    /// Over the figure, where a part measured nothing.
    pub(super) subject: &'static str,
    /// Under the figure's title: who does what.
    pub(super) doing: &'static str,
    /// Downloads, in the line of progress.
    pub(super) downloads: &'static str,
    /// What a page is loaded beside, plain and under Ebb.
    beside: [&'static str; 2],
}

/// A download on the person's own machine.
pub(super) const RUN: Words = Words {
    by: "ebb run",
    quiet: "nobody else",
    plain: "plain curl",
    ebb: "ebb run -- curl",
    table: "A person's traffic and a download",
    claim: "Plain curl makes everybody wait; ebb run -- curl takes only what is left",
    subject: "A download beside a person's pages and call, plain and under ebb run",
    doing: "and is on a call, alone and beside a large download.",
    downloads: "curl",
    beside: ["curl", "ebb run -- curl"],
};

/// Downloads on other devices of the same home.
pub(super) const GATEWAY: Words = Words {
    by: "ebb gateway",
    quiet: "nobody else",
    plain: "no gateway",
    ebb: "ebb gateway",
    table: "A home where two devices download",
    claim: "Two downloads make the next room wait; behind ebb gateway they give way",
    subject: "Two devices download beside pages and a call, with and without ebb gateway",
    doing: "on a laptop, a phone is on a call, console and television download.",
    downloads: "downloads",
    beside: ["downloads", "downloads behind ebb gateway"],
};

impl Words {
    /// What a part is called.
    pub(super) fn part(&self, kind: PartKind) -> &'static str {
        match kind {
            PartKind::Quiet => self.quiet,
            PartKind::Plain => self.plain,
            PartKind::Ebb => self.ebb,
        }
    }

    /// What a page is loaded beside in a part with downloads.
    pub(super) fn beside(&self, kind: PartKind) -> &'static str {
        self.beside[usize::from(kind == PartKind::Ebb)]
    }

    /// The part as it begins.
    pub(super) fn heading(&self, kind: PartKind) -> String {
        let number = match kind {
            PartKind::Quiet => 1,
            PartKind::Plain => 2,
            PartKind::Ebb => 3,
        };
        format!("{number}/3 {}", self.part(kind))
    }
}
