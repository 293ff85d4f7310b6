# SPDX-License-Identifier: Apache-2.0
"""ZMTP 3.0 and Stretto's frames by hand: enough to greet a scheduler or a server as a node would,
and to say things that no node says. https://rfc.zeromq.org/spec/23/ and van/wire.h are the sources.
"""

import socket
import struct

MORE, LONG, COMMAND = 1, 2, 4
MAGIC = 0x4F525453
PROTOCOL = 5
CONTROL, PUSH, PULL, VALUE, DONE, CREDIT = range(1, 7)
WORKER, SERVER = 3, 2
# Fields of wire.Control.body, by their number in control.proto.
HELLO, WELCOME, FAULT, ROSTER, DECLARE, DECLARED, OPEN, BARRIER, HEARTBEAT, LEAVE, FAILURE, \
    LINK_REPORT = range(1, 13)
_HEADER = struct.Struct("<IHBBBBHIIiIIIIQQQQQQQQIIQQ")
assert _HEADER.size == 128


def greeting(mechanism=b"NULL"):
    return (b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + mechanism.ljust(20, b"\0") + b"\0"
            + bytes(31))


def frame(body, flags=0, length=None):
    """One ZMTP frame; `length` lies about its size, and takes the long form."""
    if length is not None:
        return struct.pack(">BQ", flags | LONG, length) + body
    if len(body) > 255:
        return struct.pack(">BQ", flags | LONG, len(body)) + body
    return struct.pack(">BB", flags, len(body)) + body


def ready(socket_type=b"DEALER"):
    name, value = b"Socket-Type", socket_type
    body = b"\x05READY" + bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
    return frame(body, COMMAND)


def opening():
    """What a DEALER says first: greeting, READY, and the empty message that names it."""
    return greeting() + ready() + frame(b"")


def message(*parts):
    return b"".join(frame(part, MORE if i + 1 < len(parts) else 0) for i, part in enumerate(parts))


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
    """A whole control message as ZMTP frames."""
    return message(header(len(body), sequence=sequence, **fields), body)


def varint(value):
    value &= (1 << 64) - 1  # Negative numbers are ten bytes, as Protobuf has them.
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
    """A TCP connection that speaks ZMTP as far as it is told to."""

    def __init__(self, address, seconds=10.0):
        self.socket = socket.create_connection(address, timeout=seconds)
        self._received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        """Sends; False if the far end has hung up, which is its right."""
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
        """Waits for the far end's greeting; False if it hung up instead, or said too little."""
        try:
            self._take(64)
        except (OSError, EOFError):
            return False
        return True

    def finish(self):
        """Says that nothing more will come."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # It hung up already.

    def open(self):
        """The whole handshake, in the order of the specification."""
        self.send(greeting())
        self._take(64)
        self.send(ready())
        flags, _ = self._frame()
        if not flags & COMMAND:
            raise EOFError("the far end did not say READY")
        self.send(frame(b""))
        return self

    def _frame(self):
        flags = self._take(1)[0]
        size = struct.unpack(">Q", self._take(8))[0] if flags & LONG else self._take(1)[0]
        return flags, self._take(size)

    def receive(self):
        """The next message's parts; commands and empty messages are passed over."""
        parts = []
        while True:
            flags, data = self._frame()
            if flags & COMMAND:
                continue
            parts.append(data)
            if flags & MORE:
                continue
            if parts != [b""]:
                return parts
            parts = []

    def receive_control(self):
        """(kind, fields) of the next control message."""
        while True:
            parts = self.receive()
            if len(parts) == 2 and parts[0][6] == CONTROL:
                kind, content = next(iter(parse(parts[1]).items()))
                return kind, parse(content)

    def hung_up(self):
        """Waits, within the socket's timeout, for the far end to close; False if it does not."""
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True
