// SPDX-License-Identifier: Apache-2.0 OR MIT
//! People who open web pages, after section IV-B of Kuzmanovic and Knightly (2006).
//!
//! A person thinks, opens a page, and thinks again when all of it is there, or at once
//! (`waits`). The objects
//! of a page are wanted one after the other in short distances; the client asks for each
//! in a request, the server answers with the object. Response times count from the
//! moment at which the object is wanted: handshakes, and waiting for a connection where
//! there are only so many, are part of them.

mod connections;
mod person;
mod times;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ebb_link::Nanos;
use ebb_scenario::{ApplicationMeasure, Connections};

use crate::{Application, ConnectOptions, ConnectionEvent, ConnectionId, End, Host};

use connections::{Exchange, Use, Uses};
use person::Person;
use times::Times;

/// People who open web pages; the pages come from the source.
pub struct Web {
    spec: ebb_scenario::Web,
    people: Vec<Person>,
    connections: Uses,
    /// What will be wanted when, in order of time, then of the order of entry.
    agenda: BinaryHeap<Reverse<(Nanos, u64, Wish)>>,
    wishes: u64,
    is_over: bool,
    times: Times,
}

/// What a person, by number, wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    Page(u32),
    /// An object of this size, of the page of this number.
    Object(u32, u32, u64),
}

/// An object that was wanted and is not there yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    page: u32,
    bytes: u64,
    wanted_at: Nanos,
}

impl Web {
    /// People of this kind.
    pub fn new(spec: ebb_scenario::Web) -> Self {
        Self {
            spec,
            people: Vec::new(),
            connections: Uses::default(),
            agenda: BinaryHeap::new(),
            wishes: 0,
            is_over: false,
            times: Times::default(),
        }
    }

    fn plan(&mut self, at: Nanos, wish: Wish) {
        self.agenda.push(Reverse((at, self.wishes, wish)));
        self.wishes += 1;
    }

    fn set_timer(&self, host: &mut Host<'_>) {
        match self.agenda.peek() {
            Some(Reverse((at, _, _))) => host.set_timer(*at),
            None => host.clear_timer(),
        }
    }

    fn think(&mut self, person: u32, now: Nanos) {
        let pause = self.people[person as usize].think();
        self.plan(now + pause, Wish::Page(person));
    }

    fn open_page(&mut self, person: u32, now: Nanos) {
        let mut at = now;
        let (page, objects) = self.people[person as usize].open_page(now);
        for (gap, bytes) in objects {
            at += gap;
            self.plan(at, Wish::Object(person, page, bytes));
        }
        if !self.spec.waits {
            self.think(person, now);
        }
    }

    /// Asks for an object on a connection that is free or new, or makes it wait for one.
    fn want(&mut self, person: u32, object: Object, host: &mut Host<'_>) {
        let someone = &mut self.people[person as usize];
        if let Some(connection) = someone.idle.pop() {
            return self.ask(connection, person, object, host);
        }
        if someone.connections >= self.spec.parallel.max(1) {
            someone.waiting.push_back(object);
            return;
        }
        someone.connections += 1;
        let options = ConnectOptions {
            tells_received: [true, true],
            ..ConnectOptions::default()
        };
        let connection = host.connect(End::Sink, options);
        self.ask(connection, person, object, host);
    }

    fn ask(&mut self, connection: ConnectionId, person: u32, object: Object, host: &mut Host<'_>) {
        let request_bytes = u64::from(self.spec.request_bytes.max(1));
        let exchange = Exchange::new(person, object, request_bytes);
        self.connections.set(connection, Use::Exchange(exchange));
        host.write(connection, End::Sink, request_bytes);
    }

    /// The server has read so much of a request.
    fn serve(&mut self, connection: ConnectionId, bytes: u64, host: &mut Host<'_>) {
        let Some(object_bytes) = self.connections.asked(connection, bytes) else {
            return;
        };
        host.write(connection, End::Source, object_bytes);
        if self.spec.connections == Connections::PerObject {
            host.close(connection, End::Source);
        }
    }

    /// The client has read so much of an object.
    fn read(&mut self, connection: ConnectionId, bytes: u64, host: &mut Host<'_>) {
        let Some(Exchange { person, object, .. }) = self.connections.answered(connection, bytes)
        else {
            return;
        };
        let now = host.now();
        self.times.object(object, now);
        self.free(connection, person, host);
        let someone = &mut self.people[person as usize];
        if let Some(opened_at) = someone.got_object(object.page) {
            self.times.page(opened_at, now);
            if !self.is_over && self.spec.waits {
                self.think(person, now);
                self.set_timer(host);
            }
        }
        self.serve_waiting(person, host);
    }

    fn serve_waiting(&mut self, person: u32, host: &mut Host<'_>) {
        if let Some(object) = self.people[person as usize].waiting.pop_front() {
            self.want(person, object, host);
        }
    }

    /// A connection has brought its object.
    fn free(&mut self, connection: ConnectionId, person: u32, host: &mut Host<'_>) {
        let someone = &mut self.people[person as usize];
        match self.spec.connections {
            // The server closes it; the person may have another one at once.
            Connections::PerObject => {
                self.connections.remove(connection);
                someone.connections -= 1;
            }
            Connections::Persistent => {
                self.connections.set(connection, Use::Idle(person));
                if self.is_over {
                    host.close(connection, End::Sink);
                } else {
                    someone.idle.push(connection);
                }
            }
        }
    }

    /// A connection is over at one end: what it was to bring is asked for again on
    /// another one.
    fn lose(&mut self, connection: ConnectionId, end: End, host: &mut Host<'_>) {
        match self.connections.remove(connection) {
            None => {}
            Some(Use::Idle(person)) => {
                let someone = &mut self.people[person as usize];
                someone.idle.retain(|idle| *idle != connection);
                someone.connections -= 1;
            }
            Some(Use::Exchange(exchange)) => {
                host.abort(connection, end.other());
                self.people[exchange.person as usize].connections -= 1;
                if !self.is_over {
                    self.want(exchange.person, exchange.object, host);
                }
            }
        }
    }
}

impl Application for Web {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.times = Times::new(host.intervals());
        for number in 0..self.spec.sessions {
            self.people.push(Person::new(number, self.spec, host));
            self.think(number, host.now());
        }
        self.set_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        self.is_over = true;
        self.agenda.clear();
        host.clear_timer();
        for someone in &mut self.people {
            someone.waiting.clear();
            for connection in someone.idle.drain(..) {
                host.close(connection, End::Sink);
            }
        }
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        let now = host.now();
        while let Some(&Reverse((at, _, wish))) = self.agenda.peek()
            && at <= now
        {
            self.agenda.pop();
            match wish {
                Wish::Page(person) => self.open_page(person, now),
                Wish::Object(person, page, bytes) => {
                    let object = Object {
                        page,
                        bytes,
                        wanted_at: at,
                    };
                    self.want(person, object, host);
                }
            }
        }
        self.set_timer(host);
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        match (event, end) {
            (ConnectionEvent::Received(bytes), End::Source) => self.serve(connection, bytes, host),
            (ConnectionEvent::Received(bytes), End::Sink) => self.read(connection, bytes, host),
            (ConnectionEvent::PeerClosed, _) => host.close(connection, end),
            (ConnectionEvent::Closed, _) => self.lose(connection, end, host),
            (ConnectionEvent::Connected | ConnectionEvent::Writable, _) => {}
        }
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        self.times.measure(interval)
    }
}
