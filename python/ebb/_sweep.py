# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Many runs of a scenario, over processes or a cluster, kept as they are done."""

import itertools
import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import _native
from ._engine import each
from ._kept import FILE, TABLES, Combination, Kept
from ._research import Scenario, _given

Seeds = Union[int, Iterable[int]]
Progress = Callable[[int, int], None]


class Sweep:
    """A sweep that is done: a folder of Parquet for each table, partitioned by parameter.

    A parameter is a column of each table, beside those of simulate's tables and seed; there is no
    column run.
    """

    def __init__(self, folder: Path, parts: Sequence[Path], ran: int) -> None:
        self.folder = folder
        self.ran = ran
        """Runs that were made now, and were not known before."""
        self._parts = parts

    @property
    def flows(self) -> Any:
        """Flows, by run and interval, as a pyarrow.dataset.Dataset."""
        return self._dataset("flows")

    @property
    def links(self) -> Any:
        """Links, by run and interval, as a pyarrow.dataset.Dataset."""
        return self._dataset("links")

    @property
    def applications(self) -> Any:
        """What applications saw, as a pyarrow.dataset.Dataset."""
        return self._dataset("applications")

    def to_pandas(self, table: str = "flows") -> Any:
        """A table as a pandas.DataFrame: "flows", "links" or "applications"."""
        if table not in TABLES:
            raise ValueError(f"there is no table {table!r}; there are: {', '.join(TABLES)}")
        return self._dataset(table).to_table().to_pandas()

    def _dataset(self, table: str) -> Any:
        from pyarrow import dataset

        # Another sweep's may be in the folder, too.
        files = [str(self.folder / table / part / FILE) for part in self._parts]
        return dataset.dataset(files, partitioning="hive")

    def __repr__(self) -> str:
        return f"<ebb.Sweep in {self.folder}>"


def sweep(
    scenario: Scenario,
    over: Mapping[str, Sequence[Any]],
    /,
    *,
    seeds: Seeds = 1,
    executor: Any = None,
    out: Union[str, "os.PathLike[str]"] = "sweep",
    progress: Optional[Progress] = None,
    **changes: Any,
) -> Sweep:
    """Runs a scenario with every combination of values, each with every seed.

    scenario, changes: as for simulate.
    over: keys, as of changes, and the values of each; the last key changes fastest.
    seeds: so many, from 1 on, or the seeds themselves.
    executor: None: a process on each core; a number: so many processes; an Executor of
        concurrent.futures; or a client of dask.distributed, whose workers have this package, too.
    out: the folder of the results, written as they come. What is there already, of the same
        scenario, seed and build of ebb, is not run again.
    progress: told how many runs are done, and of how many; by default a terminal is.

    Whoever runs it, the files are the same, byte for byte. Runs of a worker that is killed are
    made by another one.

    Raises what simulate raises, before the first run if the scenario is wrong; ImportError
    without pyarrow.
    """
    folder = Path(out)
    tell = progress or _line
    combinations = _combinations(scenario, over, changes, list(_seeds(seeds)))
    with Kept(folder) as kept:
        missing = {run.key: run for it in combinations for run in kept.missing(it)}
        total = sum(len(it.runs) for it in combinations)
        done = total - len(missing)
        tell(done, total)
        for key, tables in each(list(missing.values()), executor):
            kept.add(missing[key], tables)
            done += 1
            tell(done, total)
    return Sweep(folder, [it.path for it in combinations], len(missing))


def _combinations(
    scenario: Scenario,
    over: Mapping[str, Sequence[Any]],
    changes: Mapping[str, Any],
    seeds: Sequence[int],
) -> "list[Combination]":
    given = _given(scenario)
    for key, values in over.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(f"{key}: a list of values is needed, not {values!r}")
    combinations = []
    for values in itertools.product(*over.values()):
        parameters = dict(zip(over, values))
        resolved = _native.resolve(given, {**changes, **parameters}, False)
        combinations.append(Combination(parameters, resolved, seeds))
    if len({it.path for it in combinations}) < len(combinations):
        raise ValueError("a value is there twice: each combination is run with every seed once")
    return combinations


def _seeds(seeds: Seeds) -> Iterable[int]:
    if not isinstance(seeds, int):
        return dict.fromkeys(seeds)
    if seeds < 1:
        raise ValueError(f"seeds: {seeds} would be no run; give 1 or more")
    return range(1, seeds + 1)


def _line(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rebb: {done} of {total} runs", end=end, file=sys.stderr, flush=True)

