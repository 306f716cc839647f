# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One socket in the background, and the simulator for research.

background, foreground, state: a socket gets the bandwidth that nobody else wants, and all of it
when nobody does (docs/library.md).

simulate, sweep: run a scenario once or many times, for pandas and its like (docs/python.md).
build_law, load_law: put a law of one's own into it (docs/laws/own-law.md).
"""

from ._native import (
    Error,
    Flow,
    Result,
    State,
    Table,
    WrongLaw,
    WrongScenario,
    __version__,
    background,
    background_all,
    build_law,
    foreground,
    foreground_all,
    load_law,
    state,
)
from ._research import simulate
from ._sweep import Sweep, sweep

__all__ = [
    "Error",
    "Flow",
    "Result",
    "State",
    "Sweep",
    "Table",
    "WrongLaw",
    "WrongScenario",
    "__version__",
    "background",
    "background_all",
    "build_law",
    "foreground",
    "foreground_all",
    "load_law",
    "simulate",
    "state",
    "sweep",
]
