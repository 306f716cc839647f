// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page: who yields now and why, what came of each rule in 24 hours and what others had
//! meanwhile, and a switch for each rule.
//!
//! What the page is made of everybody may have; what it shows and does is for whoever knows the
//! token, which root alone can read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ebb_host::clock::unix_time;
use ebb_keeper::{FlowView, describe};
use serde::{Deserialize, Serialize};

use crate::history::{history_folder, read_history};
use crate::snapshot::{Latest, RuleSeen, Snapshot, State, Switches};
use crate::web::{Answer, Method, Request, Site, Status};

mod past;
mod token;

use past::Bins;
pub(crate) use token::Token;

const HTML: &str = include_str!("page/index.html");
const CSS: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// Nothing of it is from elsewhere, nor is it shown within anything from elsewhere.
const BOUNDS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; \
                      style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n";
/// Of a rule that has more only these are named.
const MOST_FLOWS: usize = 100;
/// The history is read again after this.
const HISTORY_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// What the page is about.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) latest: Latest,
    pub(crate) switches: Switches,
    pub(crate) token: Token,
}

/// How things stand now.
#[derive(Serialize)]
struct Now<'a> {
    at_unix_s: f64,
    rules: Vec<RuleNow<'a>>,
    by_hand: &'a BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct RuleNow<'a> {
    name: &'a str,
    state: &'static str,
    policy: &'a str,
    upload_policy: Option<&'a str>,
    minimum: Option<&'a str>,
    weight: Option<u32>,
    received_bytes: u64,
    sent_bytes: u64,
    held_back_s: f64,
    connections: usize,
    flows: &'a [FlowView],
}

/// What is to be switched.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    rule: String,
    off: bool,
}

type Written = Mutex<Option<(Instant, Arc<[u8]>)>>;

/// Serves the page.
pub(crate) fn site(page: Page) -> Site {
    let past = Written::default();
    Box::new(move |request: &Request| {
        let asked = (request.method == Method::Post, request.path.as_str());
        match asked {
            (false, "/") => part("text/html; charset=utf-8", HTML),
            (false, "/page.css") => part("text/css; charset=utf-8", CSS),
            (false, "/page.js") => part("text/javascript; charset=utf-8", SCRIPT),
            (_, "/now.json" | "/history.json" | "/switch") if !page.token.is_known_to(request) => {
                let why = "this page is for whoever has its address with the token: sudo cat \
                           /run/ebb/page.url";
                Answer::refusal(Status::Unauthorized, why)
            }
            (false, "/now.json") => json(&now(&page.latest.snapshot())),
            (false, "/history.json") => history(&past),
            (true, "/switch") => switch(&page, request),
            (_, "/" | "/page.css" | "/page.js" | "/now.json" | "/history.json" | "/switch") => {
                let why = "rules are switched by POST, all else is told by GET";
                Answer::refusal(Status::WrongMethod, why)
            }
            _ => Answer::refusal(Status::NotFound, "the page is at /"),
        }
    })
}

fn part(kind: &'static str, text: &'static str) -> Answer {
    Answer::of(kind, Arc::from(text.as_bytes())).with(BOUNDS)
}

fn json(value: &impl Serialize) -> Answer {
    // What is told has no key that is no text.
    let text = serde_json::to_vec(value).unwrap_or_default();
    Answer::of("application/json", Arc::from(text)).with(BOUNDS)
}

fn now(snapshot: &Snapshot) -> Now<'_> {
    Now {
        at_unix_s: snapshot.at_unix_s,
        rules: snapshot.rules.iter().map(rule_now).collect(),
        by_hand: &snapshot.by_hand,
    }
}

fn rule_now(rule: &RuleSeen) -> RuleNow<'_> {
    let cookies = rule.flows.iter().map(|flow| flow.cookie);
    let held_back = rule.totals.looks.iter().map(|looks| looks.held_back);
    RuleNow {
        name: &rule.name,
        state: match rule.state {
            State::On => "on",
            State::Off => "off",
            State::Failed => "failed",
        },
        policy: &rule.policy,
        upload_policy: rule.upload_policy.as_deref(),
        minimum: rule.minimum.as_deref(),
        weight: rule.weight,
        received_bytes: rule.totals.counts.received_bytes,
        sent_bytes: rule.totals.counts.sent_bytes,
        held_back_s: held_back.sum::<Duration>().as_secs_f64(),
        connections: cookies.collect::<std::collections::BTreeSet<_>>().len(),
        flows: &rule.flows[..rule.flows.len().min(MOST_FLOWS)],
    }
}

/// Read once in a while, however many ask.
fn history(written: &Written) -> Answer {
    let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, text)) = &*written
        && at.elapsed() < HISTORY_AGAIN_AFTER
    {
        return Answer::of("application/json", Arc::clone(text)).with(BOUNDS);
    }
    let now_unix_s = unix_time().as_secs();
    match read_history(&history_folder(), now_unix_s) {
        Ok(minutes) => {
            let text = serde_json::to_vec(&Bins::of(&minutes, now_unix_s)).unwrap_or_default();
            let text: Arc<[u8]> = Arc::from(text);
            *written = Some((Instant::now(), Arc::clone(&text)));
            Answer::of("application/json", text).with(BOUNDS)
        }
        Err(error) => Answer::refusal(Status::Failed, &describe(&error)),
    }
}

/// As `ebb rules off` and `on` do, within a second.
fn switch(page: &Page, request: &Request) -> Answer {
    let Ok(Switch { rule, off }) = serde_json::from_slice(&request.body) else {
        let why = "write {\"rule\": \"NAME\", \"off\": true}, or false";
        return Answer::refusal(Status::BadRequest, why);
    };
    let snapshot = page.latest.snapshot();
    let mut rules = snapshot.rules.iter();
    let is_held = |it: &&RuleSeen| it.name == rule && it.state != State::Failed;
    if rules.find(is_held).is_none() {
        return Answer::refusal(Status::NotFound, &format!("no rule '{rule}' is in force"));
    }
    page.switches.want(rule.clone(), off);
    json(&serde_json::json!({ "rule": rule, "off": off }))
}

#[cfg(test)]
mod tests;
