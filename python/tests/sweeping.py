# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps, on every engine; needs what ebb[research] and ebb[cluster] install."""

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import ebb
from ebb import _engine
from laws import WINDOW

SCENARIO = {
    "duration": "5s",
    "bottleneck": {"rate": "10mbit", "rtt": "20ms", "queue": 40, "loss": "0.1%"},
    "flow": [{"name": "mine", "class": "lbe", "receiver": "ebb"}, {"name": "other"}],
}
OVER = {
    "bottleneck.queue": [20, 40],
    "flow.*.start": ["0s", "1s"],
    "flow.mine.receiver": ["ebb:low_us=2000", "vulture"],
}
SEEDS = 3
RUNS = 2 * 2 * 2 * SEEDS


def files(folder):
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    digest = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    return {str(path.relative_to(folder)): digest[path] for path in paths}


def every_engine_gives_the_same_bytes(place):
    from distributed import Client, LocalCluster

    swept = ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=2, out=place / "processes")
    assert swept.ran == RUNS
    expected = files(swept.folder)
    assert len(expected) == 8 * 3 and not (swept.folder / "unfinished").exists()
    with ThreadPoolExecutor(2) as threads:
        ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=threads, out=place / "threads")
    assert files(place / "threads") == expected
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=client, out=place / "dask")
    assert files(place / "dask") == expected
    return swept, expected


def tables_have_the_parameters_and_what_simulate_gives(swept):
    frame = swept.to_pandas()
    assert len(frame) == RUNS * 2
    own = frame[(frame["bottleneck.queue"] == 40) & (frame["flow.*.start"] == "1s")]
    own = own[(own["flow.mine.receiver"] == "vulture") & (own.seed == 2)]
    changes = {"bottleneck.queue": 40, "flow.*.start": "1s", "flow.mine.receiver": "vulture"}
    alone = ebb.simulate(SCENARIO, seed=2, **changes).flows.to_pandas()
    for column in ("goodput_bits_per_s", "retransmitted_bytes", "rtt_p95_ms"):
        assert list(own[column]) == list(alone[column]), column
    assert set(frame["flow.mine.receiver"]) == set(OVER["flow.mine.receiver"])


def what_is_done_is_not_run_again(place, swept, expected):
    told = []
    again = ebb.sweep(
        SCENARIO, OVER, seeds=SEEDS, out=swept.folder, progress=lambda *it: told.append(it)
    )
    assert (again.ran, told) == (0, [(RUNS, RUNS)])
    more = ebb.sweep(SCENARIO, OVER, seeds=SEEDS + 1, executor=2, out=swept.folder)
    assert more.ran == RUNS // SEEDS
    ebb.sweep(SCENARIO, OVER, seeds=SEEDS + 1, executor=2, out=place / "more")
    assert files(swept.folder) == files(place / "more") != expected


def runs_kept(folder):
    finished = len(list(folder.glob("flows/**/*.parquet")))
    return SEEDS * finished + len(list(folder.glob("unfinished/*.flows")))


def who_is_killed_in_the_middle_goes_on_later(place, expected):
    folder = place / "killed"
    # The process that asks for the runs is killed with all of its own, as a machine that goes down.
    command = [sys.executable, __file__, "--sweep", str(folder)]
    victim = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while runs_kept(folder) < 5:
        assert time.monotonic() < deadline and victim.poll() is None
        time.sleep(0.002)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    swept = ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=2, out=folder)
    assert 0 < swept.ran <= RUNS - 4, swept.ran
    assert files(folder) == expected


def a_killed_worker_loses_no_run(place, expected):
    killed = []

    def kill_one(done, _):
        if done == 4 and not killed:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=2, out=place / "worker", progress=kill_one)
    assert killed and files(place / "worker") == expected


class Deadly:
    """Ends the process that it reaches."""

    def __reduce__(self):
        return os._exit, (1,)


def what_fails_is_told_and_not_tried_for_ever():
    for scenario, kind in [("no scenario", ValueError), (Deadly(), BrokenExecutor)]:
        try:
            list(_engine.each([_engine.Run("key", scenario, 1)], 1))
        except kind:
            continue
        raise AssertionError(kind)


def workers_have_the_law_of_who_asks(place):
    with tempfile.NamedTemporaryFile("w", suffix=".h") as header:
        for bytes_, ran in [(20_000, 2), (20_000, 0), (40_000, 2)]:
            header.seek(0)
            header.write(WINDOW % bytes_)
            header.truncate()
            header.flush()
            assert ebb.build_law(header.name, place / "window.so") == ["window"]
            law = {"flow.mine.receiver": "window"}
            swept = ebb.sweep(SCENARIO, {}, seeds=2, executor=1, out=place / "law", **law)
            assert swept.ran == ran
            own = swept.to_pandas()
            alone = ebb.simulate(SCENARIO, seed=2, **law).flows.to_pandas()
            goodput = own[own.seed == 2].goodput_bits_per_s
            assert list(goodput) == list(alone.goodput_bits_per_s)


def mistakes_come_before_the_first_run(place):
    law = "flow.mine.receiver"
    for kind, over, options in [
        (ebb.WrongScenario, {law: ["ebb", "vultur"]}, {}),
        (TypeError, {"bottleneck.queue": "40"}, {}),
        (ValueError, {"bottleneck.queue": [40, 40]}, {}),
        (ValueError, OVER, {"seeds": 0}),
        (TypeError, OVER, {"executor": "two"}),
    ]:
        try:
            ebb.sweep(SCENARIO, over, out=place / "mistaken", **options)
        except kind:
            assert not files(place / "mistaken")
            continue
        raise AssertionError(kind)


def main():
    if sys.argv[1:2] == ["--sweep"]:
        ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=2, out=sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        swept, expected = every_engine_gives_the_same_bytes(place)
        tables_have_the_parameters_and_what_simulate_gives(swept)
        what_is_done_is_not_run_again(place, swept, expected)
        who_is_killed_in_the_middle_goes_on_later(place, expected)
        a_killed_worker_loses_no_run(place, expected)
        what_fails_is_told_and_not_tried_for_ever()
        mistakes_come_before_the_first_run(place)
        workers_have_the_law_of_who_asks(place)
    print("all so")


if __name__ == "__main__":
    main()
