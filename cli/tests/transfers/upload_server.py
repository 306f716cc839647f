# SPDX-License-Identifier: Apache-2.0 OR MIT
"""upload_server.py ADDRESS PORT FOLDER: a server that runs until it is ended and
stores what is uploaded (PUT) in a folder."""

import http.server
import pathlib
import sys


class Uploads(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        path = pathlib.Path(sys.argv[3]) / pathlib.Path(self.path).name
        with open(path, "wb") as file:
            while left > 0:
                piece = self.rfile.read(min(left, 65536))
                if not piece:
                    break
                file.write(piece)
                left -= len(piece)
        self.send_response(201 if left == 0 else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *arguments):
        pass


http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Uploads).serve_forever()
