# SPDX-License-Identifier: Apache-2.0
"""A relay of TCP connections in user space: simulates network faults between processes on one host.
It resets connections, blocks one direction, and corrupts, delays or records the traffic.
"""

import array
import asyncio
import collections
import fcntl
import random
import socket
import struct
import termios
import threading

MOST_KEPT = 64  # Chunks in transit in one direction of a connection.
HOST = "127.0.0.9"  # Its address: by the same port as the listener behind it.


class _End(asyncio.Protocol):
    """One of the two connections of a pair: its input is sent on by the other."""

    def __init__(self, relay, towards):
        self._relay = relay
        self.towards = towards  # "server": input goes to the listener.
        self.other = None
        self.transport = None
        self._kept = collections.deque()  # (Time to forward it, chunk).
        self._timer = None
        self._seen = relay.begin_to_see()

    def connection_made(self, transport):
        self.transport = transport
        self.balance()

    def balance(self):
        """Pauses or resumes reading, and forwards the received chunks."""
        if self.transport is None or self.transport.is_closing():
            return
        held = self.towards in self._relay.held or self.other is None
        if held or self.other.transport is None:
            self.transport.pause_reading()
            return
        now = self._relay.time()
        while self._kept and self._kept[0][0] <= now:
            self.other.transport.write(self._kept.popleft()[1])
        if self._kept and self._timer is None:
            self._timer = self._relay.later(self._kept[0][0], self._on_time)
        if len(self._kept) < MOST_KEPT:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    def _on_time(self):
        self._timer = None
        self.balance()

    def data_received(self, data):
        if self._seen is not None:
            self._seen += data
        due = self._relay.due()
        self._relay.delayed += due > self._relay.time()
        if self._kept:
            due = max(due, self._kept[-1][0])
        self._kept.append((due, self._relay.passed(data)))
        self.balance()

    def pause_writing(self):
        if self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self):
        self.other.balance()

    def connection_lost(self, _):
        self._relay.ends.discard(self)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.abort()

    def waits(self):
        """True if received data is not forwarded."""
        if self.transport is None or self.transport.is_closing():
            return False
        unread = array.array("i", [0])
        fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.FIONREAD, unread)
        return bool(self._kept) or unread[0] > 0

    def reset(self):
        """Both ends see a reset, as from a router that has lost its state."""
        for end in (self, self.other):
            if end is not None and end.transport is not None and not end.transport.is_closing():
                end.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.transport.abort()


class Relay:
    """Runs on its own thread until it is closed."""

    def __init__(self, seed):
        self.held = set()  # Directions: "server", "client".
        self.ends = set()
        self.resets = 0
        self.corrupted = 0  # Chunks.
        self.delayed = 0  # Chunks.
        self._seen = None  # All received data, by connection and direction.
        self._share = 0.0  # Of all chunks, to be corrupted,
        self._most_corrupted = None  # up to this number.
        self._delay = (0.0, 0.0)
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._servers = []
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(20)

    def route(self, port):
        """From HOST:port to 127.0.0.1:port; returns the address."""
        self._do(self._route(port))
        return f"{HOST}:{port}"

    async def _route(self, port):
        def accept():
            near = _End(self, "server")
            self.ends.add(near)
            self._loop.create_task(self._connect(near, port))
            return near

        self._servers.append(await self._loop.create_server(accept, HOST, port))

    async def _connect(self, near, port):
        far = _End(self, "client")
        far.other = near
        try:
            await self._loop.create_connection(lambda: far, "127.0.0.1", port)
        except OSError:
            near.transport.abort()
            return
        near.other = far
        self.ends.add(far)
        near.balance()
        far.balance()

    def reset_some(self, count, most_seconds):
        """Resets connections, one by one and at random moments."""
        self._do(self._reset_some(count, most_seconds))

    async def _reset_some(self, count, most_seconds):
        done = self._loop.create_future()

        def reset(left):
            whole = sorted((end for end in self.ends if end.towards == "server" and end.other),
                           key=lambda end: end.transport.get_extra_info("peername"))
            if whole:
                self._chance.choice(whole).reset()
                self.resets += 1
            if left > 1:
                self._loop.call_later(self._chance.uniform(0.0, most_seconds), reset, left - 1)
            else:
                done.set_result(None)

        reset(count)
        await done

    def see(self):
        """Records all data of new connections from now on."""
        self._seen = []

    def begin_to_see(self):
        if self._seen is None:
            return None
        self._seen.append(bytearray())
        return self._seen[-1]

    def has_seen(self, text):
        """True if the recorded data contains the text."""
        return any(text in said for said in self._seen)

    def seen_bytes(self):
        return sum(len(said) for said in self._seen)

    def passed(self, data):
        """A chunk as it is forwarded."""
        if self.corrupted == self._most_corrupted or self._chance.random() >= self._share:
            return data
        self.corrupted += 1
        spoilt = bytearray(data)
        spoilt[self._chance.randrange(len(spoilt))] ^= 1 << self._chance.randrange(8)
        return bytes(spoilt)

    def corrupt(self, share, most=None):
        """From now on flips a bit in this share of the forwarded chunks, until `most` chunks have
        been corrupted."""
        self._share, self._most_corrupted = share, most

    def delay(self, seconds, spread):
        """From now on each chunk takes that long, more or less, and none overtakes another."""
        self._delay = (seconds - spread, seconds + spread)

    def time(self):
        return self._loop.time()

    def due(self):
        """When a chunk received now will be forwarded."""
        return self.time() + self._chance.uniform(*self._delay)

    def later(self, when, call):
        return self._loop.call_at(when, call)

    def hold(self, *directions):
        """From now on nothing passes in these directions, and all passes in others."""
        self._do(self._hold(directions))

    async def _hold(self, directions):
        self.held = set(directions)
        for end in list(self.ends):
            end.balance()

    def holds(self):
        """True if data waits in a held direction: the hold has an effect."""
        return self._do(self._holds())

    async def _holds(self):
        return any(end.waits() for end in self.ends if end.towards in self.held)

    def close(self):
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self):
        for server in self._servers:
            server.close()
        for end in list(self.ends):
            end.transport.abort()
