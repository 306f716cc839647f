# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fetches from HOST:PORT in the background, by requests; the lines "foreground" and "background" on
the standard input take it there:

    python fetch_with_requests.py 192.0.2.1:80
"""

import os
import sys
import threading

import ebb
import requests

GO = {"foreground": ebb.foreground, "background": ebb.background}


def listen(response):
    for line in sys.stdin:
        GO[line.strip()](response.raw)
        print(line, end="", flush=True)
    # Nobody wants the rest.
    os._exit(0)


def main():
    session = requests.Session()
    # No proxy, whatever the environment says.
    session.trust_env = False
    with session.get(f"http://{sys.argv[1]}/", stream=True) as response:
        # Whatever has fileno() can be given: this is the connection's.
        ebb.background(response.raw)
        print("ready", flush=True)
        threading.Thread(target=listen, args=(response,), daemon=True).start()
        for _ in response.iter_content(65536):
            pass


main()
