# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The simulator from Python, with nothing installed but ebb: simulating.py EBB SCENARIO STUBS."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ebb
from laws import WINDOW
from stubs import stubs_are_right

SLOW = {
    "duration": "100000s",
    "bottleneck": {"rate": "100mbit", "rtt": "10ms", "queue": 100},
    "flow": [{"name": "one"}],
}


def dictionary():
    return {
        "duration": "10s",
        "name": "given",
        "bottleneck": {"rate": "10mbit", "rtt": "50ms", "queue": 60},
        "measure": {"late": ["5s", "end"]},
        "flow": [
            {"name": "mine", "class": "lbe", "receiver": "ebb", "during": ["0s", "8s"]},
            {"name": "other", "kind": "fixed", "size": "1MB", "start": "2s"},
        ],
    }


def wrong(expected, scenario, **changes):
    try:
        ebb.simulate(scenario, **changes)
    except ebb.WrongScenario as error:
        assert isinstance(error, ValueError) and expected in str(error), error
        return error.problems
    raise AssertionError(expected)


def bytes_are_those_of_the_command_line(program, scenario):
    changes = {"flow.mine.receiver": "vulture", "flow.*.tcp.ecn": True, "bottleneck.queue": 50}
    changes["measure.late"] = ["30s", "end"]
    command = [program, "sim", "run", scenario, "--json", "--seed", "5", "--runs", "2"]
    for setting in [
        "flow.mine.receiver=vulture",
        "flow.*.tcp.ecn=true",
        "bottleneck.queue=50",
        "measure.late=['30s', 'end']",
    ]:
        command += ["--set", setting]
    expected = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    result = ebb.simulate(scenario, seed=5, runs=2, **changes)
    assert result.to_json().encode() == expected
    assert result.seeds == [5, 6]
    with open(scenario, encoding="utf-8") as file:
        again = ebb.simulate(file.read(), name=result.name, seed=5, runs=2, jobs=1, **changes)
    assert again.to_json().encode() == expected


def a_dictionary_is_a_scenario():
    result = ebb.simulate(dictionary(), packets=True)
    run = json.loads(result.to_json())["runs"][0]
    assert result.name == "given" and len(result.flows) == 2
    assert run["flows"][1]["completion_s"] < 8
    assert result.flow_series.num_rows == 2 * len(run["series"]["flows"][0]["rtt_ms"])
    assert len(result.packets) > 10_000 and ebb.simulate(dictionary()).packets is None
    assert result.events.column_names == ["run", "seed", "time_s", "event", "name"]
    # Two starts, the end of the transfer, the policy's two times, the interval's two.
    assert len(result.events) == 7


def packets_are_written_as_by_the_command_line(program, scenario):
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "theirs.pcapng", Path(folder) / "ours.pcapng"
        for where in ("senders", "receivers", "both"):
            command = [program, "sim", "run", scenario, "--trace", theirs, "--trace-at", where]
            subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=folder)
            result = ebb.simulate(scenario, pcapng=ours, pcapng_at=where)
            assert result.packets is None
            assert ours.read_bytes() == theirs.read_bytes()
        ours.unlink()
        for options, kind in [
            ({"pcapng": Path(folder) / "nowhere" / "ours.pcapng"}, FileNotFoundError),
            ({"pcapng": ours, "pcapng_at": "everywhere"}, ValueError),
        ]:
            try:
                ebb.simulate(scenario, **options)
            except kind as error:
                assert "nowhere/ours.pcapng" in str(error) or "everywhere" in str(error)
                assert not ours.exists()
                continue
            raise AssertionError(kind)


def iperf3_is_told_the_same_as_by_the_command_line(program, scenario):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "iperf3.json"
        command = [program, "sim", "run", scenario, "--iperf3", file]
        result = ebb.simulate(scenario)
        told = []
        for options, name in [([], None), (["--iperf3-interval", "together"], "together")]:
            subprocess.run(command + options, stdout=subprocess.PIPE, check=True, cwd=folder)
            told.append(result.to_iperf3(interval=name))
            assert told[-1].encode() == file.read_bytes()
        assert told[0] != told[1]
        mistaken = command + ["--iperf3-interval", "togther"]
        refused = subprocess.run(mistaken, stderr=subprocess.PIPE, cwd=folder)
        assert refused.returncode == 1 and b"did you mean `together`?" in refused.stderr


def mistakes_name_their_place(scenario):
    problems = wrong("flow[0].receiver: ", dictionary(), **{"flow.mine.receiver": "vultur"})
    assert "did you mean 'vulture'" in problems[0][3]
    mistaken = dictionary()
    mistaken["bottleneck"]["rate"] = 10
    del mistaken["flow"][1]["size"]
    problems = wrong("bottleneck.rate: ", mistaken)
    assert [problem[2] for problem in problems] == ["bottleneck.rate", "flow[1]"]
    wrong("flow.mien.start=1s: there is no flow `mien`", scenario, **{"flow.mien.start": "1s"})
    wrong(f"{scenario} (as set):", scenario, **{"bottleneck.rate": "10mbps"})
    for mistake, kind in [
        (lambda: ebb.simulate({"duration": None}), TypeError),
        (lambda: ebb.simulate(7), TypeError),
        (lambda: ebb.simulate("/no/such/file"), OSError),
        (lambda: ebb.simulate(dictionary(), jobs=0), ValueError),
    ]:
        try:
            mistake()
        except kind:
            continue
        raise AssertionError(kind)


def a_law_of_ones_own_is_built_and_built_again():
    with tempfile.TemporaryDirectory() as folder:
        header, built = os.path.join(folder, "window.h"), os.path.join(folder, "window.so")
        goodputs = []
        for window_bytes in (30_000, 60_000):
            with open(header, "w", encoding="utf-8") as file:
                file.write(WINDOW % window_bytes)
            assert ebb.build_law(header, built) == ["window"]
            changes = {"flow.mine.receiver": "window", "flow.mine.during": ["0s", "10s"]}
            own = ebb.simulate(dictionary(), **changes)
            flow = json.loads(own.to_json())["runs"][0]["flows"][0]
            goodputs.append(flow["measures"][0]["goodput_bits_per_s"])
        # As much as a round trip of 50 ms brings.
        assert 4e6 < goodputs[0] <= 4.8e6 < goodputs[1], goodputs
        assert ebb.load_law(built) == ["window"]
        try:
            ebb.build_law(header, built, compiler="/bin/false")
        except ebb.WrongLaw as error:
            assert "window.h: does not compile" in str(error)
        else:
            raise AssertionError("built")


def others_go_on_and_ctrl_c_ends_it():
    counted = 0
    # Whoever runs in the background of a script was started without it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    def count():
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0.001)

    running = True
    counter = threading.Thread(target=count)
    counter.start()
    began = time.monotonic()
    try:
        ebb.simulate(SLOW)
    except KeyboardInterrupt:
        took_s = time.monotonic() - began
    else:
        raise AssertionError("not interrupted")
    finally:
        running = False
        counter.join()
    assert took_s < 5, took_s
    assert counted > 20, counted


def without_pyarrow_it_says_what_is_missing():
    sys.modules["pyarrow"] = None
    try:
        ebb.simulate(dictionary()).flows.to_arrow()
    except ImportError as error:
        assert "ebb[research]" in str(error)
    else:
        raise AssertionError("imported")
    del sys.modules["pyarrow"]


def main():
    program, scenario, stubs = sys.argv[1:]
    stubs_are_right(stubs)
    bytes_are_those_of_the_command_line(program, scenario)
    a_dictionary_is_a_scenario()
    packets_are_written_as_by_the_command_line(program, scenario)
    iperf3_is_told_the_same_as_by_the_command_line(program, scenario)
    mistakes_name_their_place(scenario)
    a_law_of_ones_own_is_built_and_built_again()
    others_go_on_and_ctrl_c_ends_it()
    without_pyarrow_it_says_what_is_missing()
    print("all so")


main()
