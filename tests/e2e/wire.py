# SPDX-License-Identifier: Apache-2.0
"""Stretto's framing and control messages by hand: enough for a handshake with a member, and for
messages that no node sends. docs/TRANSPORTS.md and van/wire/header.h are the sources.
"""

import socket
import struct

CONNECTOR, LISTENER = 1, 2
GREETING_BYTES = 16
MAGIC = 0x4F525453
PROTOCOL = 5
CONTROL, PUSH, PULL, VALUE, DONE, CREDIT = range(1, 7)
WORKER, SERVER = 3, 2
# Fields of wire.Control.body, by their number in control.proto.
HELLO, WELCOME, FAULT, ROSTER, DECLARE, DECLARED, OPEN, BARRIER, HEARTBEAT, LEAVE, FAILURE, \
    LINK_REPORT = range(1, 13)
_HEADER = struct.Struct("<IHBBBBHIIiIIIIQQQQQQQQIIQQ")
assert _HEADER.size == 128


def greeting(name=b"stretto\0", version=1, side=CONNECTOR):
    """The first bytes of both ends."""
    return name + struct.pack("<HB5x", version, side)


def head(frames, payload_bytes):
    """The first bytes of each message; the numbers may be false."""
    return struct.pack("<II", frames % 2**32, payload_bytes % 2**32)


def message(headers, payload=b""):
    """A message of whole headers, mostly a single header, and their payload."""
    return head(len(headers) // 128, len(payload)) + headers + payload


def header(payload_bytes, kind=CONTROL, sequence=1, **fields):
    """A data header; fields that are not named are zero."""
    names = ("magic", "protocol", "kind", "dtype", "codec", "memory", "flags", "epoch", "sender",
             "priority", "tensor", "part", "bytes", "checksum", "version", "base", "sequence",
             "credit", "push_sequence", "received", "acked", "own_applied", "spread",
             "contributors", "deadline", "reserved")
    values = {"magic": MAGIC, "protocol": PROTOCOL, "kind": kind, "bytes": payload_bytes,
              "sequence": sequence} | fields
    return _HEADER.pack(*(values.get(name, 0) for name in names))


def control(body, sequence=1, **fields):
    """A whole control message."""
    return message(header(len(body), sequence=sequence, **fields), body)


def varint(value):
    value &= (1 << 64) - 1  # Negative numbers are ten bytes, as in Protobuf.
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def fields(**values):
    """A Protobuf message from f1=..., f2=...: whole numbers, text and bytes."""
    out = b""
    for name, value in values.items():
        number = int(name[1:])
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def body(kind, content=b""):
    """A wire.Control of this kind."""
    return fields(**{f"f{kind}": content})


def hello(rank=-1, workers=2, servers=2, role=WORKER, protocol=PROTOCOL, token="", node=0,
          host="stranger:1", version="0.0.0"):
    return body(HELLO, fields(f1=protocol, f2=token, f3=role, f4=rank, f5=workers, f6=servers,
                              f7=node, f8="127.0.0.1:9", f10=1, f11=host, f12=version))


def parse(data):
    """Protobuf's fields: number to the last value, a number or bytes."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        elif key & 7 == 1:
            found[key >> 3] = data[at:at + 8]
            at += 8
        else:
            size = number()
            found[key >> 3] = data[at:at + size]
            at += size
    return found


class Connection:
    """A TCP connection that sends any bytes."""

    def __init__(self, address, seconds=10.0):
        self.socket = socket.create_connection(address, timeout=seconds)
        self._received = b""
        self._frames = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        """Sends; False if the peer has closed the connection, as it may."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def _take(self, count):
        while len(self._received) < count:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("the far end hung up")
            self._received += data
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def pass_greeting(self):
        """Waits for the peer's greeting; False if the peer closes instead, or sends too little."""
        try:
            self._take(GREETING_BYTES)
        except (OSError, EOFError):
            return False
        return True

    def finish(self):
        """Closes the sending direction."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # The peer has closed already.

    def open(self):
        """Sends the greeting, and waits for the peer's greeting."""
        self.send(greeting())
        if self._take(GREETING_BYTES) != greeting(side=LISTENER):
            raise EOFError("the far end did not greet as a node does")
        return self

    def receive(self):
        """Header and payload of the next frame."""
        if not self._frames:
            count, payload_bytes = struct.unpack("<II", self._take(8))
            headers = [self._take(128) for _ in range(count)]
            payload = self._take(payload_bytes)
            lengths = [payload_bytes]
            if count > 1:
                lengths = struct.unpack_from(f"<{count}I", payload)
                payload = payload[4 * count:]
            for one, length in zip(headers, lengths, strict=True):
                self._frames.append((one, payload[:length]))
                payload = payload[length:]
        return self._frames.pop(0)

    def receive_control(self):
        """(kind, fields) of the next control message."""
        while True:
            one, payload = self.receive()
            if one[6] == CONTROL:
                kind, content = next(iter(parse(payload).items()))
                return kind, parse(content)

    def hung_up(self):
        """Waits, within the socket's timeout, for the peer to close; False if it does not."""
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True
