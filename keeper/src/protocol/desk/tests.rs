// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Desks that are asked by those who behave, and by those who do not.

use super::super::frame::LONGEST_REQUEST_BYTES;
use super::*;
use crate::protocol::{Line, REPLY_WITHIN, ask, connect};
use std::io::{Read, Write};

fn desk() -> (tempfile::TempDir, Desk, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let desk = Desk::open(&path, Room::OF_KEEPER).unwrap();
    (directory, desk, path)
}

/// Answers so many requests.
fn serve(desk: &mut Desk, mut count: usize, reply: &Reply) {
    while count > 0 {
        let mut wait = Wait::new();
        desk.add_to(&mut wait);
        wait.wait().unwrap();
        while let Some(asked) = desk.next_request() {
            assert_eq!(asked.asker.uid, nix::unistd::geteuid().as_raw());
            assert_eq!(asked.asker.pid, std::process::id().cast_signed());
            desk.answer(&asked, reply);
            count -= 1;
        }
    }
}

#[test]
fn nobody_waits_for_those_who_say_nothing_or_half_of_something() {
    let (_directory, mut desk, path) = desk();
    let silent = connect(&path).unwrap();
    let mut slow = connect(&path).unwrap();
    slow.write_all(b"{\"ebb\":1,").unwrap();
    let (began, asking) = (Instant::now(), path.clone());
    let asking = std::thread::spawn(move || {
        ask::<_, Reply>(connect(&asking).unwrap(), &Request::Flows, REPLY_WITHIN).unwrap()
    });
    serve(&mut desk, 1, &Reply::Done);
    assert_eq!(asking.join().unwrap(), Reply::Done);
    assert!(began.elapsed() < WITHIN / 2);
    assert_eq!(desk.visitors.len(), 2);
    // The slow one is answered in the end, the silent one is sent away.
    slow.write_all(b"\"message\":\"detach\"}\n").unwrap();
    serve(&mut desk, 1, &Reply::Done);
    assert_eq!(desk.visitors.len(), 1);
    desk.visitors[0].due = Instant::now();
    assert!(desk.next_request().is_none());
    assert_eq!(desk.visitors.len(), 0);
    drop(silent);
}

#[test]
fn who_has_hung_up_is_known_not_to_hear_the_answer() {
    let (_directory, mut desk, path) = desk();
    for waits in [true, false] {
        let mut stream = connect(&path).unwrap();
        stream
            .write_all(b"{\"ebb\":1,\"message\":\"flows\"}\n")
            .unwrap();
        let stream = waits.then_some(stream);
        let asked = desk.next_request().unwrap();
        assert_eq!(desk.answer(&asked, &Reply::Done), waits);
        drop(stream);
    }
}

#[test]
fn what_is_not_understood_is_answered_so_in_words() {
    let (_directory, mut desk, path) = desk();
    for (said, answer) in [
        ("detach\n", "no message of version 1"),
        ("{\"ebb\":9,\"message\":\"flows\"}\n", "it speaks version 9"),
        (
            "{\"ebb\":1,\"message\":\"burn\"}\n",
            "unknown variant `burn`",
        ),
    ] {
        let mut stream = connect(&path).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        assert!(desk.next_request().is_none());
        let mut text = String::new();
        stream.set_nonblocking(false).unwrap();
        // What it had to say more is not read.
        let _ = stream.read_to_string(&mut text);
        assert!(text.contains(answer), "{said}: {text}");
    }
    let mut flood = connect(&path).unwrap();
    let much = vec![b'x'; LONGEST_REQUEST_BYTES + 1];
    let writing = std::thread::spawn(move || {
        flood.set_nonblocking(false).unwrap();
        let _ = flood.write_all(&much);
        let mut text = String::new();
        let _ = flood.read_to_string(&mut text);
        text
    });
    while !writing.is_finished() {
        assert!(desk.next_request().is_none());
    }
    let text = writing.join().unwrap();
    assert!(text.contains("more than 65536 bytes"), "{text}");
}

#[test]
fn an_answer_that_is_taken_slowly_arrives_whole_also_from_one_who_ends() {
    let (_directory, mut desk, path) = desk();
    let cause = "x".repeat(2_000_000);
    let reply = Reply::Refused { cause };
    let taking = std::thread::spawn(move || {
        let mut line: Line<Request, Reply> = Line::over(connect(&path).unwrap(), 1 << 24).unwrap();
        line.say(&Request::Flows).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        line.hear_within(WITHIN).unwrap()
    });
    serve(&mut desk, 1, &reply);
    assert!(desk.visitors.iter().any(|it| it.line.has_unsent()));
    drop(desk);
    assert_eq!(taking.join().unwrap(), reply);
}

#[test]
fn more_visitors_than_there_is_room_for_wait_outside_and_come_in_later() {
    let (_directory, mut desk, path) = desk();
    let mut outside: Vec<_> = (0..Room::OF_KEEPER.visitors + 3)
        .map(|_| connect(&path).unwrap())
        .collect();
    assert!(desk.next_request().is_none());
    assert_eq!(desk.visitors.len(), Room::OF_KEEPER.visitors);
    let last = outside.pop().unwrap();
    let mut last: Line<Request, Reply> = Line::over(last, 1 << 16).unwrap();
    last.say(&Request::Detach).unwrap();
    assert!(desk.next_request().is_none());
    drop(outside);
    serve(&mut desk, 1, &Reply::Done);
    assert_eq!(last.hear_within(WITHIN).unwrap(), Reply::Done);
}

#[test]
fn who_asks_too_often_waits_and_who_has_too_many_connections_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let room = Room {
        visitors: 100,
        of_one_user: 8,
        per_second: Some(10),
    };
    let mut desk: Desk = Desk::open(&path, room).unwrap();
    let (began, mut answered) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(1_500) {
        let mut line: Line<Request, Reply> = Line::over(connect(&path).unwrap(), 1 << 16).unwrap();
        line.say(&Request::Flows).unwrap();
        while let Some(asked) = desk.next_request() {
            desk.answer(&asked, &Reply::Done);
            answered += 1;
        }
        let mut wait = Wait::new();
        desk.add_to(&mut wait);
        wait.until(Instant::now() + Duration::from_millis(5));
        wait.wait().unwrap();
        if desk.visitors.len() > 4 {
            break;
        }
    }
    // At first what a second has, then one each tenth of a second.
    assert!((10..=26).contains(&answered), "{answered}");
    let mut many: Vec<Line<Request, Reply>> = (0..9)
        .map(|_| Line::over(connect(&path).unwrap(), 1 << 16).unwrap())
        .collect();
    assert!(desk.next_request().is_none());
    assert_eq!(desk.visitors.len(), 8);
    let refused = many.last_mut().unwrap().hear_within(WITHIN).unwrap();
    assert!(matches!(refused, Reply::Refused { cause } if cause.contains("you have 8")));
}

#[test]
fn who_takes_no_answers_is_asked_for_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    let room = Room {
        visitors: 100,
        of_one_user: 100,
        per_second: Some(1_000_000),
    };
    let mut desk: Desk = Desk::open(&path, room).unwrap();
    let asking: Vec<Line<Request, Reply>> = (0..20)
        .map(|_| {
            let mut line = Line::over(connect(&path).unwrap(), 1 << 24).unwrap();
            line.say(&Request::Flows).unwrap();
            line
        })
        .collect();
    let cause = "x".repeat(900_000);
    let reply = Reply::Refused { cause };
    let mut answered = 0;
    for _ in 0..100 {
        while let Some(asked) = desk.next_request() {
            desk.answer(&asked, &reply);
            answered += 1;
        }
    }
    assert!((2..=4).contains(&answered), "{answered}");
    drop(asking);
}
