# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What of a sweep is done: a file of Parquet for each combination and table, and until all its
runs are done, a file for each run."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence
from urllib.parse import quote

from . import _native
from ._engine import Run, Tables

# The last one is written last: who has it has all.
TABLES = ("applications", "links", "flows")
FILE = "part-0.parquet"
RUNS = b"ebb.runs"


class Combination:
    """A scenario with one value for each parameter, and its runs."""

    def __init__(self, parameters: Mapping[str, Any], scenario: str, seeds: Sequence[int]) -> None:
        # As Hive has it: readers make columns of these names.
        parts = [f"{_quoted(it)}={_quoted(_text(value))}" for it, value in parameters.items()]
        self.path = Path(*parts)
        key = hashlib.sha256(f"{_build()}\n{self.path}\n{scenario}".encode())
        for law in _native.loaded_laws():
            key.update(law)
        self.runs = []
        for seed in seeds:
            own = key.copy()
            own.update(f"\n{seed}".encode())
            self.runs.append(Run(own.hexdigest()[:32], scenario, seed))


class Kept:
    """The folder of a sweep."""

    def __init__(self, folder: Path) -> None:
        import pyarrow.compute
        import pyarrow.parquet

        self._arrow = pyarrow
        self._folder = folder
        self._journal = folder / "unfinished"
        self._of: Dict[str, Combination] = {}
        self._left: Dict[Path, set] = {}

    def __enter__(self) -> "Kept":
        self._journal.mkdir(parents=True, exist_ok=True)
        _clear(self._journal.iterdir())
        return self

    def __exit__(self, *_: Any) -> None:
        # It stays if anything is left in it.
        try:
            self._journal.rmdir()
        except OSError:
            pass

    def missing(self, combination: Combination) -> List[Run]:
        """The runs that nobody has made. A combination without any is finished by this."""
        known = self._finished(combination)
        if [run.key for run in combination.runs] == list(known):
            self._forget(combination)
            return []
        missing = [it for it in combination.runs if it.key not in known and not self._has(it.key)]
        self._left[combination.path] = {run.key for run in missing}
        self._of.update({run.key: combination for run in missing})
        if not missing:
            self._finish(combination)
        return missing

    def add(self, run: Run, tables: Tables) -> None:
        """Keeps a run, and finishes its combination with the last one."""
        combination = self._of[run.key]
        for name in TABLES:
            _write(self._journal / f"{run.key}.{name}", tables[name])
        left = self._left[combination.path]
        left.discard(run.key)
        if not left:
            self._finish(combination)

    def _has(self, key: str) -> bool:
        return (self._journal / f"{key}.{TABLES[-1]}").exists()

    def _file(self, table: str, combination: Combination) -> Path:
        return self._folder / table / combination.path / FILE

    def _finished(self, combination: Combination) -> Dict[str, int]:
        """Keys and seeds of the runs in the combination's files, in order."""
        path = self._file(TABLES[-1], combination)
        if not path.exists():
            return {}
        metadata = self._arrow.parquet.read_schema(path).metadata or {}
        return json.loads(metadata.get(RUNS, b"{}"))

    def _finish(self, combination: Combination) -> None:
        finished = self._finished(combination)
        runs = json.dumps({run.key: run.seed for run in combination.runs}).encode()
        for name in TABLES:
            path = self._file(name, combination)
            before = self._arrow.parquet.ParquetFile(path).read() if finished else None
            tables = [self._table(run, name, finished, before) for run in combination.runs]
            table = self._arrow.concat_tables(tables).combine_chunks()
            table = table.replace_schema_metadata({RUNS: runs})
            sink = self._arrow.BufferOutputStream()
            self._arrow.parquet.write_table(table, sink)
            path.parent.mkdir(parents=True, exist_ok=True)
            _clear(path.parent.iterdir())
            _write(path, sink.getvalue())
        self._forget(combination)

    def _forget(self, combination: Combination) -> None:
        """Its files have the runs. Whoever was killed before this has left it to the next one."""
        for run in combination.runs:
            for name in TABLES:
                (self._journal / f"{run.key}.{name}").unlink(missing_ok=True)

    def _table(self, run: Run, name: str, finished: Mapping[str, int], before: Any) -> Any:
        if run.key not in finished:
            with self._arrow.OSFile(str(self._journal / f"{run.key}.{name}")) as file:
                return self._arrow.ipc.open_stream(file).read_all()
        seed = self._arrow.scalar(run.seed, self._arrow.uint64())
        return before.filter(self._arrow.compute.equal(before["seed"], seed))


def _write(path: Path, content: Any) -> None:
    """All of it, or when this is broken off, nothing."""
    unfinished = path.with_name(f"{path.name}{_WRITER}{os.getpid()}")
    with open(unfinished, "wb") as file:
        file.write(content)
    os.replace(unfinished, path)


# Others may write the same file at the same time, on other machines, too.
_WRITER = f".{os.uname().nodename}-"


def _clear(paths: Iterable[Path]) -> None:
    """Takes away what a process of this machine was writing when it was killed."""
    for path in paths:
        _, _, process = path.name.partition(_WRITER)
        if process.isdigit() and not os.path.exists(f"/proc/{process}"):
            path.unlink(missing_ok=True)


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _text(value: Any) -> str:
    """As a column shows it: true as TOML has it."""
    return json.dumps(value) if isinstance(value, (bool, dict, list)) else str(value)


_BUILDS: Dict[str, str] = {}


def _build() -> str:
    """Laws and simulator change without a new version: the bytes do not lie."""
    path = _native.__file__
    if path not in _BUILDS:
        with open(path, "rb") as file:
            _BUILDS[path] = hashlib.sha256(file.read()).hexdigest()
    return _BUILDS[path]
