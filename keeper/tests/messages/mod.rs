// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages of every kind, at random.

use std::net::{IpAddr, SocketAddr};

use ebb_keeper::protocol::{
    Due, FromGovernor, FromKeeper, Mine, Order, Part, Reply, Request, ServiceRequest, Socket,
    Switch,
};
use ebb_keeper::{Backend, Datagrams, Direction, FlowView, Pursued, Seen, Standing, Summary};
use ebb_sockets::{Hold, Note, Own};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

pub fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Down), Just(Direction::Up)]
}

pub fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (any::<u64>(), direction())
            .prop_map(|(cookie, direction)| Part::Connection { cookie, direction }),
        any::<u32>().prop_map(|pid| Part::Process { pid }),
    ]
}

pub fn switch() -> impl Strategy<Value = Switch> {
    prop_oneof![
        Just(Switch::Free),
        Just(Switch::Held),
        any::<String>().prop_map(Switch::Policy),
    ]
}

pub fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(Request::Detach),
        Just(Request::Flows),
        any::<String>().prop_map(Request::SetPolicy),
        any::<String>().prop_map(Request::SetUploadPolicy),
        any::<String>().prop_map(Request::SetMinimum),
        option::of(any::<(u64, u64)>()).prop_map(|due| {
            let due = due.map(|(by_unix_s, size_bytes)| Due {
                by_unix_s,
                size_bytes,
            });
            Request::SetDeadline(due)
        }),
        any::<bool>().prop_map(Request::SetObserving),
        (part(), switch()).prop_map(|(whose, to)| Request::Switch { whose, to }),
    ]
}

fn socket() -> impl Strategy<Value = Socket> {
    any::<(i32, u64)>().prop_map(|(descriptor, cookie)| Socket { descriptor, cookie })
}

fn mine() -> impl Strategy<Value = Mine> {
    prop_oneof![
        vec(any::<String>(), 0..4).prop_map(|words| Mine::Command { words }),
        any::<(u32, u64)>().prop_map(|(pid, started_ticks)| Mine::Process { pid, started_ticks }),
        any::<(String, u64)>().prop_map(|(cgroup, number)| Mine::Cgroup {
            cgroup: cgroup.into(),
            number,
        }),
        socket().prop_map(Mine::Socket),
        Just(Mine::Sockets),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    let texts = (
        option::of(any::<String>()),
        option::of(any::<String>()),
        option::of(any::<String>()),
    );
    (
        mine(),
        texts,
        option::of(any::<(u64, u64)>()),
        any::<bool>(),
    )
        .prop_map(
            |(whose, (policy, upload_policy, minimum), due, flag)| Order {
                whose,
                policy,
                upload_policy,
                minimum,
                deadline: due.map(|(by_unix_s, size_bytes)| Due {
                    by_unix_s,
                    size_bytes,
                }),
                keeps_code_point: flag,
                is_watched: !flag,
            },
        )
}

pub fn service_request() -> impl Strategy<Value = ServiceRequest> {
    prop_oneof![
        Just(ServiceRequest::Records),
        order().prop_map(ServiceRequest::Hold),
        any::<String>().prop_map(|id| ServiceRequest::Finish { id }),
        mine().prop_map(ServiceRequest::Find),
        (any::<String>(), request()).prop_map(|(id, request)| ServiceRequest::Ask { id, request }),
        (any::<String>(), vec(socket(), 0..4))
            .prop_map(|(id, sockets)| ServiceRequest::Add { id, sockets }),
        vec(any::<u64>(), 0..4).prop_map(|cookies| ServiceRequest::FlowsOf { cookies }),
        (any::<String>(), vec(any::<u64>(), 0..4))
            .prop_map(|(id, cookies)| ServiceRequest::Drop { id, cookies }),
    ]
}

pub fn address() -> impl Strategy<Value = SocketAddr> {
    // A scope would be lost: JSON has none of it.
    (any::<IpAddr>(), any::<u16>()).prop_map(|(ip, port)| SocketAddr::new(ip, port))
}

pub fn flow() -> impl Strategy<Value = FlowView> {
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

pub fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        Just(Reply::Done),
        vec(flow(), 0..4).prop_map(Reply::Flows),
        any::<String>().prop_map(|cause| Reply::Refused { cause }),
    ]
}

pub fn summary() -> impl Strategy<Value = Summary> {
    let texts = (
        any::<String>(),
        option::of(any::<String>()),
        vec(any::<String>(), 0..3),
    );
    let counts = any::<[u64; 9]>();
    (texts, counts, vec(any::<IpAddr>(), 0..4), any::<bool>()).prop_map(
        |((policy, other, names), counts, peers, is_user)| Summary {
            backend: if is_user {
                Backend::User
            } else {
                Backend::Kernel
            },
            ended_early: other.clone(),
            policy,
            upload_policy: other.clone(),
            minimum: other.clone(),
            deadline: other.map(|by| pursued(by, counts)),
            received_bytes: counts[0],
            sent_bytes: counts[1],
            connections: counts[2],
            loopback_connections: counts[3],
            multipath_connections: counts[4],
            ungoverned_connections: counts[8],
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
            since_restart: is_user,
            processes_left: 3,
        },
    )
}

fn pursued(by: String, counts: [u64; 9]) -> Pursued {
    Pursued {
        minimum: Some(by.clone()),
        by,
        by_unix_s: (counts[0] > 1 << 63).then_some(counts[1]),
        size_bytes: counts[2],
        done_bytes: counts[3],
        standing: Standing::Behind,
        late_s: counts[4],
    }
}

pub fn from_keeper() -> impl Strategy<Value = FromKeeper> {
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

pub fn from_governor() -> impl Strategy<Value = FromGovernor> {
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

/// Anything that JSON can say.
pub fn any_json() -> impl Strategy<Value = Value> {
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
