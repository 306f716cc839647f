# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the module does, and that its stubs say so. Both ends are on this machine, at addresses that
are not of the loopback device."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
import threading
import time

import ebb
from stubs import stubs_are_right

SERVER, CLIENT = "10.9.0.1", "10.9.0.2"
# The first window is of ten segments; by itself the kernel sets no less than 30 kB.
LIMITED_BYTES = 20_000
TCP_WINDOW_CLAMP = 10


def is_limited(own):
    return own.getsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP) < LIMITED_BYTES


def becomes_limited(own):
    deadline = time.monotonic() + 15
    while not is_limited(own):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def refused(number, word, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ebb.Error as error:
        assert error.args[0] == number and word in error.args[1], error
    else:
        raise AssertionError(call)


def pair(listener):
    own = socket.create_connection(listener.getsockname(), source_address=(CLIENT, 0))
    other, _ = listener.accept()
    other.sendall(bytes(1000))
    own.recv(1000, socket.MSG_PEEK | socket.MSG_WAITALL)
    return own, other


def there_and_back(own):
    assert ebb.state(own).standing == "foreground"
    ebb.background(own)
    becomes_limited(own)
    state = ebb.state(own.fileno())
    assert state.standing == "background"
    assert (state.download.law, state.upload.law) == ("sampled", "paced")
    assert 0 < state.download.window_bytes < LIMITED_BYTES
    ebb.foreground(own)
    assert not is_limited(own) and ebb.state(own).download is None
    ebb.background(own, upload="none", download="sampled:target_us=9000", keep_code_point=True)
    # One segment in a round trip is more.
    ebb.background(own, upload="none", minimum="8kbit")
    becomes_limited(own)
    assert ebb.state(own).upload is None
    ebb.foreground_all()
    assert not is_limited(own)
    ebb.background_all(minimum="8kbit")
    becomes_limited(own)
    ebb.foreground(own)
    assert not is_limited(own)
    ebb.foreground_all()


def fork(own):
    ebb.background(own)
    becomes_limited(own)
    child = os.fork()
    if not child:
        os._exit(ebb.state(own).standing != "foreground" or not is_limited(own))
    assert os.waitpid(child, 0)[1] == 0
    assert is_limited(own)
    ebb.foreground(own)


def others_run_while_somebody_waits(listener):
    """In a child, whose service does not answer and tells nothing of what another Ebb governs."""
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        return
    own, _other = pair(listener)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as mute:
        mute.bind(folder + "/socket")
        mute.listen()
        another = os.fork()
        if not another:
            ebb.background(own)
            time.sleep(60)
            os._exit(0)
        becomes_limited(own)
        os.environ["EBB_SERVICE_SOCKET"] = folder + "/socket"
        count = 0
        is_done = threading.Event()

        def go_on():
            nonlocal count
            while not is_done.wait(0.005):
                count += 1

        threading.Thread(target=go_on, daemon=True).start()
        ebb.background(own)
        standing = ""
        while standing != "of another":
            before = count
            standing = ebb.state(own).standing
        # It was waited for a fifth of a second.
        assert count - before > 3, count - before
        is_done.set()
        os.kill(another, signal.SIGKILL)
        os.waitpid(another, 0)
    os._exit(0)


async def with_asyncio(listener):
    reader, writer = await asyncio.open_connection(
        *listener.getsockname(), local_addr=(CLIENT, 0)
    )
    other, _ = listener.accept()
    other.sendall(bytes(1000))
    await reader.readexactly(1000)
    own = writer.get_extra_info("socket")
    ebb.background(own)
    while ebb.state(own).standing != "background":
        await asyncio.sleep(0.005)
    ebb.foreground(own)
    writer.close()


def main():
    stubs_are_right(sys.argv[1])
    with socket.create_server((SERVER, 0)) as listener:
        # Where the service is is looked up once, so this is first.
        others_run_while_somebody_waits(listener)
        own, other = pair(listener)
        there_and_back(own)
        fork(own)
        refused(3, "accepts", ebb.background, listener)
        refused(4, "sampled", ebb.background, own, download="sampeld")
        refused(5, "packet", ebb.background, own, download="ebb")
        refused(6, "foreground", ebb.background, own, download="none", upload="none")
        refused(10, "2mbit", ebb.background, own, minimum="2Mbps")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            refused(2, "UDP", ebb.background, udp)
        own.close()
        refused(1, "closed", ebb.background, own)
        other.close()
        asyncio.run(with_asyncio(listener))
    print("all so")


main()
