// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The library for Python: the module `ebb._native`, whose stubs are for readers.

mod failure;
mod laws;
mod packets;
mod result;
mod simulate;
mod table;
mod toml;

use std::os::fd::{BorrowedFd, RawFd};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    ebb,
    Error,
    PyException,
    "What went wrong: args are a number and a text."
);

/// One socket in the background: it gets the bandwidth that nobody else wants.
#[pymodule(name = "_native")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::failure::WrongScenario;
    #[pymodule_export]
    use super::laws::{WrongLaw, build_law, load_law, loaded_laws};
    #[pymodule_export]
    use super::result::Simulated;
    #[pymodule_export]
    use super::simulate::{resolve, run};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::{
        Error, Flow, State, background, background_all, foreground, foreground_all, state,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// One direction of a connection.
#[pyclass(frozen, get_all, module = "ebb")]
struct Flow {
    law: &'static str,
    payload_bytes: u64,
    window_bytes: u32,
    pace_bytes_per_s: Option<u64>,
    rtt_us: Option<u32>,
    queue_us: Option<u32>,
    held_back: &'static str,
}

/// What is seen of a socket, as of the last look at it.
#[pyclass(frozen, get_all, module = "ebb")]
struct State {
    standing: &'static str,
    download: Option<Py<Flow>>,
    upload: Option<Py<Flow>>,
}

/// Puts a TCP socket into the background; it may be connected later.
#[pyfunction]
#[pyo3(signature = (socket, *, download=None, upload=None, keep_code_point=false, minimum=None))]
fn background(
    py: Python<'_>,
    socket: &Bound<'_, PyAny>,
    download: Option<&str>,
    upload: Option<&str>,
    keep_code_point: bool,
    minimum: Option<&str>,
) -> PyResult<()> {
    let options = options(download, upload, keep_code_point, minimum)?;
    let socket = borrowed(socket)?;
    // Others may run meanwhile, here and below: the library may wait for somebody.
    py.detach(|| ebb::background_with(&socket, &options))
        .map_err(raised)
}

/// Puts all TCP sockets of this process into the background.
#[pyfunction]
#[pyo3(signature = (*, download=None, upload=None, keep_code_point=false, minimum=None))]
fn background_all(
    py: Python<'_>,
    download: Option<&str>,
    upload: Option<&str>,
    keep_code_point: bool,
    minimum: Option<&str>,
) -> PyResult<()> {
    let options = options(download, upload, keep_code_point, minimum)?;
    py.detach(|| ebb::background_all(&options)).map_err(raised)
}

/// Takes a socket to the foreground. Its limits are lifted when this returns; of one that ebbd
/// holds some milliseconds later, and state() says so.
#[pyfunction]
fn foreground(py: Python<'_>, socket: &Bound<'_, PyAny>) -> PyResult<()> {
    let socket = borrowed(socket)?;
    py.detach(|| ebb::foreground(&socket)).map_err(raised)
}

/// Takes all sockets to the foreground.
#[pyfunction]
fn foreground_all(py: Python<'_>) {
    py.detach(ebb::foreground_all);
}

/// Tells what is seen of a socket, as of the last look at it. Of one that ebbd governs that tells,
/// which is waited for: up to a fifth of a second where it does not answer.
#[pyfunction]
fn state(py: Python<'_>, socket: &Bound<'_, PyAny>) -> PyResult<State> {
    let socket = borrowed(socket)?;
    let state = py.detach(|| ebb::state(&socket)).map_err(raised)?;
    let of = |flow: Option<ebb::Flow>| flow.map(|it| Py::new(py, Flow::from(it))).transpose();
    Ok(State {
        standing: standing(state.standing),
        download: of(state.download)?,
        upload: of(state.upload)?,
    })
}

/// The descriptor of a socket, or of anything that has `fileno()`, or the number itself.
fn borrowed(socket: &Bound<'_, PyAny>) -> PyResult<BorrowedFd<'static>> {
    let number: RawFd = match socket.extract() {
        Ok(number) => number,
        Err(_) => socket.call_method0("fileno")?.extract()?,
    };
    if number < 0 {
        return Err(Error::new_err((1, "it is closed: give a TCP socket")));
    }
    // SAFETY: it is used during the call only, and what is not open is answered with an error.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

fn options(
    download: Option<&str>,
    upload: Option<&str>,
    keep_code_point: bool,
    minimum: Option<&str>,
) -> PyResult<ebb::Options> {
    let mut options = ebb::Options::new();
    if let Some(policy) = download {
        options = options.download(policy).map_err(raised)?;
    }
    if let Some(policy) = upload {
        options = options.upload(policy).map_err(raised)?;
    }
    if let Some(rate) = minimum {
        options = options.minimum(rate).map_err(raised)?;
    }
    Ok(match keep_code_point {
        true => options.keep_code_point(),
        false => options,
    })
}

fn raised(error: ebb::Error) -> PyErr {
    Error::new_err((error.code(), error.to_string()))
}

fn standing(standing: ebb::Standing) -> &'static str {
    match standing {
        ebb::Standing::Foreground => "foreground",
        ebb::Standing::NotConnected => "not connected",
        ebb::Standing::LeftAlone => "left alone",
        ebb::Standing::OfAnother => "of another",
        ebb::Standing::Background => "background",
        _ => "unknown",
    }
}

impl From<ebb::Flow> for Flow {
    fn from(flow: ebb::Flow) -> Self {
        let held_back = match flow.held_back {
            ebb::HeldBack::No => "",
            ebb::HeldBack::QueueAtTarget => "queue at target",
            ebb::HeldBack::OthersWantIt => "others want it",
            ebb::HeldBack::SeeingThePath => "seeing the path",
            ebb::HeldBack::OldWindowLeft => "old window left",
            _ => "unknown",
        };
        Self {
            law: flow.law,
            payload_bytes: flow.payload_bytes,
            window_bytes: flow.window_bytes,
            pace_bytes_per_s: flow.pace_bytes_per_s,
            rtt_us: flow.rtt_us,
            queue_us: flow.queue_us,
            held_back,
        }
    }
}
