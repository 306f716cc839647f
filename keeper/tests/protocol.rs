// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever arrives, in whatever pieces: the messages that were sent, or an error; never another
//! message, never a panic.

use std::net::{IpAddr, SocketAddr};

use ebb_keeper::protocol::{
    Decoder, FromGovernor, FromKeeper, FromStarter, Part, Reply, Request, Switch, VERSION, encode,
};
use ebb_keeper::{Backend, Datagrams, Direction, Error, FlowView, Seen, Summary};
use ebb_sockets::{Hold, Note, Own};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const LIMIT_BYTES: usize = 1 << 16;

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Down), Just(Direction::Up)]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (any::<u64>(), direction())
            .prop_map(|(cookie, direction)| Part::Connection { cookie, direction }),
        any::<u32>().prop_map(|pid| Part::Process { pid }),
    ]
}

fn switch() -> impl Strategy<Value = Switch> {
    prop_oneof![
        Just(Switch::Free),
        Just(Switch::Held),
        any::<String>().prop_map(Switch::Policy),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(Request::Detach),
        Just(Request::Flows),
        any::<String>().prop_map(Request::SetPolicy),
        any::<String>().prop_map(Request::SetUploadPolicy),
        any::<bool>().prop_map(Request::SetObserving),
        (part(), switch()).prop_map(|(whose, to)| Request::Switch { whose, to }),
    ]
}

fn address() -> impl Strategy<Value = SocketAddr> {
    // A scope would be lost: JSON has none of it.
    (any::<IpAddr>(), any::<u16>()).prop_map(|(ip, port)| SocketAddr::new(ip, port))
}

fn flow() -> impl Strategy<Value = FlowView> {
    let numbers = (
        any::<u64>(),
        any::<u64>(),
        any::<u32>(),
        option::of(any::<u64>()),
    );
    let measured = option::of(any::<u32>());
    let words = (any::<String>(), any::<String>(), any::<String>());
    let rest = (direction(), any::<bool>(), option::of(any::<u32>()));
    (
        numbers,
        address(),
        address(),
        measured.clone(),
        measured,
        words,
        rest,
    )
        .prop_map(
            |(numbers, local, peer, rtt_us, queue_us, words, rest)| FlowView {
                cookie: numbers.0,
                direction: rest.0,
                local,
                peer,
                law: words.0,
                payload_bytes: numbers.1,
                window_bytes: numbers.2,
                pace_bytes_per_s: numbers.3,
                rtt_us,
                queue_us,
                mode: words.1,
                reason: words.2,
                is_acting: rest.1,
                process: rest.2,
            },
        )
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        Just(Reply::Done),
        vec(flow(), 0..4).prop_map(Reply::Flows),
        any::<String>().prop_map(|cause| Reply::Refused { cause }),
    ]
}

fn summary() -> impl Strategy<Value = Summary> {
    let texts = (
        any::<String>(),
        option::of(any::<String>()),
        vec(any::<String>(), 0..3),
    );
    let counts = any::<[u64; 8]>();
    (texts, counts, vec(any::<IpAddr>(), 0..4), any::<bool>()).prop_map(
        |((policy, other, names), counts, peers, is_user)| Summary {
            backend: if is_user {
                Backend::User
            } else {
                Backend::Kernel
            },
            ended_early: other.clone(),
            policy,
            upload_policy: other,
            received_bytes: counts[0],
            sent_bytes: counts[1],
            connections: counts[2],
            loopback_connections: counts[3],
            multipath_connections: counts[4],
            datagrams: Datagrams {
                sockets: counts[5],
                quic: counts[6],
                utp: counts[7],
                bytes: is_user.then_some((counts[0], counts[1])),
            },
            peers,
            seen: Seen {
                held_back_ms: counts[6],
                queue_mean_us: is_user.then_some(counts[7]),
                queue_most_us: is_user.then_some(7),
            },
            out_of_reach: names,
            processes_left: 3,
        },
    )
}

fn from_keeper() -> impl Strategy<Value = FromKeeper> {
    let text = any::<String>();
    prop_oneof![
        option::of("[a-z/]{1,20}").prop_map(|cgroup| FromKeeper::Ready {
            cgroup: cgroup.map(Into::into)
        }),
        text.prop_map(|cause| FromKeeper::AlreadyAttached { cause }),
        text.prop_map(|cause| FromKeeper::Refused { cause }),
        text.prop_map(|text| FromKeeper::Notice { text }),
        any::<i32>().prop_map(|pid| FromKeeper::Started { pid }),
        (any::<u8>(), any::<i32>())
            .prop_map(|(status, errno)| FromKeeper::NotStarted { status, errno }),
        any::<i32>().prop_map(|signal| FromKeeper::Stopped { signal }),
        (any::<u8>(), option::of(summary())).prop_map(|(status, summary)| FromKeeper::Ended {
            status,
            summary: summary.map(Box::new)
        }),
        summary().prop_map(|summary| FromKeeper::Summary(Box::new(summary))),
    ]
}

fn from_governor() -> impl Strategy<Value = FromGovernor> {
    let hold = (
        any::<u64>(),
        any::<u32>(),
        any::<i32>(),
        any::<u64>(),
        any::<u32>(),
        any::<u8>(),
    );
    prop_oneof![
        option::of(any::<i32>()).prop_map(|command| FromGovernor::Beat { command }),
        any::<u64>().prop_map(|cookie| FromGovernor::Note(Note::Free(cookie))),
        hold.prop_map(
            |(cookie, pid, descriptor, pace, unsent_bytes, traffic_class)| {
                let own = Own {
                    pace_bytes_per_s: pace,
                    unsent_bytes,
                    traffic_class,
                };
                FromGovernor::Note(Note::Held(Hold {
                    cookie,
                    pid,
                    descriptor,
                    own,
                }))
            }
        ),
    ]
}

/// All that a decoder gives, and how it ended.
fn decode<T: DeserializeOwned>(
    pieces: &[&[u8]],
    limit_bytes: usize,
) -> (Vec<T>, Result<(), Error>) {
    let mut decoder = Decoder::new(limit_bytes);
    let mut messages = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    assert!(decoder.end().is_err());
                    return (messages, Err(error));
                }
            }
        }
    }
    (messages, decoder.end())
}

fn frames<T: Serialize>(messages: &[T]) -> Vec<Vec<u8>> {
    messages.iter().map(|it| encode(it).unwrap()).collect()
}

/// The same bytes, cut at these places.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|it| it % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|ends| &bytes[ends[0]..ends[1]])
        .collect()
}

/// What holds for messages of every kind.
fn arrive<T>(messages: &[T], places: &[usize], at: usize) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let frames = frames(messages);
    let bytes = frames.concat();

    // In any pieces: all of them.
    let (heard, end) = decode::<T>(&cut(&bytes, places), bytes.len().max(1));
    prop_assert_eq!(&heard, messages);
    prop_assert!(end.is_ok());

    // Broken off anywhere: those that are whole, and an error unless it is between two.
    let at = at % (bytes.len() + 1);
    let (heard, end) = decode::<T>(&cut(&bytes[..at], places), LIMIT_BYTES * 16);
    let lengths = frames.iter().scan(0, |sum, frame| {
        *sum += frame.len();
        Some(*sum)
    });
    let whole = lengths.clone().filter(|length| *length <= at).count();
    prop_assert_eq!(&heard, &messages[..whole]);
    let is_between = at == 0 || lengths.clone().any(|length| length == at);
    prop_assert_eq!(end.is_ok(), is_between);
    Ok(())
}

proptest! {
    #[test]
    fn requests_arrive_in_any_pieces_and_break_off_anywhere(
        messages in vec(request(), 0..5), places in vec(any::<usize>(), 0..8), at: usize,
    ) {
        arrive(&messages, &places, at)?;
    }

    #[test]
    fn replies_arrive_in_any_pieces_and_break_off_anywhere(
        messages in vec(reply(), 0..5), places in vec(any::<usize>(), 0..8), at: usize,
    ) {
        arrive(&messages, &places, at)?;
    }

    #[test]
    fn what_keepers_say_arrives_in_any_pieces_and_breaks_off_anywhere(
        messages in vec(from_keeper(), 0..5), places in vec(any::<usize>(), 0..8), at: usize,
    ) {
        arrive(&messages, &places, at)?;
        arrive(&[FromStarter::Done, FromStarter::Done], &places, at)?;
    }

    #[test]
    fn what_governors_say_arrives_in_any_pieces_and_breaks_off_anywhere(
        messages in vec(from_governor(), 0..5), places in vec(any::<usize>(), 0..8), at: usize,
    ) {
        arrive(&messages, &places, at)?;
    }

    #[test]
    fn garbage_is_an_error_and_nothing_behind_it_is_heard(
        messages in vec(request(), 0..4), garbage in vec(any::<u8>(), 1..200), places in vec(any::<usize>(), 0..8),
    ) {
        let before = frames(&messages).concat();
        let behind = encode(&Request::Detach).unwrap();
        let bytes = [&before[..], &garbage, &behind].concat();
        let (heard, end) = decode::<Request>(&cut(&bytes, &places), LIMIT_BYTES);
        prop_assert_eq!(heard, messages);
        prop_assert!(end.is_err());
    }

    #[test]
    fn a_frame_with_some_of_its_bytes_changed_is_never_taken_for_another_kind(
        message in from_governor(), at: usize, byte: u8,
    ) {
        let mut bytes = encode(&message).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        // Requests and replies have no kind in common with what a governor says.
        let (requests, end) = decode::<Request>(&[&bytes], LIMIT_BYTES);
        prop_assert!(requests.is_empty() && end.is_err());
        let (replies, end) = decode::<Reply>(&[&bytes], LIMIT_BYTES);
        prop_assert!(replies.is_empty() && end.is_err());
    }

    #[test]
    fn what_is_too_long_is_refused_as_soon_as_it_is(message in request(), excess in 1_usize..500) {
        let bytes = encode(&message).unwrap();
        let (heard, end) = decode::<Request>(&[&bytes], bytes.len());
        prop_assert_eq!(heard, std::slice::from_ref(&message));
        prop_assert!(end.is_ok());
        let limit_bytes = bytes.len() - 1;
        let (heard, end) = decode::<Request>(&[&bytes], limit_bytes);
        prop_assert!(heard.is_empty());
        let is_named = matches!(end, Err(Error::TooLong { limit_bytes: it }) if it == limit_bytes);
        prop_assert!(is_named);
        let endless = vec![b' '; limit_bytes + excess];
        let (_, end) = decode::<Request>(&[&endless], limit_bytes);
        let is_named = matches!(end, Err(Error::TooLong { .. }));
        prop_assert!(is_named);
    }

    #[test]
    fn another_version_is_refused_by_name_whatever_it_says(version: u64, message in any_json()) {
        prop_assume!(version != VERSION);
        let frame = serde_json::json!({"ebb": version, "message": message, "more": message});
        let bytes = format!("{frame}\n");
        let (heard, end) = decode::<Request>(&[bytes.as_bytes()], LIMIT_BYTES);
        prop_assert!(heard.is_empty());
        let text = end.unwrap_err().to_string();
        prop_assert!(text.contains(&format!("version {version} ")), "{}", text);
        prop_assert!(text.contains(&format!("this is version {VERSION}")), "{}", text);
    }

    #[test]
    fn a_field_more_is_refused_in_a_request_and_passed_over_in_an_answer(
        whose in part(), to in switch(), flow in flow(), name in "x[a-z]{1,8}", value in any_json(),
    ) {
        let request = with_field(&Request::Switch { whose, to }, &["switch"], &name, &value);
        let (heard, end) = decode::<Request>(&[&request], LIMIT_BYTES);
        prop_assert!(heard.is_empty() && end.is_err());
        let reply = Reply::Flows(vec![flow]);
        let told = with_field(&reply, &["flows", "0"], &name, &value);
        let (heard, end) = decode::<Reply>(&[&told], LIMIT_BYTES * 16);
        prop_assert_eq!(heard, [reply]);
        prop_assert!(end.is_ok());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The message's frame, with one more field in what the path leads to.
fn with_field(message: &impl Serialize, path: &[&str], name: &str, value: &Value) -> Vec<u8> {
    let mut frame: Value = serde_json::from_slice(&encode(message).unwrap()).unwrap();
    let pointer = format!("/message/{}", path.join("/"));
    let object = frame.pointer_mut(&pointer).unwrap();
    object[name] = value.clone();
    format!("{frame}\n").into_bytes()
}

#[test]
fn the_decoder_outlives_a_hundred_thousand_random_streams() {
    use proptest::test_runner::{RngAlgorithm, TestRng};
    // Such as look like frames reach further than plain noise.
    const PARTS: [&str; 16] = [
        "{",
        "}",
        "\"ebb\":",
        "1",
        "2",
        ",",
        "\"message\":",
        "\"detach\"",
        "\"flows\"",
        "\n",
        "[",
        "{\"ebb\":1,\"message\":",
        "\"set-policy\":\"ebb\"",
        "null",
        "\\u0000",
        "\u{fffd}",
    ];
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    for _ in 0..100_000 {
        let length = random.next_u32() % 12;
        let mut stream = Vec::new();
        for _ in 0..length {
            match random.next_u32() % 8 {
                0 => stream.push(random.next_u32() as u8),
                _ => {
                    let part = PARTS[random.next_u32() as usize % PARTS.len()];
                    stream.extend_from_slice(part.as_bytes());
                }
            }
        }
        let (heard, end) = decode::<Request>(&[&stream], LIMIT_BYTES);
        // What was heard was said: each as a line of its own, before any error.
        let said: Vec<&[u8]> = stream
            .split(|byte| *byte == b'\n')
            .take(heard.len())
            .collect();
        for (request, line) in heard.iter().zip(said) {
            let frame: Value = serde_json::from_slice(line).unwrap();
            assert_eq!(frame["ebb"], VERSION);
            assert_eq!(frame["message"], serde_json::to_value(request).unwrap());
        }
        let is_whole = stream.is_empty() || stream.ends_with(b"\n");
        assert!(end.is_err() || is_whole, "{stream:?}");
    }
}
