"""The web side in this process on a real socket, for stories about bytes on the wire: `with served() as url`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def served(application: Any = None) -> Iterator[str]:
    if application is None:
        from config.asgi import application
    config = uvicorn.Config(application, port=0, lifespan="off", ws="none", log_level="error", timeout_keep_alive=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(15)
