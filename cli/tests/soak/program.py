# SPDX-License-Identifier: Apache-2.0 OR MIT
"""program.py ADDRESS: has connections to kills.rs's peers, and says so.

Each line on standard input is a number of sets to open: a download, an upload, and one of each
that hardly moves. When all of them are connected the answer is `ready PID`. Ends with its input.
"""

import functools
import os
import selectors
import socket
import struct
import sys
import time

DOWNLOAD, UPLOAD, DRIP_DOWN, DRIP_UP = 9001, 9002, 9003, 9004
SO_MAX_PACING_RATE = 47
# Ebb must give it back.
OWN_PACE_BYTES_PER_S = 7_000_000
DRIP_EVERY_S = 0.2


class Program:
    def __init__(self, address):
        self.address = address
        self.selector = selectors.DefaultSelector()
        self.dripping = []
        self.connecting = 0
        self.unanswered = 0

    def open(self, port):
        stream = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET)
        if port == UPLOAD:
            pace = struct.pack("Q", OWN_PACE_BYTES_PER_S)
            stream.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pace)
        stream.setblocking(False)
        stream.connect_ex((self.address, port))
        begin = functools.partial(self.begin, port)
        self.selector.register(stream, selectors.EVENT_WRITE, begin)
        self.connecting += 1

    def begin(self, port, stream):
        error = stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            sys.exit(os.strerror(error))
        if port == UPLOAD:
            self.selector.modify(stream, selectors.EVENT_WRITE, self.send)
        else:
            self.selector.modify(stream, selectors.EVENT_READ, self.receive)
        if port == DRIP_UP:
            self.dripping.append(stream)
        self.connecting -= 1
        self.answer()

    def answer(self):
        while self.unanswered and not self.connecting:
            print("ready", os.getpid(), flush=True)
            self.unanswered -= 1

    def send(self, stream):
        stream.send(bytes(16384))

    def receive(self, stream):
        if not stream.recv(65536):
            sys.exit("a peer has closed its connection")

    def drip(self):
        for stream in self.dripping:
            stream.send(bytes(100))

    def obey(self, _):
        line = os.read(0, 100)
        if not line:
            sys.exit(0)
        # Two may have come together.
        for sets in line.split():
            self.open_sets(int(sets))

    def open_sets(self, sets):
        for _ in range(sets):
            for port in (DOWNLOAD, UPLOAD, DRIP_DOWN, DRIP_UP):
                self.open(port)
        self.unanswered += 1

    def run(self):
        self.selector.register(0, selectors.EVENT_READ, self.obey)
        next_drip_s = 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= next_drip_s:
                self.drip()
                next_drip_s = now_s + DRIP_EVERY_S
            for key, _ in self.selector.select(max(0.0, next_drip_s - now_s)):
                key.data(key.fileobj)


Program(sys.argv[1]).run()
