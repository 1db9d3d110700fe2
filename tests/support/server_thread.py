"""A server of studies in a thread of this process."""

import socket
import threading
from contextlib import contextmanager

from allgood.serve.app import Server

from .serving import application


@contextmanager
def serving(url, clock=None, port=0, proxies=(), **options):
    """The address of a server of this database, which ends with the block."""
    app = application(url, **options)
    if clock is not None:
        app.state.study_cache.clock = clock
    listener = socket.create_server(("127.0.0.1", port))
    server = Server(app, options.get("limits"), proxies)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()
