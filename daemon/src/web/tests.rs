// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hostile and broken visitors.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use super::*;

/// Longer than a socket's buffers together.
const MUCH_BYTES: usize = 32 << 20;
/// Ten requests are answered within half of what they took if each waited for somebody slow to be
/// sent away.
const AT_ONCE: Duration = Duration::from_secs(25);

fn serve() -> (Server, SocketAddr) {
    let much: Arc<[u8]> = Arc::from(vec![b'x'; MUCH_BYTES]);
    let site: Site = Box::new(move |request| match request.path.as_str() {
        "/much" => Answer::of("text/plain", Arc::clone(&much)),
        path => Answer::of(
            "text/plain",
            Arc::from(format!("you want {path}").into_bytes()),
        ),
    });
    let (place, address) = Place::at_loopback(([127, 0, 0, 1], 0).into(), site).unwrap();
    (Server::begin(vec![place]).unwrap(), address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream
}

/// All that is answered.
fn ask(address: SocketAddr, said: &[u8]) -> String {
    let mut stream = connect(address);
    // It may be hung up on before all is said.
    let _ = stream.write_all(said);
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    String::from_utf8(heard).unwrap()
}

fn get(address: SocketAddr, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    ask(address, request.as_bytes())
}

#[test]
fn a_request_is_answered_with_a_head_of_its_own() {
    let (_server, address) = serve();
    let said = get(address, "/a?b");
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    assert!(said.ends_with("\r\n\r\nyou want /a"), "{said}");
    assert!(said.contains("Content-Length: 11\r\n"), "{said}");
    assert!(
        said.contains("X-Content-Type-Options: nosniff\r\n"),
        "{said}"
    );
    assert!(!said.contains("Access-Control"), "{said}");
    let head = ask(address, b"HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.contains("Content-Length: 11\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

#[test]
fn who_asks_by_a_name_of_his_own_is_refused() {
    let (_server, address) = serve();
    for host in [
        "Host: evil.example\r\n",
        "",
        "Host: a\r\nHost: localhost\r\n",
    ] {
        let said = ask(address, format!("GET / HTTP/1.1\r\n{host}\r\n").as_bytes());
        assert!(said.starts_with("HTTP/1.1 421 "), "{host}: {said}");
        assert!(!said.contains("you want"), "{said}");
    }
}

#[test]
fn nobody_waits_for_those_who_say_nothing_or_drip() {
    let (_server, address) = serve();
    let began = Instant::now();
    // More than there is room for, some of which have said a little.
    let mut slow: Vec<TcpStream> = (0..3 * MOST_VISITORS).map(|_| connect(address)).collect();
    for stream in slow.iter_mut().step_by(2) {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
    }
    for _ in 0..10 {
        assert!(get(address, "/").ends_with("you want /"));
        for stream in slow.iter_mut().step_by(2) {
            let _ = stream.write_all(b"x");
        }
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // In the end each of them is sent away, the last one as well.
    match slow.pop().unwrap().read(&mut [0]) {
        Ok(heard) => assert_eq!(heard, 0),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
}

#[test]
fn who_does_not_take_the_answer_holds_nobody_up() {
    let (_server, address) = serve();
    let taking: Vec<TcpStream> = (0..2 * MOST_VISITORS)
        .map(|_| {
            let mut stream = connect(address);
            let request = b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(request).unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    for _ in 0..10 {
        assert!(get(address, "/").ends_with("you want /"));
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    drop(taking);
}

#[test]
fn a_flood_is_refused_in_words_and_costs_no_memory() {
    let (_server, address) = serve();
    let before = resident_bytes();
    let flood = vec![b'x'; 4 << 20];
    for said in [
        flood.clone(),
        [b"GET / HTTP/1.1\r\nA: ".as_slice(), &flood].concat(),
    ] {
        let threads: Vec<_> = (0..32)
            .map(|_| {
                let said = said.clone();
                std::thread::spawn(move || ask(address, &said))
            })
            .collect();
        for thread in threads {
            // It is hung up on, if it goes on for too long.
            if let Ok(heard) = thread.join() {
                assert!(
                    heard.is_empty() || heard.starts_with("HTTP/1.1 4"),
                    "{heard}"
                );
            }
        }
    }
    drop(flood);
    assert!(get(address, "/").ends_with("you want /"));
    let grown = resident_bytes().saturating_sub(before);
    // The test itself keeps what it says.
    assert!(grown < 300 << 20, "{grown}");
}

#[test]
fn what_is_said_behind_a_request_is_passed_over() {
    let (_server, address) = serve();
    let twice =
        "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let said = ask(address, twice.as_bytes());
    assert!(said.ends_with("you want /a"), "{said}");
    let body = "POST /c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab and more";
    assert!(ask(address, body.as_bytes()).ends_with("you want /c"));
}

#[test]
fn a_thousand_at_once_are_all_answered() {
    let (_server, address) = serve();
    let threads: Vec<_> = (0..50)
        .map(|_| {
            std::thread::spawn(move || {
                let heard = (0..20).map(|_| get(address, "/"));
                heard.filter(|it| it.ends_with("you want /")).count()
            })
        })
        .collect();
    let answered: usize = threads.into_iter().map(|it| it.join().unwrap()).sum();
    assert_eq!(answered, 1000);
}

#[test]
fn one_who_ends_is_gone_and_leaves_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let site = || -> Site { Box::new(|_| Answer::of("text/plain", Arc::from(*b"here"))) };
    for _ in 0..2 {
        let place = Place::at_path(&path, site()).unwrap();
        let server = Server::begin(vec![place]).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        // Who may connect is settled by the folder: no name is asked for.
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        assert!(heard.ends_with("here"), "{heard}");
        drop(server);
        assert!(!path.exists());
    }
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
