# SPDX-License-Identifier: Apache-2.0
"""Attacks of pending connections on open ports: each is a generator of bytes, one connection each,
or a function with the addresses. All of it derives from a seed.
"""

import collections
import itertools
import random
import selectors
import socket
import struct
import threading
import time

import wire

_AT_ONCE = 32  # Connections.
_TALKERS = 4  # Threads for each address.
_ABSURD_LENGTHS = (2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
_CONTENTS = {
    wire.LEAVE: b"",
    wire.FAILURE: wire.fields(f1=6, f2="worker 0", f3="because I say so"),
    wire.BARRIER: wire.fields(f1=1),
    wire.HEARTBEAT: wire.fields(f1=1),
    wire.DECLARE: wire.fields(f1=wire.fields(f1="mine", f2=1, f3=10, f4=1, f6=1)),
    wire.OPEN: wire.fields(f1=1, f2=wire.fields(f1="tensor 0", f2=1, f3=10, f4=1, f6=1)),
    wire.ROSTER: wire.fields(f1=9, f2=9, f3=1, f4=1),
    wire.WELCOME: wire.fields(f1=2, f2=0),
    wire.LINK_REPORT: wire.fields(f1=2, f2="broken"),
    wire.FAULT: wire.fields(f1=2, f2="no", f3=1),
    wire.DECLARED: wire.fields(f1=1, f3="tensor 0"),
}


def raw_garbage(randomness):
    """Bytes that are no ZMTP greeting."""
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # TLS.
    yield b"\xff" * 4096
    yield bytes(4096)
    for _ in range(100):
        yield randomness.randbytes(randomness.randrange(1, 4096))


def broken_handshakes(randomness):
    """Truncated or corrupted greetings, and other protocols' greetings."""
    whole = wire.greeting()
    for length in range(len(whole)):
        yield whole[:length] + randomness.randbytes(8)
        yield whole[:length]
    for version in (0, 2, 2**16 - 1):
        yield wire.greeting(version=version) + wire.control(wire.hello())
    for side in (0, wire.LISTENER, 255):
        yield wire.greeting(side=side) + wire.control(wire.hello())
    for mechanism in (b"NULL", b"PLAIN", b"CURVE"):  # ZMTP's greeting.
        yield b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32)
    yield wire.greeting() * 2


def framed_garbage(randomness):
    """A valid greeting, and foreign messages."""
    for headers, payload in ((b"", b""), (b"", b"x"), (bytes(128), b""), (bytes(256), b""),
                             (bytes(256), bytes(7)), (bytes(256), struct.pack("<II", 4, 4))):
        yield wire.greeting() + wire.message(headers, payload)
    yield wire.greeting() + wire.head(1, 0) + bytes(127)
    yield wire.greeting() + wire.head(0, 0) * 3000
    yield wire.greeting() + wire.message(bytes(128 * 257), bytes(4 * 257))
    for _ in range(100):
        frames, payload = randomness.randrange(1, 4), randomness.randrange(0, 600)
        yield wire.greeting() + wire.message(randomness.randbytes(128 * frames),
                                             randomness.randbytes(payload))


def absurd_lengths(_):
    """Lengths beyond any memory, in the head and in the data header."""
    for length in _ABSURD_LENGTHS:
        yield wire.greeting() + wire.head(1, length) + bytes(228)
        yield wire.greeting() + wire.head(length, 1) + bytes(100)
        yield wire.greeting() + wire.head(2, length) + bytes(256) + b"x"
        yield wire.greeting() + wire.message(wire.header(length % 2**32), b"x")


def oversize_frames(_):
    """Frames of the announced length, which exceeds the limit."""
    for size in (2**20 + 1, 17 * 2**20):
        body = bytes(size)
        yield wire.greeting() + wire.message(wire.header(size), body)
        yield wire.greeting() + wire.message(wire.header(size, kind=wire.PUSH, dtype=1), body)
        yield wire.greeting() + wire.head(1, size) + body


def no_hello(_):
    """Complete control and data messages from a peer without a hello."""
    for kind, content in _CONTENTS.items():
        yield wire.greeting() + wire.control(wire.body(kind, content))
    for kind in range(256):
        yield wire.greeting() + wire.message(wire.header(4, kind=kind, dtype=1, sender=1), bytes(4))
    yield wire.greeting() + wire.control(b"")
    yield wire.greeting() + wire.control(wire.body(99))


def wrong_hellos(_):
    """Hellos without secrets: no token, a guess, or another protocol."""
    for token in ("", "guess", "x" * 100_000, "\0"):
        for node in (0, 1, 2, 2**32 - 1):
            hello = wire.hello(token=token, node=node, rank=0)
            yield wire.greeting() + wire.control(hello)
            # Sending without waiting for an answer does not help.
            yield (wire.greeting() + wire.control(hello) + wire.control(hello, sequence=2)
                   + wire.control(wire.body(wire.LEAVE), sequence=3))
    yield wire.greeting() + wire.control(wire.hello(protocol=2**31))
    yield wire.greeting() + wire.control(wire.hello(), sequence=2**63)
    yield wire.greeting() + wire.control(wire.hello(), credit=2**63, acked=2**63)


def mutated(randomness):
    """Valid messages with some bytes changed, lost, duplicated or moved. Without end."""
    good = [wire.control(wire.hello()), wire.control(wire.hello(token="guess", role=wire.SERVER)),
            wire.message(wire.header(64, kind=wire.PUSH, dtype=1, version=1, sender=1), bytes(64)),
            wire.message(wire.header(0, kind=wire.CREDIT, credit=1), b"")]
    good += [wire.control(wire.body(kind, content)) for kind, content in _CONTENTS.items()]
    while True:
        data = bytearray(randomness.choice(good) + randomness.choice(good))
        for _ in range(randomness.randrange(1, 8)):
            at = randomness.randrange(len(data))
            match randomness.randrange(5):
                case 0:
                    data[at] ^= 1 << randomness.randrange(8)
                case 1:
                    data[at] = randomness.choice((0, 1, 0x7F, 0x80, 0xFF))
                case 2:
                    del data[at:at + randomness.randrange(1, 16)]
                    data += b"\0"
                case 3:
                    data[at:at] = data[at:at + randomness.randrange(1, 16)]
                case 4:
                    data[at:at + 8] = struct.pack(">Q", randomness.choice(_ABSURD_LENGTHS))
        yield wire.greeting() + bytes(data)


_MOST_CONTROL = 256 << 10


def light_message():
    """The largest control message, of one field: its decoding is a copy."""
    return wire.control(wire.body(wire.HELLO, wire.fields(f2="x" * (_MOST_CONTROL - 16))))


def heavy_message():
    """A control message of the same size, of 131,000 members: its decoding takes milliseconds."""
    return wire.control(wire.body(wire.ROSTER, wire.fields(f5=b"") * 131_000))


def heavy_messages(_):
    """The messages with the highest decoding cost per byte."""
    for _ in range(20):
        yield wire.greeting() + heavy_message()
    yield wire.greeting() + wire.control(wire.body(wire.HELLO, wire.fields(f99=b"") * 65_000))
    yield wire.greeting() + wire.control(wire.hello() + wire.body(
        wire.ROSTER, wire.fields(f5=b"") * 100_000))


LISTED = (raw_garbage, broken_handshakes, framed_garbage, absurd_lengths, oversize_frames, no_hello,
          wrong_hellos, heavy_messages)


def _deliver(address, messages):
    """One connection for each of these; returns how many had sent everything before the close.

    Each then ends its sending and waits until the peer has closed, so that all was read and nothing
    is lost to a reset.
    """
    connections = [wire.Connection(address) for _ in messages]
    said = 0
    for connection, data in zip(connections, messages, strict=True):
        said += connection.send(data)
        connection.finish()
    for connection in connections:
        connection.hung_up()
        connection.close()
    return said


def run(attack, addresses, seed=1, most=None):
    """An attack's connections, all or at most `most`, spread over or to each address; returns
    (connections, number that sent everything)."""
    count = said = 0
    source = itertools.islice(attack(random.Random(seed)), most)
    turn = itertools.cycle(addresses)
    while messages := list(itertools.islice(source, _AT_ONCE)):
        for address in addresses if most is None else (next(turn),):
            said += _deliver(address, messages)
            count += len(messages)
    return count, said


def repeat(addresses, message, per_second, seconds):
    """Sends the same message at this rate to each address, over a new connection each, as far as
    the peers accept; returns how many times. Does not wait for a peer to close."""
    data = wire.greeting() + message
    ends = time.monotonic() + seconds
    said = []

    def say(address):
        pause, held = threading.Event(), collections.deque(maxlen=100)
        began = time.monotonic()
        for count in itertools.count():
            pause.wait(max(0.0, began + count * _TALKERS / per_second - time.monotonic()))
            if time.monotonic() > ends:
                break
            connection = wire.Connection(address)
            if len(held) == held.maxlen:
                held[0].close()
            held.append(connection)
            if connection.send(data) and connection.pass_greeting():
                said.append(address)
        for connection in held:
            connection.close()

    talkers = [threading.Thread(target=say, args=(address,))
               for address in addresses for _ in range(_TALKERS)]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    return len(said)


def flood(addresses, connections):
    """Connects and disconnects; every other time by a reset."""
    for i in range(connections):
        with socket.create_connection(addresses[i % len(addresses)], timeout=10) as stranger:
            if i % 2 == 0:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def loris(addresses, connections):
    """Connections that send a little and then nothing, for as long as the caller keeps them."""
    words = (b"", wire.greeting()[:1], wire.greeting(), wire.greeting() + wire.head(1, 0),
             wire.greeting() + wire.control(wire.hello())[:-1])
    held = []
    for i in range(connections):
        connection = wire.Connection(addresses[i % len(addresses)])
        connection.send(words[(i // len(addresses)) % len(words)])
        held.append(connection)
    return held


_ENDLESS = wire.head(1, 255 << 10) + bytes(200_000)


def endless_messages(addresses, connections, hello=None, seconds=2.0):
    """The largest messages, without their ends, on this number of connections at once; a closed
    connection reconnects. `hello` is sent before. Returns the total number of accepted bytes."""
    first = wire.control(hello) if hello else _ENDLESS
    turn = itertools.cycle(addresses)
    held, said = {}, 0
    selector = selectors.DefaultSelector()
    ends = time.monotonic() + seconds

    def come():
        connection = wire.Connection(next(turn)).open().socket
        connection.setblocking(False)
        held[connection] = first
        selector.register(connection, selectors.EVENT_WRITE)

    for _ in range(connections):
        come()
    while time.monotonic() < ends:
        for key, _ in selector.select(0.1):
            try:
                sent = key.fileobj.send(held[key.fileobj])
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(key.fileobj)
                held.pop(key.fileobj)
                key.fileobj.close()
                come()
                continue
            said += sent
            held[key.fileobj] = held[key.fileobj][sent:] or _ENDLESS
    for connection in held:
        connection.close()
    selector.close()
    return said
