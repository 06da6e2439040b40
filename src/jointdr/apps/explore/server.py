"""The page on a port of this machine."""

from __future__ import annotations

import errno
import socket

from jointdr.apps.explore.app import application
from jointdr.apps.explore.session import Session

HOST = "127.0.0.1"  # never another one: the page is for this machine only


def bind(port: int) -> socket.socket:
    """A socket on this port, or for 0 on any that is free; a ValueError with the reason if there is none."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port {port} must be from 1 to 65535, or 0 for any that is free.")
    # asyncio looks at the protocol to see that it is TCP, and sends small answers at once only then.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(64)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"Port {port} is in use already: give another one with --port, or --port 0 for any that is free."
            ) from None
        raise ValueError(f"Port {port} cannot be used: {error.strerror}.") from None
    return found


def serve(session: Session, found: socket.socket) -> None:
    """Answer on a socket until the program is interrupted."""
    import uvicorn
    from threadpoolctl import threadpool_limits

    config = uvicorn.Config(
        application(session),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=100,
        timeout_graceful_shutdown=2,
    )
    # Products of one row with a matrix wait for memory, not for cores, and answers are computed two at a time.
    with threadpool_limits(1, user_api="blas"):
        uvicorn.Server(config).run(sockets=[found])
