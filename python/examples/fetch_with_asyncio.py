# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fetches from HOST:PORT in the background, by asyncio; the lines "foreground" and "background" on
the standard input take it there:

    python fetch_with_asyncio.py 192.0.2.1:80
"""

import asyncio
import sys

import ebb

GO = {"foreground": ebb.foreground, "background": ebb.background}


async def listen(download):
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := (await lines.readline()).decode():
        GO[line.strip()](download)
        print(line, end="", flush=True)


async def fetch(reader):
    while await reader.read(65536):
        pass


async def main():
    host, port = sys.argv[1].rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    download = writer.get_extra_info("socket")
    ebb.background(download)
    writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    await writer.drain()
    print("ready", flush=True)
    fetching = asyncio.create_task(fetch(reader))
    listening = asyncio.create_task(listen(download))
    # Without lines nobody wants the rest.
    await asyncio.wait({fetching, listening}, return_when=asyncio.FIRST_COMPLETED)
    fetching.cancel()
    writer.close()


asyncio.run(main())
