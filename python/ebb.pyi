# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One socket in the background: it gets the bandwidth that nobody else wants, and all of it when
nobody does.

A socket is an object with fileno(), or a number: socket.socket, what asyncio's
transport.get_extra_info("socket") gives. All functions may be called from any thread. None needs a
privilege.
"""

from typing import Optional, Protocol, Union, final

class _HasFileno(Protocol):
    def fileno(self) -> int: ...

_Socket = Union[int, _HasFileno]

class Error(Exception):
    """What went wrong: args are a number, as in ebb.h, and a sentence that says what would be
    right."""

@final
class Flow:
    """One direction of a connection."""

    @property
    def law(self) -> str:
        """The law's name."""
    @property
    def payload_bytes(self) -> int:
        """Payload since it is in the background."""
    @property
    def window_bytes(self) -> int:
        """The bound on the window that is advertised; sending, on what is in flight."""
    @property
    def pace_bytes_per_s(self) -> Optional[int]:
        """Sending: the bound on the pace."""
    @property
    def rtt_us(self) -> Optional[int]:
        """Round trip, if one was measured."""
    @property
    def queue_us(self) -> Optional[int]:
        """Queueing delay, if the law sees it."""
    @property
    def held_back(self) -> str:
        """Why it is held back: "queue at target", "others want it", "seeing the path", "old window
        left"; "": it is not."""

@final
class State:
    """What is seen of a socket, as of the last look at it."""

    @property
    def standing(self) -> str:
        """Where it is: "foreground", "not connected", "left alone", "of another", "background"."""
    @property
    def download(self) -> Optional[Flow]:
        """What arrives, where that yields."""
    @property
    def upload(self) -> Optional[Flow]:
        """What is sent, where that yields."""

def background(
    socket: _Socket,
    *,
    download: Optional[str] = None,
    upload: Optional[str] = None,
    keep_code_point: bool = False,
) -> None:
    """Puts a TCP socket into the background; it may be connected later.

    download, upload: a policy, "name:key=value,..."; "none": that way is left alone.
    keep_code_point: what is sent is not marked as Lower Effort (RFC 8622).
    """

def background_all(
    *,
    download: Optional[str] = None,
    upload: Optional[str] = None,
    keep_code_point: bool = False,
) -> None:
    """Puts all TCP sockets that this process has and will have into the background, but for those
    that are taken to the foreground later."""

def foreground(socket: _Socket) -> None:
    """Takes a socket to the foreground; its limits are lifted when this returns."""

def foreground_all() -> None:
    """Takes all sockets to the foreground."""

def state(socket: _Socket) -> State:
    """Tells what is seen of a socket, as of the last look at it."""
