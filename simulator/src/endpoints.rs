// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP connections in the network: both ends, their timers, their segments.

mod configs;
mod hold;
mod news;
mod rtts;

use std::sync::Arc;

use ebb_algorithms::{Floor, Policy, ReceiverBundle};
use ebb_link::{Class, Nanos};
use ebb_scenario::{Flow, Stream};

use crate::Error;
use crate::application::{ConnectOptions, ConnectionId, End};
use crate::flows::FlowState;
use crate::network::{Network, Origin};
use crate::schedule::{Alarm, Entity, MAX_PLACES};
use crate::segment::Segment;

use crate::simulation::Simulation;
use crate::tcp::{Connection, Identity, Role, State, TcpConfig};
pub(crate) use configs::Configs;
use news::Told;
use rtts::Rtts;

/// All connections that exist, each with its two ends side by side.
#[derive(Default)]
pub(crate) struct Endpoints {
    /// The end of the data's source at even places, that of its sink behind it.
    list: Vec<Endpoint>,
    /// Places of connections that are over.
    free: Vec<u32>,
    /// Connections that there have been.
    made: u64,
    /// Ends that an application acted on: it may have to hear of the consequences.
    touched: Vec<u32>,
    /// What an end sends now.
    out: Vec<Segment>,
}

/// One end of a connection. Begins with a line of the cache, and with what every segment
/// needs.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    alarm: Alarm,
    generation: u64,
    low_water_bytes: u64,
    /// What the application has heard of what it was given.
    told_bytes: u64,
    told: Told,
    origin: Origin,
    tells_received: bool,
    pub(crate) connection: Connection,
    rtts: Rtts,
}

const _: () = {
    assert!(std::mem::offset_of!(Endpoint, connection) == 64);
    assert!(size_of::<Endpoint>() <= 17 * 64);
};

/// The generation of an end whose connection is over: whatever it still had to say, such
/// as an acknowledgement that its law held back, is not sent any more.
const GONE: u64 = 0;

/// What the connections of a flow have in common. *Shape:* by `End::index`.
pub(crate) struct FlowTcp {
    configs: [Arc<TcpConfig>; 2],
    drift_ppm: i32,
    identities: Stream,
}

impl FlowTcp {
    /// *Errors:* [`Error::Tcp`] if the flow's policies or options cannot be used.
    pub(crate) fn new(
        flow: &Flow,
        identities: Stream,
        configs: &mut Configs,
    ) -> Result<Self, Error> {
        let timestamps = flow.tcp.timestamps;
        Ok(Self {
            configs: [
                configs.find(flow, None)?,
                configs.find(flow, flow.receiver.as_deref())?,
            ],
            drift_ppm: timestamps.map_or(0, |timestamps| timestamps.drift_ppm),
            identities,
        })
    }

    /// Makes its connections some of a bundle.
    pub(crate) fn set_bundle(&mut self, bundle: Option<ReceiverBundle>) {
        Arc::make_mut(&mut self.configs[End::Sink.index()]).set_bundle(bundle);
    }

    /// Gives its connections a floor, at the end that yields.
    pub(crate) fn set_floor(&mut self, floor: Floor) {
        let end = match self.receiver_policy() {
            Some(_) => End::Sink,
            None => End::Source,
        };
        Arc::make_mut(&mut self.configs[end.index()]).set_floor(floor);
    }

    /// The policy of its receiving end.
    pub(crate) fn receiver_policy(&self) -> Option<&Policy> {
        self.configs[End::Sink.index()].receiver_policy()
    }

    fn connection(&mut self, end: End, opener: End, is_observing: bool) -> Connection {
        let role = if end == opener {
            Role::Client
        } else {
            Role::Server
        };
        let identity = Identity {
            initial_seq: self.identities.next_u32(),
            timestamp_offset: self.identities.next_u32(),
            drift_ppm: if end == End::Source {
                self.drift_ppm
            } else {
                0
            },
            seed: self.identities.next_u64(),
        };
        let config = &self.configs[end.index()];
        let mut connection = Connection::new(config, role, identity);
        connection.set_observing(is_observing);
        connection
    }
}

impl Endpoints {
    /// Which end of its connection an endpoint is.
    pub(crate) const fn end_of(endpoint: u32) -> End {
        if endpoint.is_multiple_of(2) {
            End::Source
        } else {
            End::Sink
        }
    }

    /// An end of the connection at this place.
    pub(crate) fn at(&self, place: u32, end: End) -> &Endpoint {
        &self.list[2 * place as usize + end.index()]
    }

    fn is_full(&self) -> bool {
        self.free.is_empty() && self.list.len() >= MAX_PLACES as usize
    }

    fn find(&self, id: ConnectionId, end: End) -> Option<u32> {
        let endpoint = 2 * id.place + end.index() as u32;
        let found = self.list.get(endpoint as usize)?;
        (found.generation == id.generation && !found.told.is_closed).then_some(endpoint)
    }

    /// Puts two ends at a free place, which keeps the alarms that are set.
    fn add(
        &mut self,
        flow: u32,
        state: &FlowState,
        options: ConnectOptions,
        pair: [Connection; 2],
    ) -> ConnectionId {
        self.made += 1;
        let new_place = self.list.len() as u32 / 2;
        let id = ConnectionId {
            place: self.free.pop().unwrap_or(new_place),
            generation: self.made,
        };
        for (end, connection) in [End::Source, End::Sink].into_iter().zip(pair) {
            let origin = state.origin(flow, end);
            let end = end.index();
            let index = 2 * id.place as usize + end;
            let old = self.list.get_mut(index);
            let endpoint = Endpoint {
                connection,
                alarm: old.as_ref().map(|old| old.alarm).unwrap_or_default(),
                generation: self.made,
                low_water_bytes: options.low_water_bytes[end].unwrap_or(0),
                told_bytes: 0,
                told: Told::default(),
                origin,
                tells_received: options.tells_received[end],
                rtts: Rtts::default(),
            };
            match old {
                Some(old) => *old = endpoint,
                None => self.list.push(endpoint),
            }
        }
        id
    }
}

impl Network {
    /// Opens a connection of a flow; a flow without TCP gets one that does not exist.
    pub(crate) fn connect(
        &mut self,
        flow: u32,
        opener: End,
        options: ConnectOptions,
    ) -> ConnectionId {
        if self.endpoints.is_full() {
            self.failure.get_or_insert(Error::TooManyConnections {
                flow: self.flows[flow as usize].spec.name.clone(),
                at: self.now,
                limit: MAX_PLACES / 2,
            });
            return ConnectionId::NONE;
        }
        let state = &mut self.flows[flow as usize];
        let is_observing = state.is_observing;
        let Some(tcp) = &mut state.tcp else {
            return ConnectionId::NONE;
        };
        let pair = [End::Source, End::Sink].map(|end| tcp.connection(end, opener, is_observing));
        let id = self.endpoints.add(flow, state, options, pair);
        self.flows[flow as usize].connections.push(id.place);
        self.act(id, opener, Connection::connect);
        id
    }

    /// Lets an end of a connection act for its application, if it still exists.
    pub(crate) fn act(
        &mut self,
        id: ConnectionId,
        end: End,
        act: impl FnOnce(&mut Connection, Nanos, &mut Vec<Segment>),
    ) {
        if let Some(endpoint) = self.endpoints.find(id, end) {
            self.work(endpoint, act);
            self.endpoints.touched.push(endpoint);
        }
    }

    /// An end of a connection that exists.
    pub(crate) fn connection(&self, id: ConnectionId, end: End) -> Option<&Connection> {
        let endpoint = self.endpoints.find(id, end)?;
        Some(&self.endpoints.list[endpoint as usize].connection)
    }

    /// From here a flow is of its own class and under its receiver policy, or is not.
    pub(crate) fn set_yielding(&mut self, flow: u32, is_yielding: bool) {
        let state = &mut self.flows[flow as usize];
        state.is_observing = !is_yielding;
        state.class = if is_yielding {
            state.spec.class
        } else {
            Class::BestEffort
        };
        for place in &state.connections {
            for endpoint in [2 * place, 2 * place + 1] {
                let endpoint = &mut self.endpoints.list[endpoint as usize];
                endpoint.origin.class = state.class;
                endpoint.connection.set_observing(!is_yielding);
            }
        }
    }

    /// Lets an endpoint do something, sends what it has to send, and sets its alarm.
    #[inline]
    fn work(&mut self, place: u32, act: impl FnOnce(&mut Connection, Nanos, &mut Vec<Segment>)) {
        let mut out = std::mem::take(&mut self.endpoints.out);
        let endpoint = &mut self.endpoints.list[place as usize];
        act(&mut endpoint.connection, self.now, &mut out);
        if let Some(deadline) = endpoint.connection.next_timer() {
            let entity = Entity::Endpoint(place);
            endpoint.alarm.at(deadline, entity, &mut self.schedule);
        }
        let (origin, generation) = (endpoint.origin, endpoint.generation);
        for segment in &out {
            // To the other end's place.
            self.send_segment(origin, place ^ 1, generation, segment);
        }
        out.clear();
        self.endpoints.out = out;
    }

    /// Forgets a connection of which both ends are over.
    fn remove_if_over(&mut self, endpoint: u32) {
        let place = endpoint / 2;
        let other = &mut self.endpoints.list[endpoint as usize ^ 1];
        if other.connection.state() == State::Listening {
            // Nobody will ever connect.
            other.told.is_closed = true;
        }
        let ends = [2 * place, 2 * place + 1];
        let is_over = |end: u32| self.endpoints.list[end as usize].told.is_closed;
        if !ends.into_iter().all(is_over) {
            return;
        }
        self.count_rtts(2 * place);
        let flow = self.endpoints.list[endpoint as usize].origin.flow as usize;
        let counters = self.connection_counters(place);
        let state = &mut self.flows[flow];
        state.meter.counters += counters;
        state.connections.retain(|other| *other != place);
        for end in ends {
            // No segment and no application finds it any more.
            self.endpoints.list[end as usize].generation = GONE;
        }
        self.endpoints.free.push(place);
    }
}

impl Simulation<'_> {
    pub(crate) fn wake_endpoint(&mut self, place: u32) {
        let network = &mut self.network;
        let now = network.now;
        let endpoint = &mut network.endpoints.list[place as usize];
        if !endpoint.alarm.went_off(now) || endpoint.generation == GONE {
            return;
        }
        match endpoint.connection.next_timer() {
            Some(deadline) if deadline > now => {
                let entity = Entity::Endpoint(place);
                endpoint.alarm.at(deadline, entity, &mut network.schedule);
            }
            Some(_) => {
                network.work(place, Connection::on_timer);
                self.tell_events(place);
            }
            None => {}
        }
    }

    /// A segment has come to the host of an endpoint.
    #[inline]
    pub(crate) fn receive(&mut self, place: u32, generation: u64, segment: &Segment, is_ce: bool) {
        let network = &mut self.network;
        if network.endpoints.list[place as usize].generation != generation {
            return;
        }
        network.work(place, |connection, now, out| {
            connection.on_segment(now, segment, is_ce, out);
        });
        if Endpoints::end_of(place) == End::Source {
            network.note_rtt(place);
        }
        self.tell_events(place);
    }
}
