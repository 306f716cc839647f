# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios in the simulator."""

import os
from typing import Any, Mapping, Optional, Union

from . import _native

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def simulate(
    scenario: Scenario,
    /,
    *,
    jobs: Optional[int] = None,
    packets: bool = False,
    pcapng: "Union[str, os.PathLike[str], None]" = None,
    pcapng_at: str = "senders",
    **changes: Any,
) -> _native.Result:
    """Runs a scenario in the simulator, as `ebb sim run` does, and returns what came out.

    scenario: a path, the text of a file (with line breaks), or a dictionary with the same keys;
        docs/scenarios.md has the language. Files that a text or a dictionary names are looked for
        in the working directory.
    changes: values that come before those of the scenario, as --set takes them: seed=7, runs=3,
        **{"bottleneck.queue": 500, "flow.*.tcp.ecn": True}. Text is read as TOML where it is some.
    jobs: runs at the same time; one on each core if not given.
    packets: keep every packet of the first run (result.packets); some 100 bytes each.
    pcapng: a file for the packets of the first run, which Wireshark and its like read; it is what
        --trace of the command line writes.
    pcapng_at: at which hosts they are seen: "senders", where flows come from, "receivers", or
        "both".

    The same scenario and seed give the same bytes on any machine, and those of the command line
    (result.to_json()). Other threads go on meanwhile. Ctrl-C ends it.

    Raises WrongScenario, a ValueError that names file, line and key, or of a dictionary the path
    of the key; its problems are a list of (line, column, key path, message). OSError if a file
    cannot be read or written, TypeError for a value that no scenario has.
    """
    resolved = _native.resolve(_given(scenario), changes, True)
    return _native.run(resolved, jobs, packets, None, pcapng, pcapng_at)


def _given(scenario: Scenario) -> Any:
    """Other mappings than dict are read as one."""
    return dict(scenario) if isinstance(scenario, Mapping) else scenario
