// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled programs of each end: opened, prepared, loaded.

use crate::error::{Error, Result};
use crate::layout::Config;
use crate::programs::{LoadOptions, Purpose};
use ebb_algorithms::Side;
use libbpf_rs::{MapCore, Object, ObjectBuilder, OpenObject};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The compiled programs of the receiving end.
static RECEIVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/receiver.bpf.o"));
/// Those of the sending end.
static SENDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));

/// The maps that hold the governed connections: of the receiving end, of the sending end.
const FLOWS_MAPS: [(&str, Side); 2] =
    [("ebb_flows", Side::Receiver), ("ebb_origins", Side::Sender)];
const TRACE_BUFFER_BYTES: u32 = 16 << 20;

/// The processes that an attachment to chosen ones acts on, by their numbers.
pub(crate) const PROCESSES_MAP: &str = "ebb_processes";

/// The end at which programs act on the connections that a map holds, by its name.
pub(crate) fn side_of_flows(map: &str) -> Option<Side> {
    let found = FLOWS_MAPS.iter().find(|(name, _)| *name == map);
    found.map(|(_, side)| *side)
}

/// The name of the map that holds the connections of programs of this end.
pub(crate) fn flows_map(side: Side) -> &'static str {
    let found = FLOWS_MAPS.iter().find(|(_, of)| *of == side);
    found.map_or("", |(name, _)| name)
}

/// The compiled programs of this end, open.
pub(crate) fn open_object(side: Side) -> Result<OpenObject> {
    let (name, bytes) = match side {
        Side::Receiver => ("ebb_receiver", RECEIVER),
        Side::Sender => ("ebb_sender", SENDER),
    };
    ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| load_error("the compiled programs", &error))
}

/// Fills in what is fixed before loading.
pub(crate) fn prepare(
    open: &mut OpenObject,
    options: &LoadOptions<'_>,
    config: &Config,
) -> Result<()> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let done = match (reused(&name, options), name.as_str()) {
            (Some(fd), _) => map.reuse_fd(fd),
            (None, ".rodata.config") => {
                // SAFETY: plain integers without padding.
                let bytes = unsafe {
                    std::slice::from_raw_parts(
                        std::ptr::from_ref(config).cast(),
                        size_of::<Config>(),
                    )
                };
                map.set_initial_value(bytes)
            }
            (None, "ebb_trace") if config.is_tracing != 0 => {
                map.set_max_entries(TRACE_BUFFER_BYTES)
            }
            _ => Ok(()),
        };
        done.map_err(|error| load_error(&format!("map {name}"), &error))?;
    }
    if config.is_marked_only == 0 {
        for mut program in open.progs_mut() {
            if program.name() == "ebb_sock_create" {
                program.set_autoload(false);
            }
        }
    }
    Ok(())
}

/// The map that takes the place of one of the object's.
fn reused<'a>(name: &str, options: &'a LoadOptions<'_>) -> Option<BorrowedFd<'a>> {
    let predecessor = options.predecessor;
    match (name, &options.purpose) {
        // Whose a connection was before is to be remembered through a change of the law.
        (
            "ebb_marks" | PROCESSES_MAP | "ebb_counters" | "ebb_origins" | "ebb_peers"
            | "ebb_wishes",
            Purpose::Law(_),
        ) => predecessor.and_then(|old| old.kept_map(name)),
        (name, Purpose::Release(side, flows)) if name == flows_map(*side) => Some(*flows),
        _ => None,
    }
}

/// Has the kernel verify and take the programs.
pub(crate) fn load_object(open: OpenObject, side: Side) -> Result<Object> {
    crate::messages::collect();
    let loaded = open.load();
    let said = crate::messages::take();
    loaded.map_err(|error| match crate::features::explain() {
        Err(missing) => missing,
        Ok(()) => Error::Load {
            what: format!("the {side}'s programs"),
            reason: format!("{error}{}", crate::messages::tail(&said)),
        },
    })
}

/// A program of a loaded object.
pub(crate) fn program(object: &Object, name: &str) -> Result<OwnedFd> {
    let found = object.progs().find(|program| program.name() == name);
    let program = found.ok_or_else(|| missing(name))?;
    program
        .as_fd()
        .try_clone_to_owned()
        .map_err(|source| Error::Program {
            what: name.to_owned(),
            action: "hold",
            source,
        })
}

/// A map of a loaded object.
pub(crate) fn map(object: &Object, name: &str) -> Result<OwnedFd> {
    let found = object.maps().find(|map| map.name() == OsStr::new(name));
    let map = found.ok_or_else(|| missing(name))?;
    map.as_fd()
        .try_clone_to_owned()
        .map_err(|source| Error::Program {
            what: name.to_owned(),
            action: "hold",
            source,
        })
}

fn missing(name: &str) -> Error {
    Error::Load {
        what: name.to_owned(),
        reason: "not in the compiled object".to_owned(),
    }
}

/// An error of libbpf, on what.
pub(crate) fn load_error(what: &str, error: &libbpf_rs::Error) -> Error {
    Error::Load {
        what: what.to_owned(),
        reason: format!("{error:#}"),
    }
}
