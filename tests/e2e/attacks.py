# SPDX-License-Identifier: Apache-2.0
"""What strangers do to open ports: each attack is a generator of bytes, one connection each, or a
function that is handed the addresses. All of it comes from a seed.
"""

import collections
import itertools
import random
import selectors
import socket
import struct
import threading
import time

import zmtp

_AT_ONCE = 32  # Connections.
_TALKERS = 4  # Threads for each address.
_ABSURD_LENGTHS = (2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
_CONTENTS = {
    zmtp.LEAVE: b"",
    zmtp.FAILURE: zmtp.fields(f1=6, f2="worker 0", f3="because I say so"),
    zmtp.BARRIER: zmtp.fields(f1=1),
    zmtp.HEARTBEAT: zmtp.fields(f1=1),
    zmtp.DECLARE: zmtp.fields(f1=zmtp.fields(f1="mine", f2=1, f3=10, f4=1, f6=1)),
    zmtp.OPEN: zmtp.fields(f1=1, f2=zmtp.fields(f1="tensor 0", f2=1, f3=10, f4=1, f6=1)),
    zmtp.ROSTER: zmtp.fields(f1=9, f2=9, f3=1, f4=1),
    zmtp.WELCOME: zmtp.fields(f1=2, f2=0),
    zmtp.LINK_REPORT: zmtp.fields(f1=2, f2="broken"),
    zmtp.FAULT: zmtp.fields(f1=2, f2="no", f3=1),
    zmtp.DECLARED: zmtp.fields(f1=1, f3="tensor 0"),
}


def raw_garbage(randomness):
    """Bytes that are no ZMTP at all."""
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # TLS.
    yield b"\xff" * 4096
    yield bytes(4096)
    for _ in range(100):
        yield randomness.randbytes(randomness.randrange(1, 4096))


def broken_handshakes(randomness):
    """ZMTP that ends, or goes astray, on the way to READY."""
    whole = zmtp.opening()
    for length in range(0, len(whole), 5):
        yield whole[:length] + randomness.randbytes(8)
    for kept in (1, 8, 9, 10, 11, 12, 31, 32, 33, 63):  # A good greeting, up to there.
        yield whole[:kept] + bytes(64 - kept) + whole[64:]
    for mechanism in (b"PLAIN", b"CURVE", b"GSSAPI", b"\xff" * 20):
        yield zmtp.greeting(mechanism) + zmtp.ready()
    for kind in (b"PUB", b"SUB", b"REQ", b"STREAM", b"", b"X" * 200):
        yield zmtp.greeting() + zmtp.ready(kind) + zmtp.message(b"x")
    yield zmtp.greeting() + zmtp.frame(b"\x05READY" + b"\xff" * 40, zmtp.COMMAND)
    yield zmtp.greeting() + zmtp.frame(b"\x05ERROR\xff", zmtp.COMMAND)


def framed_garbage(randomness):
    """Good ZMTP whose messages are not ours."""
    for parts in ((b"x",), (b"", b""), (b"", b"x", b"y"), (bytes(128),), (bytes(128), b"", b""),
                  (bytes(127), b""), (bytes(129), b""), (bytes(128), b"")):
        yield zmtp.opening() + zmtp.message(*parts)
    yield zmtp.opening() + zmtp.message(*[b"part"] * 3000)
    yield zmtp.opening() + zmtp.frame(b"") * 3000
    yield zmtp.opening() + zmtp.frame(b"\x04PING\x00\x00", zmtp.COMMAND) * 1000
    for _ in range(100):
        sizes = [randomness.randrange(0, 600) for _ in range(randomness.randrange(1, 4))]
        yield zmtp.opening() + zmtp.message(*map(randomness.randbytes, sizes))


def absurd_lengths(_):
    """Lengths that nobody has memory for, said by ZMTP and by the data header."""
    for length in _ABSURD_LENGTHS:
        yield zmtp.opening() + zmtp.frame(b"x" * 100, length=length)
        yield zmtp.opening() + zmtp.frame(bytes(128), zmtp.MORE) + zmtp.frame(b"x", length=length)
        yield zmtp.greeting() + zmtp.frame(b"\x05READY", zmtp.COMMAND, length=length)
        yield zmtp.opening() + zmtp.message(zmtp.header(length % 2**32), b"x")


def oversize_frames(_):
    """Frames that are as long as they say, and longer than any may be."""
    for size in (2**20 + 1, 17 * 2**20):
        body = bytes(size)
        yield zmtp.opening() + zmtp.message(zmtp.header(size), body)
        yield zmtp.opening() + zmtp.message(zmtp.header(size, kind=zmtp.PUSH, dtype=1), body)
        yield zmtp.opening() + zmtp.message(body)


def no_hello(_):
    """Whole control and data messages from somebody who has not said hello."""
    for kind, content in _CONTENTS.items():
        yield zmtp.opening() + zmtp.control(zmtp.body(kind, content))
    for kind in range(256):
        yield zmtp.opening() + zmtp.message(zmtp.header(4, kind=kind, dtype=1, sender=1), b"\0" * 4)
    yield zmtp.opening() + zmtp.control(b"")
    yield zmtp.opening() + zmtp.control(zmtp.body(99))


def wrong_hellos(_):
    """Greetings that anybody can say: no token, a guess, or another protocol."""
    for token in ("", "guess", "x" * 100_000, "\0"):
        for node in (0, 1, 2, 2**32 - 1):
            hello = zmtp.hello(token=token, node=node, rank=0)
            yield zmtp.opening() + zmtp.control(hello)
            # Not waiting for an answer does not help.
            yield (zmtp.opening() + zmtp.control(hello) + zmtp.control(hello, sequence=2)
                   + zmtp.control(zmtp.body(zmtp.LEAVE), sequence=3))
    yield zmtp.opening() + zmtp.control(zmtp.hello(protocol=2**31))
    yield zmtp.opening() + zmtp.control(zmtp.hello(), sequence=2**63)
    yield zmtp.opening() + zmtp.control(zmtp.hello(), credit=2**63, acked=2**63)


def mutated(randomness):
    """Good messages with some bytes changed, lost, doubled or moved. Without end."""
    good = [zmtp.control(zmtp.hello()), zmtp.control(zmtp.hello(token="guess", role=zmtp.SERVER)),
            zmtp.message(zmtp.header(64, kind=zmtp.PUSH, dtype=1, version=1, sender=1), bytes(64)),
            zmtp.message(zmtp.header(0, kind=zmtp.CREDIT, credit=1), b"")]
    good += [zmtp.control(zmtp.body(kind, content)) for kind, content in _CONTENTS.items()]
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
        yield zmtp.opening() + bytes(data)


_MOST_CONTROL = 256 << 10


def light_message():
    """The largest control message, of one field: its decoding is a copy."""
    return zmtp.control(zmtp.body(zmtp.HELLO, zmtp.fields(f2="x" * (_MOST_CONTROL - 16))))


def heavy_message():
    """A control message of the same size, of 131,000 members: its decoding takes milliseconds."""
    return zmtp.control(zmtp.body(zmtp.ROSTER, zmtp.fields(f5=b"") * 131_000))


def heavy_messages(_):
    """What costs a receiver that decodes it the most for its bytes."""
    for _ in range(20):
        yield zmtp.opening() + heavy_message()
    yield zmtp.opening() + zmtp.control(zmtp.body(zmtp.HELLO, zmtp.fields(f99=b"") * 65_000))
    yield zmtp.opening() + zmtp.control(zmtp.hello() + zmtp.body(
        zmtp.ROSTER, zmtp.fields(f5=b"") * 100_000))


LISTED = (raw_garbage, broken_handshakes, framed_garbage, absurd_lengths, oversize_frames, no_hello,
          wrong_hellos, heavy_messages)


def _first(data):
    """How much of it may be said before the far end has greeted."""
    greeting = zmtp.greeting()
    return len(greeting) if data.startswith(greeting) else len(data)


def _deliver(address, messages):
    """One connection for each of these; returns how many had said all before they were hung up on.

    ZMTP's ends take turns in their greetings, so what follows ours waits for theirs. Each then says
    that it is done and waits until the far end has closed, so that all was read and nothing is lost
    to a reset.
    """
    connections = [zmtp.Connection(address) for _ in messages]
    said = 0
    for connection, data in zip(connections, messages, strict=True):
        whole = _first(data) == len(data)
        said += connection.send(data[:_first(data)]) and whole
        if whole:
            connection.finish()
    for connection, data in zip(connections, messages, strict=True):
        if _first(data) < len(data) and connection.pass_greeting():
            said += connection.send(data[_first(data):])
            connection.finish()
    for connection in connections:
        connection.hung_up()
        connection.close()
    return said


def run(attack, addresses, seed=1, most=None):
    """An attack's connections, all or at most so many of them, spread over or to each address;
    returns (connections, of which said all)."""
    count = said = 0
    source = itertools.islice(attack(random.Random(seed)), most)
    turn = itertools.cycle(addresses)
    while messages := list(itertools.islice(source, _AT_ONCE)):
        for address in addresses if most is None else (next(turn),):
            said += _deliver(address, messages)
            count += len(messages)
    return count, said


def repeat(addresses, message, per_second, seconds):
    """Says the same message at this rate to each address, over a connection for each, as far as the
    far ends take them; returns how many times. Nothing waits for a far end to hang up."""
    data = zmtp.opening() + message
    ends = time.monotonic() + seconds
    said = []

    def say(address):
        pause, held = threading.Event(), collections.deque(maxlen=100)
        began = time.monotonic()
        for count in itertools.count():
            pause.wait(max(0.0, began + count * _TALKERS / per_second - time.monotonic()))
            if time.monotonic() > ends:
                break
            connection = zmtp.Connection(address)
            if len(held) == held.maxlen:
                held[0].close()
            held.append(connection)
            connection.send(data[:_first(data)])
            if connection.pass_greeting() and connection.send(data[_first(data):]):
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
    """Connects and disconnects; every other time rudely, by a reset."""
    for i in range(connections):
        with socket.create_connection(addresses[i % len(addresses)], timeout=10) as stranger:
            if i % 2 == 0:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def loris(addresses, connections):
    """Connections that say a little and then nothing, for as long as the caller keeps them."""
    words = (b"", zmtp.greeting()[:1], zmtp.greeting(), zmtp.greeting() + zmtp.ready(),
             zmtp.opening(), zmtp.opening() + zmtp.control(zmtp.hello())[:-1])
    held = []
    for i in range(connections):
        data = words[(i // len(addresses)) % len(words)]
        connection = zmtp.Connection(addresses[i % len(addresses)])
        connection.send(data[:_first(data)])
        if _first(data) < len(data):
            connection.pass_greeting()
            connection.send(data[_first(data):])
        held.append(connection)
    return held


_PARTS = zmtp.frame(b"x", zmtp.MORE) * 20_000


def endless_parts(addresses, connections, hello=None, seconds=2.0):
    """Messages that never end, of parts of one byte each, by so many connections at once; who is
    hung up on comes again. `hello` is said before. Returns how many bytes were taken in all."""
    first = zmtp.control(hello) if hello else _PARTS
    turn = itertools.cycle(addresses)
    held, said = {}, 0
    selector = selectors.DefaultSelector()
    ends = time.monotonic() + seconds

    def come():
        connection = zmtp.Connection(next(turn)).open().socket
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
            held[key.fileobj] = held[key.fileobj][sent:] or _PARTS
    for connection in held:
        connection.close()
    selector.close()
    return said
