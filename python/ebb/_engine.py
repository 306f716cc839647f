# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Who makes the runs of a sweep: processes here, or whatever has the interface of an executor."""

import multiprocessing
import os
import queue
import tempfile
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from . import _native

Tables = Dict[str, bytes]

# So many runs are handed out at a time: enough for a large cluster, and little to keep.
OUTSTANDING = 2000
# A run that kills its process so often, without any other getting done, is not tried again.
ATTEMPTS = 3


class Run(NamedTuple):
    """One run, with all that it depends on."""

    key: str
    scenario: str
    seed: int


def make(scenario: str, seed: int, version: str, laws: Sequence[bytes]) -> Tables:
    """Makes a run, in whatever process: its tables, each as a stream of Arrow."""
    import pyarrow

    if _native.__version__ != version:
        raise RuntimeError(
            f"this worker has ebb {_native.__version__}, not {version} as who asks: take the same"
        )
    _load(laws)
    result = _native.run(scenario, 1, False, seed)
    tables = {}
    for name in ("flows", "links", "applications"):
        table = getattr(result, name).to_arrow().drop_columns(["run"])
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        tables[name] = sink.getvalue().to_pybytes()
    return tables


def _load(laws: Sequence[bytes]) -> None:
    """Those of the process that asks, where this one has others."""
    if list(laws) == _native.loaded_laws():
        return
    for law in laws:
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(law)
            file.flush()
            _native.load_law(file.name)


def each(runs: List[Run], executor: Any) -> Iterator[Tuple[str, Tables]]:
    """Makes all runs; yields them as they are done, by their keys."""
    if not runs:
        return iter(())
    if executor is None or isinstance(executor, int):
        return _on_processes(runs, executor)
    if isinstance(executor, Executor):
        return _on(executor, runs)
    if hasattr(executor, "get_executor"):
        return _on(executor.get_executor(), runs)
    raise TypeError(
        f"executor: {executor!r} is none; give a number of processes, an Executor of "
        "concurrent.futures, or a client of dask.distributed"
    )


def _on_processes(runs: List[Run], count: Any) -> Iterator[Tuple[str, Tables]]:
    """A pool with a process that was killed is broken: the next one makes what is left."""
    count = count or len(os.sched_getaffinity(0))
    # Nobody knows what threads the caller has: forking them would be a gamble.
    context = multiprocessing.get_context("spawn")
    left = {run.key: run for run in runs}
    attempts = 0
    while left:
        pool = ProcessPoolExecutor(min(count, len(left)), mp_context=context)
        try:
            for key, tables in _on(pool, list(left.values())):
                del left[key]
                attempts = 0
                yield key, tables
        except BrokenExecutor:
            attempts += 1
            if attempts == ATTEMPTS:
                raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _on(executor: Executor, runs: List[Run]) -> Iterator[Tuple[str, Tables]]:
    done: "queue.SimpleQueue[Future[Tables]]" = queue.SimpleQueue()
    keys: Dict[Any, str] = {}
    waiting = iter(runs)
    laws = _native.loaded_laws()
    try:
        while True:
            for run in waiting:
                future = executor.submit(make, run.scenario, run.seed, _native.__version__, laws)
                keys[future] = run.key
                future.add_done_callback(done.put)
                if len(keys) >= OUTSTANDING:
                    break
            if not keys:
                return
            future = done.get()
            yield keys.pop(future), future.result()
    finally:
        for future in keys:
            future.cancel()
