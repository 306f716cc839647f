# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sweeps, on every engine; needs what ebb[research] and ebb[cluster] install."""

import hashlib
import json
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
import pyarrow.parquet
from ebb import _engine, _kept
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


def what_a_killed_process_left_is_taken_away(swept, expected):
    """At whatever point it was killed: while it wrote a file, or before it took away others."""
    file = next(swept.folder.glob("flows/**/part-0.parquet"))
    runs = json.loads(pyarrow.parquet.read_schema(file).metadata[_kept.RUNS])
    journal = swept.folder / "unfinished"
    journal.mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    for run in runs:
        (journal / f"{run}.flows").write_bytes(b"kept, and in the file")
    part = f"{_kept._WRITER}{dead.pid}"
    (journal / f"other.flows{part}").write_bytes(b"a part")
    again = ebb.sweep(SCENARIO, OVER, seeds=SEEDS, out=swept.folder)
    assert again.ran == 0 and files(swept.folder) == expected and not journal.exists()
    file.with_name(f"{file.name}{part}").write_bytes(b"a part")
    file.unlink()
    again = ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=1, out=swept.folder)
    assert again.ran == SEEDS and files(swept.folder) == expected


def a_killed_worker_loses_no_run(place, expected):
    killed = []

    def kill_one(done, _):
        if done == 4 and not killed:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    ebb.sweep(SCENARIO, OVER, seeds=SEEDS, executor=2, out=place / "worker", progress=kill_one)
    assert killed and files(place / "worker") == expected


def a_killed_worker_of_a_cluster_loses_no_run(place):
    """One that its nanny starts again, and one that nobody does, as of a machine that is gone."""
    from distributed import Client, LocalCluster

    # Long enough for the worker to be in the middle of one.
    over, longer = {"bottleneck.queue": [20, 40]}, {"duration": "120s"}
    alone = ebb.sweep(SCENARIO, over, seeds=SEEDS * 2, executor=1, out=place / "alone", **longer)
    assert alone.ran == SEEDS * 4
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            log = place / "lone.log"
            lone = lone_worker(cluster.scheduler_address, log)
            client.wait_for_workers(3, timeout=60)
            nursed = {it.worker_address: it.pid for it in cluster.workers.values()}
            [alien] = set(client.scheduler_info(n_workers=-1)["workers"]) - set(nursed)
            nursed_address, nursed_pid = next(iter(nursed.items()))
            victims = {1: (nursed_address, nursed_pid), 4: (alien, lone.pid)}
            was_busy = []

            def kill(done, _):
                if done in victims:
                    address, pid = victims.pop(done)
                    busy = client.processing()
                    assert address in busy, (address, busy, log.read_text())
                    was_busy.append(len(busy[address]) > 0)
                    os.kill(pid, signal.SIGKILL)

            swept = ebb.sweep(
                SCENARIO, over, seeds=SEEDS * 2, executor=client, out=place / "cluster",
                progress=kill, **longer,
            )
            assert lone.wait(10) == -signal.SIGKILL
            assert nursed_pid not in {it.pid for it in cluster.workers.values()}
    assert was_busy == [True, True], was_busy
    assert swept.ran == SEEDS * 4
    assert files(swept.folder) == files(alone.folder)
    assert not (swept.folder / "unfinished").exists()


def lone_worker(scheduler, log):
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler]
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with open(log, "wb") as file:
        # What lies in the working directory would come before the package under test.
        return subprocess.Popen(command + options, stderr=file, cwd=log.parent)


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
        what_a_killed_process_left_is_taken_away(swept, expected)
        what_is_done_is_not_run_again(place, swept, expected)
        who_is_killed_in_the_middle_goes_on_later(place, expected)
        a_killed_worker_loses_no_run(place, expected)
        a_killed_worker_of_a_cluster_loses_no_run(place)
        what_fails_is_told_and_not_tried_for_ever()
        mistakes_come_before_the_first_run(place)
        workers_have_the_law_of_who_asks(place)
    print("all so")


if __name__ == "__main__":
    main()
