# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an engine of a sweep costs: sweep.py RUNS DURATION FOLDER. scripts/measure-sweep runs it."""

import hashlib
import os
import sys
import time
from pathlib import Path

import ebb
from ebb import _native

SCENARIO = {
    "bottleneck": {"rate": "10mbit", "rtt": "20ms", "queue": 40},
    "flow": [{"name": "mine", "class": "lbe", "receiver": "ebb"}, {"name": "other"}],
}
QUEUES = [10, 15, 20, 25, 30, 40, 50, 60, 80, 100]
CORES = len(os.sched_getaffinity(0))


def main():
    runs, folder = int(sys.argv[1]), Path(sys.argv[3])
    SCENARIO["duration"] = sys.argv[2]
    if runs < len(QUEUES) or runs % len(QUEUES):
        sys.exit(f"sweep.py: {runs} runs: give a multiple of {len(QUEUES)}")
    busy = os.getloadavg()[0]
    print(f"{runs} runs of {SCENARIO['duration']}, {CORES} cores, load {busy:.1f} before")
    print(f"a run: {simulated_ms():.2f} ms in the simulator alone")
    print("engine               seconds  runs/s  here, s  each worker")
    digests = {
        "1 process": on_processes(runs, folder / "one", 1),
        f"{CORES} processes": on_processes(runs, folder / "all", CORES),
        f"LocalCluster of {CORES}": on_dask(runs, folder / "dask"),
    }
    if len(set(digests.values())) > 1:
        sys.exit(f"sweep.py: not the same files: {digests}")
    print("all files are the same, byte for byte")


def simulated_ms():
    """The mean over all queues, here, with nothing between."""
    scenarios = [_native.resolve(SCENARIO, {"bottleneck.queue": it}, False) for it in QUEUES]
    began = time.perf_counter()
    for seed in range(20):
        for scenario in scenarios:
            _native.run(scenario, 1, False, seed)
    return (time.perf_counter() - began) * 1000 / (20 * len(QUEUES))


def on_processes(runs, out, count):
    def children():
        # The tracker of resources is one, too, and is no worker.
        known = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return [it for it in known if b"spawn_main" in Path(f"/proc/{it}/cmdline").read_bytes()]

    return measured(f"{count} process{'es' if count > 1 else ''}", runs, out, count, children)


def on_dask(runs, out):
    from distributed import Client, LocalCluster

    began = time.perf_counter()
    options = {"n_workers": CORES, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        started = time.perf_counter() - began

        def workers():
            return [it.pid for it in cluster.workers.values()]

        idle = [memory_mb(it) for it in workers()]
        digest = measured(f"LocalCluster of {CORES}", runs, out, client, workers)
        began = time.perf_counter()
        cluster.scale(CORES + 1)
        client.wait_for_workers(CORES + 1)
        another = time.perf_counter() - began
    print(f"  cluster: {started:.1f} s to start, {another:.1f} s for one more worker; "
          f"a worker without work: {told(idle)}")
    return digest


def measured(name, runs, out, executor, workers):
    """Makes the sweep; prints what it took, and what its workers had at the end of it."""
    seen = []
    first = []

    def look(done, total):
        if done and not first:
            first.append(time.perf_counter())
        # The last ones are given out, and nobody has gone yet.
        if done == total - len(QUEUES):
            seen.extend(memory_mb(it) for it in workers())

    began, cpu = time.perf_counter(), time.process_time()
    over = {"bottleneck.queue": QUEUES}
    swept = ebb.sweep(
        SCENARIO, over, seeds=runs // len(QUEUES), executor=executor, out=out, progress=look
    )
    took, here = time.perf_counter() - began, time.process_time() - cpu
    assert swept.ran == runs and seen
    print(f"{name:20} {took:7.1f} {runs / took:7.0f} {here:8.1f}  {told(seen)}; "
          f"first run after {first[0] - began:.1f} s")
    return digest_of(out)


def memory_mb(process):
    """What it has, and what of that nobody shares: resident and private."""
    kib = {"Rss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in kib:
            kib[key] = int(value.split()[0])
    return kib["Rss"] / 1024, (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024


def told(memories):
    resident, private = (sum(it) / len(memories) for it in zip(*memories))
    return f"{resident:.0f} MiB, {private:.0f} of it its own"


def digest_of(folder):
    files = sorted(it for it in folder.rglob("*") if it.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(folder)).encode() + b"\n" + file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
