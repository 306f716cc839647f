# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Files for other tools beside the tables of the same run; needs ebb[research], and iperf3."""

import json
import struct
import tempfile
from pathlib import Path

import ebb
from iperf3.iperf3 import TestResult

SCENARIO = {
    "title": "two transfers beside a stream",
    "duration": "10.05s",
    "bin": "100ms",
    "runs": 2,
    "measure": {"all": ["0s", "end"], "late": ["4s", "9s"]},
    "bottleneck": {"rate": "10mbit", "rtt": "40ms", "queue": 40, "loss": "0.5%"},
    "flow": [
        {"name": "mine", "class": "lbe", "receiver": "ebb"},
        {"name": "other", "start": "2s", "stop": "8s"},
        {"name": "stream", "kind": "udp", "rate": "1mbit"},
    ],
}
TCP = SCENARIO["flow"][:2]
UDP = SCENARIO["flow"][2:]


def blocks(content):
    """Kind and body of each block of a pcapng file."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        yield kind, content[at + 8 : at + length - 4]
        at += length
    assert at == len(content)


def each_packet_of_the_table_is_in_the_file():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "packets.pcapng"
        for where in ("senders", "receivers", "both"):
            result = ebb.simulate(SCENARIO, packets=True, pcapng=file, pcapng_at=where)
            table = result.packets.to_pandas()
            # Who captures at a host sees what it sends, and what the other one sent and reached it.
            points = table.point.map({"sent": 0, "arrived": 1})
            ends = table["from"].map({"source": 0, "sink": 1})
            seen_at = (points + ends) % 2
            hosts = {"senders": [0], "receivers": [1], "both": [0, 1]}[where]
            expected = table[seen_at.isin(hosts)]
            kinds = list(blocks(file.read_bytes()))
            assert kinds[0][0] == 0x0A0D0D0A
            packets = [struct.unpack_from("<IIIII", body) for kind, body in kinds if kind == 6]
            assert len(packets) == len(expected) > 5_000
            times = [(high << 32 | low) / 1e9 for _, high, low, _, _ in packets]
            assert times == list(expected.time_s)
            assert [length for *_, length in packets] == list(expected.size_bytes)


def intervals_are_the_bins_of_the_series(told, result, run, counted):
    series = result.flow_series.to_pandas()
    series = series[series.run == run]
    flows = [it["flow"] for it in told["start"]["connected"]]
    assert len(told["intervals"]) == 101
    for bin_, (time_s, rows) in zip(told["intervals"], series.groupby("time_s")):
        rows = rows.set_index("flow")
        total = bin_["sum"]
        assert total["start"] == bin_["streams"][0]["start"]
        assert abs(total["start"] - time_s) < 1e-9 and total["end"] <= 10.05
        is_within = counted[0] <= total["start"] and total["end"] <= counted[1]
        assert total["omitted"] != is_within
        for flow, stream in zip(flows, bin_["streams"]):
            row = rows.loc[flow]
            assert stream["bits_per_second"] == row.goodput_bits_per_s
            assert abs(stream["bytes"] - row.goodput_bits_per_s * stream["seconds"] / 8) < 1e-3
            for key, column, scale in [
                ("snd_cwnd", "cwnd_bytes", 1),
                ("snd_wnd", "rwnd_bytes", 1),
                ("rtt", "rtt_ms", 1000),
                ("retransmits", "retransmitted_pkts", 1),
            ]:
                if row[column] != row[column]:
                    assert key not in stream, key
                else:
                    assert abs(stream[key] - row[column] * scale) < 0.51, key
        assert total["bytes"] == sum(it["bytes"] for it in bin_["streams"])
        assert abs(total["bits_per_second"] - rows.goodput_bits_per_s.sum()) < 1e-3


def its_end_is_the_table_of_flows(told, result, run, name):
    flows = result.flows.to_pandas()
    flows = flows[(flows.run == run) & (flows.interval == name)].reset_index()
    end = told["end"]
    assert len(end["streams"]) == len(flows) == 3
    for stream, row in zip(end["streams"], flows.itertuples()):
        sent = stream.get("sender") or stream["udp"]
        assert sent["bytes"] == row.sent_bytes - row.retransmitted_bytes > 0
        assert (sent["start"], sent["end"]) == (row.from_s, row.to_s)
        if "udp" in stream:
            assert sent["packets"] == row.sent_pkts > sent["lost_packets"] > 0
            continue
        assert sent["retransmits"] == row.retransmitted_pkts
        for key, value in [("min_rtt", row.rtt_min_ms), ("mean_rtt", row.rtt_mean_ms)]:
            assert abs(sent[key] - value * 1000) < 0.51, key
        received = stream["receiver"]
        assert received["bytes"] == row.delivered_bytes
        assert received["bits_per_second"] == row.goodput_bits_per_s
    assert end["sum_sent"]["bytes"] == (flows.sent_bytes - flows.retransmitted_bytes).sum()
    assert end["sum_sent"]["retransmits"] == flows.retransmitted_pkts.sum() > 0
    assert end["sum_received"]["bytes"] == flows.delivered_bytes.sum()
    goodput = flows.goodput_bits_per_s.sum()
    assert abs(end["sum_received"]["bits_per_second"] - goodput) < 1e-3
    # What counts are whole bins here: they add up, one run's and no other's.
    counted = [it["sum"] for it in told["intervals"] if not it["sum"]["omitted"]]
    assert sum(it["bytes"] for it in counted) == end["sum_received"]["bytes"]
    assert sum(it["retransmits"] for it in counted) == end["sum_sent"]["retransmits"]
    mine = [it["streams"][0] for it in told["intervals"] if not it["sum"]["omitted"]]
    windows = [it["snd_cwnd"] for it in mine if "snd_cwnd" in it]
    assert end["streams"][0]["sender"]["max_snd_cwnd"] == max(windows)


def iperf3_is_told_what_the_tables_say():
    result = ebb.simulate(SCENARIO)
    for run in (0, 1):
        for name, counted in [("all", (0, 10.05)), ("late", (4, 9))]:
            told = json.loads(result.to_iperf3(run, interval=name))
            assert told["title"] == SCENARIO["title"]
            start = told["start"]["test_start"]
            # Not all of its streams are of one protocol.
            assert "protocol" not in start and start["num_streams"] == 3
            assert (start["omit"], start["interval"]) == (counted[0], 0.1)
            assert abs(start["duration"] - (counted[1] - counted[0])) < 1e-9
            intervals_are_the_bins_of_the_series(told, result, run, counted)
            its_end_is_the_table_of_flows(told, result, run, name)
    assert result.to_iperf3() == result.to_iperf3(0, interval="all")
    assert result.to_iperf3(0) != result.to_iperf3(1)
    for mistake, kind, hint in [
        (lambda: result.to_iperf3(2), IndexError, "there are 2"),
        (lambda: result.to_iperf3(interval="lat"), ValueError, "did you mean `late`?"),
    ]:
        try:
            mistake()
        except kind as error:
            assert hint in str(error), error
            continue
        raise AssertionError(kind)


def each_protocol_has_its_own_keys():
    alone = {**SCENARIO, "flow": TCP, "runs": 1}
    told = json.loads(ebb.simulate(alone).to_iperf3())
    assert told["start"]["test_start"]["protocol"] == "TCP"
    assert told["end"]["sender_tcp_congestion"] == "cubic" and "sum" not in told["end"]
    alone = {**SCENARIO, "flow": UDP, "runs": 1}
    told = json.loads(ebb.simulate(alone).to_iperf3())
    assert told["start"]["test_start"]["protocol"] == "UDP"
    total = told["end"]["sum"]
    udp = told["end"]["streams"][0]["udp"]
    for key in ("bytes", "packets", "lost_packets", "lost_percent"):
        assert total[key] == udp[key], key
    assert total["lost_percent"] == 100 * total["lost_packets"] / total["packets"]
    assert "retransmits" not in told["intervals"][0]["sum"]
    # Nobody wants to see its flows over time.
    still = {**alone, "flow_series": False}
    assert json.loads(ebb.simulate(still).to_iperf3())["intervals"] == []


def who_reads_iperf3_reads_ours():
    result = ebb.simulate({**SCENARIO, "flow": TCP, "runs": 1})
    read = TestResult(result.to_iperf3(interval="late"))
    flows = result.flows.to_pandas()
    flows = flows[flows.interval == "late"]
    assert read.error is None and read.protocol == "TCP" and not read.reverse
    assert (read.num_streams, read.omit, read.duration) == (2, 4, 5)
    assert (read.local_host, read.remote_host) == ("left", "right")
    assert read.received_bytes == flows.delivered_bytes.sum()
    assert abs(read.received_Mbps - flows.goodput_bits_per_s.sum() / 1e6) < 1e-6
    assert read.retransmits == flows.retransmitted_pkts.sum()


def main():
    each_packet_of_the_table_is_in_the_file()
    iperf3_is_told_what_the_tables_say()
    each_protocol_has_its_own_keys()
    who_reads_iperf3_reads_ours()
    print("all so")


main()
