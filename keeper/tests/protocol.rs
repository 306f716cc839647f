// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever arrives, in whatever pieces: the messages that were sent, or an error; never another
//! message, never a panic.

mod messages;

use ebb_keeper::Error;
use ebb_keeper::protocol::{Decoder, FromStarter, Reply, Request, ServiceRequest, VERSION, encode};
use messages::{
    any_json, flow, from_governor, from_keeper, part, reply, request, service_request, switch,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const LIMIT_BYTES: usize = 1 << 16;

/// Such as look like frames reach further than plain noise.
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
    fn what_users_say_to_the_service_arrives_in_any_pieces_and_breaks_off_anywhere(
        messages in vec(service_request(), 0..5), places in vec(any::<usize>(), 0..8), at: usize,
    ) {
        arrive(&messages, &places, at)?;
        // Nothing that a keeper is asked is taken for something else by the service.
        let bytes = encode(&Request::SetObserving(true)).unwrap();
        let (heard, end) = decode::<ServiceRequest>(&[&bytes], LIMIT_BYTES);
        prop_assert!(heard.is_empty() && end.is_err());
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
        // White space before a message is JSON, and no garbage.
        prop_assume!(!garbage.iter().all(|byte| b" \t\r".contains(byte)));
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
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut stream_of = |length: u32| -> Vec<u8> {
        let parts = (0..length).map(|_| match random.next_u32() % 8 {
            0 => vec![random.next_u32() as u8],
            _ => PARTS[random.next_u32() as usize % PARTS.len()].into(),
        });
        parts.collect::<Vec<_>>().concat()
    };
    for number in 0..100_000 {
        let stream = stream_of(number % 12);
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
