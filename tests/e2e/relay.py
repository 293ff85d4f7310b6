# SPDX-License-Identifier: Apache-2.0
"""A relay of TCP connections in user space: what lies between processes that test a network's bad
days on one host. It resets connections, holds up what goes one way, and corrupts, delays or keeps
what goes through.
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

MOST_KEPT = 64  # Chunks that are on their way in one direction of a connection.
HOST = "127.0.0.9"  # Where it listens: by the same port as who is behind it.


class _End(asyncio.Protocol):
    """One of the two connections of a pair: what comes here goes on by the other."""

    def __init__(self, relay, towards):
        self._relay = relay
        self.towards = towards  # "server": what comes here goes to who listens.
        self.other = None
        self.transport = None
        self._kept = collections.deque()  # (When it goes on, chunk).
        self._timer = None
        self._seen = relay.begin_to_see()

    def connection_made(self, transport):
        self.transport = transport
        self.balance()

    def balance(self):
        """Reads or not, and passes on what has come."""
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
        """True if something has come and does not go on."""
        if self.transport is None or self.transport.is_closing():
            return False
        unread = array.array("i", [0])
        fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.FIONREAD, unread)
        return bool(self._kept) or unread[0] > 0

    def reset(self):
        """Both ends hear of it as of a router that has forgotten them."""
        for end in (self, self.other):
            if end is not None and end.transport is not None and not end.transport.is_closing():
                end.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.transport.abort()


class Relay:
    """Runs on a thread of its own until it is closed."""

    def __init__(self, seed):
        self.held = set()  # Directions: "server", "client".
        self.ends = set()
        self.resets = 0
        self.corrupted = 0  # Chunks.
        self.delayed = 0  # Chunks.
        self._seen = None  # All that came, by connection and direction.
        self._share = 0.0  # Of all chunks, to be corrupted,
        self._most_corrupted = None  # until there are so many.
        self._delay = (0.0, 0.0)
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._servers = []
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(20)

    def route(self, port):
        """From HOST:port to 127.0.0.1:port; the address."""
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
        """From now on all that new connections say is kept."""
        self._seen = []

    def begin_to_see(self):
        if self._seen is None:
            return None
        self._seen.append(bytearray())
        return self._seen[-1]

    def has_seen(self, text):
        """True if somebody has said that."""
        return any(text in said for said in self._seen)

    def seen_bytes(self):
        return sum(len(said) for said in self._seen)

    def passed(self, data):
        """A chunk as it goes on."""
        if self.corrupted == self._most_corrupted or self._chance.random() >= self._share:
            return data
        self.corrupted += 1
        spoilt = bytearray(data)
        spoilt[self._chance.randrange(len(spoilt))] ^= 1 << self._chance.randrange(8)
        return bytes(spoilt)

    def corrupt(self, share, most=None):
        """From now on a bit of so many of the chunks that go through is another one, until `most`
        chunks have been corrupted."""
        self._share, self._most_corrupted = share, most

    def delay(self, seconds, spread):
        """From now on each chunk takes that long, more or less, and none passes another."""
        self._delay = (seconds - spread, seconds + spread)

    def time(self):
        return self._loop.time()

    def due(self):
        """When a chunk goes on that has come now."""
        return self.time() + self._chance.uniform(*self._delay)

    def later(self, when, call):
        return self._loop.call_at(when, call)

    def hold(self, *directions):
        """From now on nothing comes through in these directions, and all does in others."""
        self._do(self._hold(directions))

    async def _hold(self, directions):
        self.held = set(directions)
        for end in list(self.ends):
            end.balance()

    def holds(self):
        """True if something waits in a direction that is held: the hold has an effect."""
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
