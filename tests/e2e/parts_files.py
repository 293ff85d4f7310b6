# SPDX-License-Identifier: Apache-2.0
"""Writes files of parts and manifests by docs/CHECKPOINTS.md without Stretto's code, including
files that Stretto would not write."""

import functools
import json
import struct
import typing

PART, ATTACHED = 1, 2
OF_ALL = -1
CHUNK = 4 << 20
DTYPES = {None: 0, "f32": 1, "f64": 2, "f16": 3, "bf16": 4, "i8": 5, "u8": 6, "i32": 7, "i64": 8}


class Entry(typing.NamedTuple):
    """A stripe of an attachment; a dtype may be an invalid number."""

    name: str
    data: bytes
    part: int = 0
    rank: int = OF_ALL
    total: typing.Optional[int] = None  # None: the stripe is whole.
    dtype: typing.Union[None, str, int] = None
    shape: str = ""


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


_TABLE = tuple(_table())


@functools.lru_cache(maxsize=4)  # Large chunks take a second, and are often the same.
def crc32c(data, before=0):
    """The CRC of `data`, behind bytes with the CRC `before`."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _varint(number):
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data) + bytes([number])


def _number(field, value):
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value if value else b""


def _encoded(entry):
    sums = b"".join(struct.pack("<I", crc32c(entry.data[at:at + CHUNK]))
                    for at in range(0, len(entry.data), CHUNK))
    zigzag = 2 * entry.rank if entry.rank >= 0 else -2 * entry.rank - 1
    total = len(entry.data) if entry.total is None else entry.total
    return b"".join((
        _number(1, ATTACHED), _bytes(2, entry.name.encode()), _number(3, entry.part),
        _number(4, zigzag), _number(5, len(entry.data)), _bytes(7, sums), _number(10, total),
        _number(11, DTYPES.get(entry.dtype, entry.dtype)), _bytes(12, entry.shape.encode())))


def write_parts(path, manifest, entries):
    """Writes the file, and adds it to the manifest."""
    head = b"STRTPART" + struct.pack("<IIQQQ20x", 1, 0, int(manifest["job"], 16),
                                     manifest["number"], manifest["step"])
    head_sum = crc32c(head)
    head += struct.pack("<I", head_sum)
    index = b"".join(_bytes(1, _encoded(entry)) for entry in entries)
    offset = len(head) + sum(len(entry.data) for entry in entries)
    end = struct.pack("<QQII", offset, len(index), crc32c(index), head_sum) + b"STRTPEND"
    with path.open("wb") as file:
        for piece in (head, *(entry.data for entry in entries), index, end):
            file.write(piece)
    manifest["files"].append({"name": path.name, "bytes": path.stat().st_size,
                              "entries": len(entries),
                              "seal": f"{crc32c(head + index + end):08x}"})


def read_manifest(path):
    """Reads the manifest of a valid checkpoint."""
    return json.loads(path.read_bytes().split(b"\n", 1)[1])


def write_manifest(path, manifest):
    """Writes the manifest, which makes its files a checkpoint."""
    text = json.dumps(manifest).encode()
    path.write_bytes(f"stretto checkpoint 1 crc32c {crc32c(text):08x}\n".encode() + text)
