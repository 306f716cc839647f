// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::snapshot::GatewayRuleSeen;
use crate::web::{Place, Server};

fn gateway(name: &str, is_held: bool) -> GatewaySeen {
    GatewaySeen {
        name: name.to_owned(),
        file: "home.toml".into(),
        policy: "ebb:quick=1".to_owned(),
        is_off: false,
        interfaces: vec![("wlan0".to_owned(), false), ("lan0".to_owned(), is_held)],
        counters: Default::default(),
        rules: vec![GatewayRuleSeen {
            gateway: name.to_owned(),
            name: "console".to_owned(),
            flows: Vec::new(),
            totals: Totals::default(),
        }],
    }
}

struct Served {
    _server: Server,
    address: SocketAddr,
    token: String,
    records: tempfile::TempDir,
    switches: Switches,
}

fn serve() -> Served {
    let records = tempfile::tempdir().unwrap();
    let at: SocketAddr = ([127, 0, 0, 1], 1).into();
    let token = Token::at(records.path(), at).unwrap();
    let (latest, switches) = (Latest::default(), Switches::default());
    latest.set(Snapshot {
        rules: vec![RuleSeen {
            name: "backup".to_owned(),
            file: "a.toml".into(),
            state: State::Off,
            policy: "ebb".to_owned(),
            upload_policy: None,
            minimum: None,
            weight: Some(3),
            flows: Vec::new(),
            totals: Totals::default(),
        }],
        gateways: vec![gateway("home", true), gateway("away", false)],
        ..Snapshot::default()
    });
    let page = Page {
        latest,
        switches: switches.clone(),
        token,
    };
    let (place, address) = Place::at_loopback(([127, 0, 0, 1], 0).into(), site(page)).unwrap();
    let url = std::fs::read_to_string(records.path().join("page.url")).unwrap();
    let (_, token) = url.trim().split_once("http://127.0.0.1:1/#").unwrap();
    Served {
        _server: Server::begin(vec![place]).unwrap(),
        address,
        token: token.to_owned(),
        records,
        switches,
    }
}

impl Served {
    fn ask(&self, what: &str, token: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!(
            "{what} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        heard
    }

    #[track_caller]
    fn answers(&self, what: &str, token: &str, body: &str, status: &str) -> String {
        let heard = self.ask(what, token, body);
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{heard}");
        heard
    }
}

#[test]
fn who_does_not_know_the_token_is_shown_nothing_and_switches_nothing() {
    let served = serve();
    let last = if served.token.ends_with('0') {
        "1"
    } else {
        "0"
    };
    let nearly = format!("{}{last}", &served.token[..served.token.len() - 1]);
    for token in [
        "",
        "x",
        &nearly,
        &served.token[1..],
        &format!("{}0", served.token),
    ] {
        for what in [
            "GET /now.json",
            "GET /history.json",
            "POST /switch",
            "GET /switch",
        ] {
            let body = "{\"rule\": \"backup\", \"off\": false}";
            let heard = served.answers(what, token, body, "401");
            assert!(!heard.contains("backup"), "{heard}");
        }
    }
    assert!(served.switches.take().is_empty());
    let heard = served.answers("GET /now.json", &served.token, "", "200");
    assert!(
        heard.contains("\"name\":\"backup\",\"state\":\"off\""),
        "{heard}"
    );
    for (gateway, state) in [("home", "on"), ("away", "failed")] {
        let told = format!(
            "{{\"gateway\":\"{gateway}\",\"interfaces\":[\"wlan0\",\"lan0\"],\"name\":\"console\",\
             \"state\":\"{state}\",\"policy\":\"ebb:quick=1\""
        );
        assert!(heard.contains(&told), "{heard}");
    }
}

#[test]
fn what_cannot_be_switched_is_refused_with_what_would_be_right() {
    let served = serve();
    let token = &served.token;
    for (what, body, status, words) in [
        ("POST /switch", "{}", "400", "{\"rule\": \"NAME\""),
        (
            "POST /switch",
            "{\"rule\": \"a\", \"off\": 1}",
            "400",
            "NAME",
        ),
        (
            "POST /switch",
            "{\"rule\": \"a\", \"off\": true}",
            "404",
            "no rule 'a' is in force",
        ),
        (
            "POST /switch",
            "{\"gateway\": \"backup\", \"off\": true}",
            "404",
            "no gateway 'backup' is in force",
        ),
        (
            "POST /switch",
            "{\"rule\": \"backup\", \"gateway\": \"home\", \"off\": true}",
            "400",
            "instead of",
        ),
        (
            "POST /switch",
            "{\"gateway\": \"away\", \"off\": true}",
            "404",
            "no gateway 'away' is in force",
        ),
        ("GET /switch", "", "405", "POST"),
        ("POST /now.json", "", "405", "GET"),
        ("GET /elsewhere", "", "404", "at /"),
    ] {
        let heard = served.answers(what, token, body, status);
        assert!(heard.contains(words), "{heard}");
    }
    assert!(served.switches.take().is_empty());
    for off in ["false", "true"] {
        let body = format!("{{\"rule\": \"backup\", \"off\": {off}}}");
        served.answers("POST /switch", token, &body, "200");
    }
    // The later one counts.
    let rule = Switched::Rule("backup".to_owned());
    assert_eq!(served.switches.take(), [(rule, true)].into());
    assert!(served.switches.take().is_empty());
    let body = "{\"gateway\": \"home\", \"off\": true}";
    let heard = served.answers("POST /switch", token, body, "200");
    assert!(heard.contains("\"gateway\":\"home\""), "{heard}");
    let gateway = Switched::Gateway("home".to_owned());
    assert_eq!(served.switches.take(), [(gateway, true)].into());
}

#[test]
fn nothing_of_the_page_is_from_elsewhere() {
    let served = serve();
    for what in ["GET /", "GET /page.css", "GET /page.js"] {
        let heard = served.answers(what, "", "", "200");
        assert!(
            heard.contains("Content-Security-Policy: default-src 'none';"),
            "{heard}"
        );
        let (_, body) = heard.split_once("\r\n\r\n").unwrap();
        // A name, and no address: browsers know no other one for pictures.
        let body = body.replace("http://www.w3.org/2000/svg", "");
        assert!(!body.contains("://"), "{body}");
        let writes_html = ["innerHTML", "insertAdjacentHTML", "document.write", "eval("];
        assert!(!writes_html.iter().any(|way| body.contains(way)), "{body}");
    }
}

#[test]
fn the_token_stays_and_is_its_owner_s_alone() {
    let served = serve();
    let records = served.records.path();
    let other: SocketAddr = "[::1]:9".parse().unwrap();
    let again = Token::at(records, other).unwrap();
    let path = records.join("page.url");
    let url = std::fs::read_to_string(&path).unwrap();
    assert_eq!(url, format!("http://[::1]:9/#{}\n", served.token));
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    // What is no token is not taken for one.
    for damaged in ["", "http://[::1]:9/#\n", "http://[::1]:9/#abc\n"] {
        std::fs::write(&path, damaged).unwrap();
        assert!(Token::at(records, other).unwrap() != again);
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written.trim().len(), url.trim().len());
    }
}
