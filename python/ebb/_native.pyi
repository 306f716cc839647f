# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The native part of ebb: sockets in the background, and the simulator's results.

A socket is an object with fileno(), or a number: socket.socket, what asyncio's
transport.get_extra_info("socket") gives. All functions of sockets may be called from any thread,
and none needs a privilege.
"""

import os
from typing import Any, Optional, Protocol, Union, final

__version__: str

class _HasFileno(Protocol):
    def fileno(self) -> int: ...

_Socket = Union[int, _HasFileno]

class Error(Exception):
    """What went wrong: args are a number, as in ebb.h, and a sentence that says what would be
    right."""

@final
class Flow:
    """One direction of a connection."""

    @property
    def law(self) -> str:
        """The law's name."""
    @property
    def payload_bytes(self) -> int:
        """Payload since it is in the background."""
    @property
    def window_bytes(self) -> int:
        """The bound on the window that is advertised; sending, on what is in flight."""
    @property
    def pace_bytes_per_s(self) -> Optional[int]:
        """Sending: the bound on the pace."""
    @property
    def rtt_us(self) -> Optional[int]:
        """Round trip, if one was measured."""
    @property
    def queue_us(self) -> Optional[int]:
        """Queueing delay, if the law sees it."""
    @property
    def held_back(self) -> str:
        """Why it is held back: "queue at target", "others want it", "seeing the path", "old window
        left"; "": it is not."""

@final
class State:
    """What is seen of a socket, as of the last look at it."""

    @property
    def standing(self) -> str:
        """Where it is: "foreground", "not connected", "left alone", "of another", "background"."""
    @property
    def download(self) -> Optional[Flow]:
        """What arrives, where that yields; of another Ebb's, as far as ebbd tells."""
    @property
    def upload(self) -> Optional[Flow]:
        """What is sent, where that yields; of another Ebb's, as far as ebbd tells."""

def background(
    socket: _Socket,
    *,
    download: Optional[str] = None,
    upload: Optional[str] = None,
    keep_code_point: bool = False,
    minimum: Optional[str] = None,
) -> None:
    """Puts a TCP socket into the background; it may be connected later.

    download, upload: a policy, "name:key=value,..."; "none": that way is left alone.
    keep_code_point: what is sent is not marked as Lower Effort (RFC 8622).
    minimum: a rate that it has for itself at the least each way, "2mbit"; "none": that of the laws.
    """

def background_all(
    *,
    download: Optional[str] = None,
    upload: Optional[str] = None,
    keep_code_point: bool = False,
    minimum: Optional[str] = None,
) -> None:
    """Puts all TCP sockets that this process has and will have into the background, but for those
    that are taken to the foreground later.

    minimum: a rate that all of them have together at the least each way.
    """

def foreground(socket: _Socket) -> None:
    """Takes a socket to the foreground. Its limits are lifted when this returns; of one that ebbd
    holds some milliseconds later, and state() says so.
    """

def foreground_all() -> None:
    """Takes all sockets to the foreground."""

def state(socket: _Socket) -> State:
    """Tells what is seen of a socket, as of the last look at it. Of one that ebbd governs that
    tells, which is waited for: up to a fifth of a second where it does not answer."""

class WrongScenario(ValueError):
    """What is wrong with a scenario, and what would be right."""

    problems: list[tuple[int, int, Optional[str], str]]
    """Line and column, both from 1, the path of the key, lists counted from 0, and what is wrong.
    Empty for mistakes that have no place."""

class WrongLaw(ValueError):
    """What is wrong with a law of one's own: with a header that does not compile, what the
    compiler says."""

def build_law(
    header: "str | os.PathLike[str]",
    out: "str | os.PathLike[str] | None" = None,
    *,
    compiler: str = "cc",
) -> list[str]:
    """Compiles a header with a law into a shared object, HEADER.so here if not named, and loads
    it. Returns the names of its laws. One that is loaded already is replaced for all that is run
    from then on. docs/laws/own-law.md says what has to be in the header."""

def load_law(path: "str | os.PathLike[str]") -> list[str]:
    """Loads what build_law or `ebb law build` made. Returns the names of its laws."""

def loaded_laws() -> list[bytes]:
    """The shared objects that are loaded."""

@final
class Table:
    """Columns of equal length. Whatever speaks Arrow's C data interface reads it where it lies:
    pyarrow.table(it), polars.DataFrame(it). Units stand in the columns' names."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
    @property
    def num_rows(self) -> int:
        """Number of rows."""
    def to_arrow(self) -> Any:
        """As a pyarrow.Table; needs pyarrow."""
    def to_pandas(self) -> Any:
        """As a pandas.DataFrame; needs pandas and pyarrow."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: Optional[object] = None
    ) -> tuple[object, object]: ...

@final
class Result:
    """What the runs of a scenario gave. Each table begins with run (from 0) and seed. A value that
    is not known is null."""

    @property
    def name(self) -> str:
        """The scenario's name."""
    @property
    def seeds(self) -> list[int]:
        """Seeds of the runs, in order."""
    @property
    def flows(self) -> Table:
        """A row for each run, interval and flow: interval, from_s, to_s, flow, group, class,
        sender, receiver, start_s, completion_s, delivered_bytes, goodput_bits_per_s, sent_bytes,
        sent_pkts, retransmitted_bytes, retransmitted_pkts, timeouts, recoveries, lost_pkts,
        rtt_count, rtt_mean_ms, rtt_min_ms, rtt_median_ms, rtt_p95_ms, rtt_max_ms."""
    @property
    def links(self) -> Table:
        """A row for each run, interval and link: link, rate_bits_per_s, utilisation (a share of
        1), queue_delay_* as rtt_* of flows, max_queue_pkts, max_queue_bytes, and for each class,
        be_ and lbe_, offered_pkts, delivered_pkts, delivered_bytes, dropped_pkts, lost_pkts,
        marked_pkts, mean_queue_delay_ms."""
    @property
    def applications(self) -> Table:
        """What applications saw, a row for each run, interval, flow and measure: interval, flow,
        kind, measure, value. A measure has its unit in its name, as page_s.p95."""
    @property
    def flow_series(self) -> Table:
        """A row for each run, flow and bin: time_s (the bin's begin), flow, goodput_bits_per_s,
        cwnd_bytes, rwnd_bytes, estimate_bytes, rtt_ms, retransmitted_pkts."""
    @property
    def link_series(self) -> Table:
        """A row for each run, link and bin: time_s (the bin's begin), link, rate_bits_per_s,
        queue_pkts, queue_bytes, queue_delay_ms, dropped_pkts."""
    @property
    def events(self) -> Table:
        """What happened, in order of time: time_s, event, name. Events are "starts", "stops" and
        "is complete" of flows, "policy begins" and "policy ends" of a flow's during, "interval
        begins" and "interval ends", and "wishes change" of groups that share."""
    @property
    def packets(self) -> Optional[Table]:
        """Packets of the first run, if they were asked for, a row for each point of their way:
        time_s, point ("sent", "arrived", "lost"), flow, from ("source" of the data, or "sink"),
        size_bytes (with headers), ecn, and of TCP connection, seq, ack, payload_bytes, flags."""
    def to_json(self) -> str:
        """The bytes of the file that `ebb sim run` writes."""
    def to_iperf3(self, run: int = 0, *, interval: Optional[str] = None) -> str:
        """A run as JSON in the form of `iperf3 --json`: flows are streams, bins are intervals.

        interval: an interval of the scenario, the first if not given; `end` tells of it, and bins
            outside of it are omitted.

        What a simulator does not know is left out; docs/scenarios.md has the keys."""

def resolve(scenario: Any, changes: dict[str, Any], series: bool) -> str:
    """A scenario with these changes as JSON, everything spelt out. Without series its results have
    nothing over time."""

def run(
    scenario: str,
    jobs: Optional[int],
    packets: bool,
    seed: Optional[int] = None,
    pcapng: "str | os.PathLike[str] | None" = None,
    pcapng_at: str = "senders",
) -> Result:
    """Runs what resolve gave. With a seed there is one run. Packets of the first run are kept for
    a table, and written to the file pcapng."""
