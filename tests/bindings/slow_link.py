# SPDX-License-Identifier: Apache-2.0
"""A slow link for tests on one host: a proxy before a server that announces another address than it
binds. It forwards bytes over real sockets, on some connections with a delay.
"""

import collections
import contextlib
import queue
import socket
import threading
import time

CHUNK = 1 << 18


class SlowLink:
    """Forwards connections at `at` to `server`, both (host, port). Data from and to a client's port
    for which `is_slow(port)` holds is forwarded `seconds` later.
    """

    def __init__(self, at, server, seconds, is_slow):
        self._server = server
        self._seconds = seconds
        self._is_slow = is_slow
        self._closing = threading.Event()
        self._sockets = collections.deque()
        self._threads = collections.deque()
        self.slow = 0  # Number of slow connections.
        self._listener = socket.create_server(at)
        self._sockets.append(self._listener)
        self._start(self._accept)

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):  # close() ends it.
            while True:
                near, (_, port) = self._listener.accept()
                far = socket.create_connection(self._server)
                self._sockets += (near, far)
                slow = self._is_slow(port)
                self.slow += slow
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, target in ((near, far), (far, near)):
                    coming = queue.SimpleQueue()
                    self._start(self._take, source, coming, self._seconds if slow else 0)
                    self._start(self._give, coming, target)

    @staticmethod
    def _take(source, coming, seconds):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                coming.put((time.monotonic() + seconds, data))
        coming.put((0, b""))

    def _give(self, coming, target):
        with contextlib.suppress(OSError):
            while True:
                due, data = coming.get()
                self._closing.wait(max(0, due - time.monotonic()))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)

    def close(self):
        """Closes all connections."""
        self._closing.set()
        for one in (*self._sockets, *self._sockets):  # A connection may have come meanwhile.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        while self._threads:
            self._threads.popleft().join()
        for one in self._sockets:
            one.close()
