// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page: who yields now and why, what came of each rule in 24 hours and what others had
//! meanwhile, and a switch for each rule.
//!
//! What the page is made of everybody may have; what it shows and does is for whoever knows the
//! token, which root alone can read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ebb_host::clock::unix_time;
use ebb_keeper::{FlowView, describe};
use serde::{Deserialize, Serialize};

use crate::history::{history_folder, read_history};
use crate::ledger::Totals;
use crate::snapshot::{GatewaySeen, Latest, RuleSeen, Snapshot, State, Switched, Switches};
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
    /// Whose rule it is, if it is for what passes.
    gateway: Option<&'a str>,
    /// That one's interfaces.
    interfaces: Vec<&'a str>,
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

/// What is to be switched: a rule, or a gateway with all of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    rule: Option<String>,
    gateway: Option<String>,
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
    let of_gateways = snapshot.gateways.iter().flat_map(of_gateway);
    let rules = snapshot.rules.iter().map(rule_now).chain(of_gateways);
    Now {
        at_unix_s: snapshot.at_unix_s,
        rules: rules.collect(),
        by_hand: &snapshot.by_hand,
    }
}

fn rule_now(rule: &RuleSeen) -> RuleNow<'_> {
    let cookies = rule.flows.iter().map(|flow| flow.cookie);
    RuleNow {
        gateway: None,
        interfaces: Vec::new(),
        name: &rule.name,
        state: name_of(rule.state),
        policy: &rule.policy,
        upload_policy: rule.upload_policy.as_deref(),
        minimum: rule.minimum.as_deref(),
        weight: rule.weight,
        received_bytes: rule.totals.counts.received_bytes,
        sent_bytes: rule.totals.counts.sent_bytes,
        held_back_s: held_back_s(&rule.totals),
        connections: cookies.collect::<BTreeSet<_>>().len(),
        flows: named(&rule.flows),
    }
}

/// One law is for both ways, and for all rules of the gateway.
fn of_gateway(gateway: &GatewaySeen) -> impl Iterator<Item = RuleNow<'_>> {
    gateway.rules.iter().map(|rule| {
        let interfaces = gateway.interfaces.iter();
        let ends = rule.flows.iter().map(|flow| (flow.local, flow.peer));
        RuleNow {
            gateway: Some(&gateway.name),
            interfaces: interfaces.map(|(name, _)| name.as_str()).collect(),
            name: &rule.name,
            state: name_of(gateway.state()),
            policy: &gateway.policy,
            upload_policy: Some(&gateway.policy),
            minimum: None,
            weight: None,
            received_bytes: rule.totals.counts.received_bytes,
            sent_bytes: rule.totals.counts.sent_bytes,
            held_back_s: held_back_s(&rule.totals),
            connections: ends.collect::<BTreeSet<_>>().len(),
            flows: named(&rule.flows),
        }
    })
}

fn name_of(state: State) -> &'static str {
    match state {
        State::On => "on",
        State::Off => "off",
        State::Failed => "failed",
    }
}

fn held_back_s(totals: &Totals) -> f64 {
    let held_back = totals.looks.iter().map(|looks| looks.held_back);
    held_back.sum::<Duration>().as_secs_f64()
}

fn named(flows: &[FlowView]) -> &[FlowView] {
    &flows[..flows.len().min(MOST_FLOWS)]
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
    let (switched, off) = match serde_json::from_slice(&request.body) {
        Ok(Switch {
            rule: Some(name),
            gateway: None,
            off,
        }) => (Switched::Rule(name), off),
        Ok(Switch {
            rule: None,
            gateway: Some(name),
            off,
        }) => (Switched::Gateway(name), off),
        _ => {
            let why = "write {\"rule\": \"NAME\", \"off\": true}, or false, or \"gateway\" \
                       instead of \"rule\"";
            return Answer::refusal(Status::BadRequest, why);
        }
    };
    let snapshot = page.latest.snapshot();
    let (kind, name, state) = match &switched {
        Switched::Rule(name) => {
            let found = snapshot.rules.iter().find(|it| it.name == *name);
            ("rule", name.clone(), found.map(|it| it.state))
        }
        Switched::Gateway(name) => {
            let found = snapshot.gateways.iter().find(|it| it.name == *name);
            ("gateway", name.clone(), found.map(GatewaySeen::state))
        }
    };
    if matches!(state, None | Some(State::Failed)) {
        return Answer::refusal(Status::NotFound, &format!("no {kind} '{name}' is in force"));
    }
    page.switches.want(switched, off);
    json(&serde_json::json!({ kind: name, "off": off }))
}

#[cfg(test)]
mod tests;
