# SPDX-License-Identifier: Apache-2.0 OR MIT
"""client.py ADDRESS PORT CONTENT: makes the transfers that are named on standard input.

A line is `NUMBER down|up OFFSET BYTES MANNER`, as transfer.rs has it. The answer is `NUMBER right`,
or what was wrong: downloads are compared here, uploads by the server.
"""

import mmap
import socket
import sys
import time

HEAD_BYTES = 64
PAUSE_S = 0.5


def receive(stream, wanted, manner):
    """Reads to the end; answers what is wrong."""
    at = 0
    pauses_at = [0, len(wanted) // 2] if manner == "ZeroWindow" else []
    while True:
        if pauses_at and at >= pauses_at[0]:
            pauses_at.pop(0)
            time.sleep(PAUSE_S)
        if manner == "SlowReader":
            time.sleep(0.01)
        part = stream.recv(8192 if manner == "SlowReader" else 262144)
        if not part:
            break
        if wanted[at : at + len(part)] != part:
            return f"wrong bytes from {at} on"
        at += len(part)
    return "right" if at == len(wanted) else f"{at} bytes arrived, not {len(wanted)}"


def transfer(address, content, line):
    number, way, offset, length, manner = line.split()
    begin = int(offset)
    part = content[begin : begin + int(length)]
    with socket.create_connection(address, timeout=60) as stream:
        stream.sendall(line.strip().ljust(HEAD_BYTES).encode())
        if way == "down":
            if manner == "HalfClose":
                stream.shutdown(socket.SHUT_WR)
            return number, receive(stream, part, manner)
        stream.sendall(part)
        stream.shutdown(socket.SHUT_WR)
        # The server closes when it has all, or says at once that it sends nothing.
        return number, receive(stream, b"", "Usual")


def main():
    address = (sys.argv[1], int(sys.argv[2]))
    with open(sys.argv[3], "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            number, result = transfer(address, content, line)
        except OSError as error:
            number, result = line.split()[0], repr(error)
        print(number, result, flush=True)


main()
