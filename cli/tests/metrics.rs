// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The metrics of the service: right whatever happens to rules and connections, and read by a real
//! Prometheus.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_kernel::{requires, requires_feature, requires_root, until};
use nix::sys::signal::Signal;
use serde_json::Value;
use support::serving::{BYTES, Client, Scene, Service};

const METRICS: &str = "127.0.0.1:9750";
const SETTINGS: &str = "[metrics]\nlisten = \"127.0.0.1:9750\"\n";
const RULE: &str = "[[rule]]\nname = \"one\"\nunit = \"one@*\"\n";
/// Longer than a lease.
const STOPPED_FOR: Duration = Duration::from_secs(4);

/// What was told, by names with their labels.
type Samples = BTreeMap<String, f64>;

/// A service with one rule that tells of it.
struct Told {
    scene: Scene,
    service: Service,
    /// What was told at last: counters only grow.
    before: Samples,
}

impl Told {
    fn begin(test: &str) -> Self {
        let scene = Scene::new(test);
        scene.write("a.toml", RULE);
        fs::create_dir(scene.rules.path().join("settings")).unwrap();
        scene.write("settings/ebbd.toml", SETTINGS);
        let service = scene.serve();
        Self {
            scene,
            service,
            before: Samples::new(),
        }
    }

    fn samples(&mut self) -> Samples {
        let stream = TcpStream::connect(METRICS).unwrap();
        let samples = read(&get(stream, METRICS, "/metrics"));
        for (name, value) in &self.before {
            if let Some(now) = samples.get(name)
                && name.contains("_total")
            {
                assert!(now >= value, "{name} was {value}, and is {now}");
            }
        }
        self.before.clone_from(&samples);
        samples
    }

    /// Waits until something has this value.
    #[track_caller]
    fn until(&mut self, name: &str, value: f64) {
        until(&format!("{name} is {value}"), || {
            self.samples().get(name) == Some(&value)
        });
    }

    #[track_caller]
    fn until_received(&mut self, bytes: usize) {
        let name = "ebb_rule_payload_bytes_total{rule=\"one\",direction=\"down\"}";
        self.until(name, bytes as f64);
    }

    fn rule(&self, text: &str) {
        self.scene.write("a.toml", text);
        self.service.reload();
    }
}

fn get<S: Read + Write>(mut stream: S, host: &str, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    heard
}

/// The samples of an answer; how strictly the text is right, tests of its writer hold.
fn read(answer: &str) -> Samples {
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"));
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(sample).collect()
}

#[test]
fn what_came_of_a_rule_is_told_and_only_grows_whatever_happens_to_it() {
    let name = "what_came_of_a_rule_is_told_and_only_grows_whatever_happens_to_it";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut told = Told::begin("m");
    let mut client = told.scene.connect_from("one@1.service");
    told.until_received(BYTES);
    told.until("ebb_rule_open_connections{rule=\"one\"}", 1.0);
    let connections = "ebb_rule_connections_total{rule=\"one\"}";
    told.until(connections, 1.0);

    // Root has the same from a socket that is root's.
    let [(_, records)] = told.scene.ebb.environment();
    let stream = UnixStream::connect(records.join("metrics.sock")).unwrap();
    let by_socket = read(&get(stream, "ebbd", "/metrics"));
    assert_eq!(by_socket.len(), told.samples().len());
    let stranger = TcpStream::connect(METRICS).unwrap();
    let refused = get(stranger, "evil.example", "/metrics");
    assert!(refused.starts_with("HTTP/1.1 421 "), "{refused}");

    // Off, it is free, and carries on; and on again.
    let off = "ebb_rule_switched_off{rule=\"one\"}";
    told.scene.ebb.says(["rules", "off", "one"]);
    told.until(off, 1.0);
    let mut bytes = BYTES + send(&mut client);
    told.until_received(bytes);
    told.scene.ebb.says(["rules", "on", "one"]);
    told.until(off, 0.0);

    // Another policy, for either way, and none for what is sent.
    for more in [
        "policy = \"vulture\"\n",
        "policy = \"ebb:target_us=9000\"\nupload_policy = \"none\"\n",
        "",
    ] {
        told.rule(&format!("{RULE}{more}"));
        bytes += send(&mut client);
        told.until_received(bytes);
        told.until(connections, 1.0);
    }

    // Gone, and back: the connection is taken over again.
    told.rule("");
    until("the rule is gone", || {
        !told
            .samples()
            .keys()
            .any(|name| name.contains("rule=\"one\""))
    });
    client.stream.write_all(&[7; 1000]).unwrap();
    told.rule(RULE);
    told.until(connections, 2.0);
    bytes += send(&mut client);
    told.until_received(bytes);

    // What has ended has been.
    drop(client);
    told.until("ebb_rule_open_connections{rule=\"one\"}", 0.0);
    told.until_received(bytes);
    told.rule("[[rul]]\n");
    told.until("ebb_reloads_total{outcome=\"refused\"}", 1.0);
    told.until("ebb_reloads_total{outcome=\"done\"}", 5.0);
}

/// Has a client get more until it hangs up.
fn send_on(client: &Client) -> JoinHandle<()> {
    let mut stream = client.stream.try_clone().unwrap();
    std::thread::spawn(move || while stream.write_all(&[7; 10_000]).is_ok() {})
}

/// Has a client get something more.
fn send(client: &mut Client) -> usize {
    client.stream.write_all(&[7; 10_000]).unwrap();
    10_000
}

#[test]
fn a_transfer_that_is_held_back_and_a_lease_that_lapses_are_counted() {
    let name = "a_transfer_that_is_held_back_and_a_lease_that_lapses_are_counted";
    if !requires_root(name) {
        return;
    }
    let mut told = Told::begin("n");
    told.scene.narrow("10mbit");
    let began = Instant::now();
    // What yields to somebody is held back for as long as both transfer.
    let other = told.scene.connect_from("other.service");
    let clients = [told.scene.connect_from("one@1.service"), other];
    let sending = clients.each_ref().map(send_on);
    let held_back = "ebb_rule_held_back_seconds_total{rule=\"one\",direction=\"down\"}";
    until("it is held back", || told.samples()[held_back] >= 1.0);
    assert!(told.samples()[held_back] <= began.elapsed().as_secs_f64());
    let queue = "ebb_rule_queueing_delay_seconds_count{rule=\"one\",direction=\"down\"}";
    assert!(told.samples()[queue] >= 1.0);
    let sent = "ebb_rule_held_back_seconds_total{rule=\"one\",direction=\"up\"}";
    assert_eq!(told.samples()[sent], 0.0);

    let failures = "ebb_rule_failures_open_total{rule=\"one\"}";
    assert_eq!(told.samples()[failures], 0.0);
    told.service.send(Signal::SIGSTOP);
    std::thread::sleep(STOPPED_FOR);
    told.service.send(Signal::SIGCONT);
    until("that is told", || told.samples()[failures] >= 1.0);
    drop(clients);
    for thread in sending {
        thread.join().unwrap();
    }
}

/// A Prometheus that asks the service, and answers what it has.
struct Prometheus {
    child: Child,
    _folder: tempfile::TempDir,
}

const PROMETHEUS: &str = "127.0.0.1:9751";

impl Prometheus {
    fn program() -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        let files = std::env::split_paths(&path).map(|folder| folder.join("prometheus"));
        files.into_iter().find(|file| file.is_file())
    }

    fn begin(program: &std::path::Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: ebb\n    \
             static_configs:\n      - targets: ['{METRICS}']\n"
        );
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={PROMETHEUS}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            child,
            _folder: folder,
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self._folder.path().join("log")).unwrap()
    }

    /// What it answers to a question in its own language, if it has something: the values.
    fn ask(&self, query: &str) -> Vec<f64> {
        let address: SocketAddr = PROMETHEUS.parse().unwrap();
        let Ok(stream) = TcpStream::connect(address) else {
            return Vec::new();
        };
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = get(
            Once(stream),
            PROMETHEUS,
            &format!("/api/v1/query?query={encoded}"),
        );
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let Ok(answer) = serde_json::from_str::<Value>(body) else {
            return Vec::new();
        };
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let results = answer["data"]["result"].as_array().unwrap();
        let values = results.iter().map(|it| it["value"][1].as_str().unwrap());
        values.map(|value| value.parse().unwrap()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream on which one answer is read, by what its head says of it: Prometheus does not hang up.
struct Once(TcpStream);

impl Write for Once {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).replace("HTTP/1.1\r\n", "HTTP/1.0\r\n");
        self.0.write_all(text.as_bytes()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Read for Once {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

#[test]
fn a_real_prometheus_reads_them_and_every_query_of_the_dashboard_has_an_answer() {
    let name = "a_real_prometheus_reads_them_and_every_query_of_the_dashboard_has_an_answer";
    let program = Prometheus::program();
    let is_there = || requires(name, "prometheus", "prometheus", program.is_some());
    if !requires_root(name) || !is_there() {
        return;
    }
    let mut told = Told::begin("p");
    told.scene.write_gateway();
    told.service.reload();
    let client = told.scene.connect_from("one@1.service");
    told.until_received(BYTES);
    let prometheus = Prometheus::begin(&program.unwrap());
    until("it has looked three times", || {
        let looks = prometheus.ask("count_over_time(up[1m])");
        looks.first().is_some_and(|looks| *looks >= 3.0)
    });
    let log = prometheus.log();
    // What it could not read it would take for down.
    assert_eq!(prometheus.ask("min_over_time(up[1m])"), [1.0], "{log}");
    let received = "ebb_rule_payload_bytes_total{rule=\"one\", direction=\"down\"}";
    assert_eq!(prometheus.ask(received), [BYTES as f64], "{log}");
    let unit = metadata("ebb_rule_payload_bytes");
    let expected = ["\"unit\":\"bytes\"", "\"type\":\"counter\""];
    assert!(expected.iter().all(|part| unit.contains(part)), "{unit}");
    let queries = queries_of_dashboard();
    assert!(queries.len() > 10, "{queries:?}");
    for query in queries {
        assert!(!prometheus.ask(&query).is_empty(), "{query}: {log}");
    }
    drop(client);
}

/// What the dashboard asks, with its variables as Grafana fills them in.
fn queries_of_dashboard() -> Vec<String> {
    let text = include_str!("../../packaging/grafana/ebb.json");
    let dashboard: Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().unwrap();
        let query = query.replace("$rule", ".*");
        query.replace("$__rate_interval", "30s")
    });
    queries.collect()
}

fn metadata(metric: &str) -> String {
    let stream = Once(TcpStream::connect(PROMETHEUS).unwrap());
    get(
        stream,
        PROMETHEUS,
        &format!("/api/v1/targets/metadata?metric={metric}"),
    )
}
