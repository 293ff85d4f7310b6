#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of fuzzing: tests/fuzz/corpus/NAME/seed-* for fuzz_NAME.

Each seed takes one path deep into the code. Files of other names in those folders, which are not
changed, are inputs that once showed a bug or that the fuzzer kept. The inputs are programs: every
choice is a byte (below(n) is the byte modulo n), numbers are little-endian, and missing bytes at
the end are zero. act() in the target's source defines the numbers of actions.
"""

import io
import pathlib
import struct
import sys
import tarfile

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
sys.path.append(str(CORPUS.parent.parent / "e2e"))
import wire  # noqa: E402
HEADER = "<IHBBBBHIIiIIIIQQQQQQQQIIQQ"
MAGIC = 0x4F525453


def header(kind, *, dtype=0, flags=0, key=(0, 0), size=0, version=0, sequence=1):
    """The 128 bytes of wire::Header."""
    return struct.pack(HEADER, MAGIC, 1, kind, dtype, 0, 0, flags, 1, 2, 0, *key, size, 0,
                       version, 0, sequence, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def frames():
    """A mask of the fields made valid, the length received, a header."""

    def frame(valid, size, bytes_of_header):
        return bytes([valid]) + struct.pack("<I", size) + bytes_of_header

    yield "control", frame(0, 5, header(1, size=5))
    yield "push", frame(0, 64, header(2, dtype=1, flags=1, key=(1, 2), size=64, version=1))
    yield "push-odd", frame(0, 63, header(2, dtype=2, key=(1, 2), size=63))
    yield "push-absent", frame(0, 0, header(2, dtype=1, flags=6))
    yield "pull", frame(0, 0, header(3, key=(1, 0), version=3))
    yield "pull-with-bytes", frame(0, 8, header(3, size=8))
    yield "value", frame(0, 8, header(4, dtype=2, size=8))
    yield "done", frame(0, 0, header(5))
    yield "credit", frame(0, 0, header(6))
    yield "control-too-long", frame(0, (1 << 20) + 1, header(1, size=(1 << 20) + 1))
    yield "push-too-long", frame(0, (1 << 30) + 4, header(2, dtype=1, size=(1 << 30) + 4))
    yield "other-length", frame(0, 9, header(1, size=5))
    yield "call", frame(0, 7, header(8, size=7, version=1))
    yield "answer", frame(0, 0, header(9, version=1))
    yield "up", frame(0, 8, header(10, dtype=2, flags=256, size=8, version=1))
    yield "up-absent", frame(0, 0, header(10, dtype=2, flags=4))
    yield "down", frame(0, 8, header(11, dtype=2, size=8, version=1))
    yield "other-kind", frame(0, 0, header(12))
    yield "other-flags", frame(0, 0, header(2, flags=0x80))
    yield "all-valid", frame(15, 16, bytes(range(128)))


def batches():
    """A mask (1 bytes of a connection, 2 valid lengths, 4 a small limit, 8 our own frames), then
    messages of parts: size, whether its unit is headers, bytes; or the bytes of a connection."""

    def message(*parts):
        out = bytes([len(parts) - 1])
        for part in parts:
            if part and len(part) % 128 == 0:
                out += struct.pack("<HB", len(part) // 128, 1) + part
            else:
                out += struct.pack("<HB", len(part), 0) + part
        return out

    def batch(lengths):
        headers = b"".join(header(2, dtype=1, size=n, sequence=i) for i, n in enumerate(lengths))
        return headers, struct.pack(f"<{len(lengths)}I", *lengths) + b"p" * sum(lengths)

    yield "frame", b"\0" + message(header(2, dtype=1, size=8), b"12345678")
    yield "empty-payload", b"\0" + message(header(6), b"")
    yield "hello", b"\0" + message(b"") + message(header(6), b"")
    yield "batch", b"\0" + message(*batch([8, 0, 500]))
    opening = b"\1\7" + wire.greeting()
    yield "connection", opening + wire.message(*batch([4, 4])) * 3
    yield "connection-large", opening + wire.message(header(2, dtype=1, size=9000), b"p" * 9000) * 2
    yield "connection-endless", opening + wire.head(1, 9000) + bytes(3000)
    yield "batch-made-right", b"\2" + message(batch([4] * 5)[0], b"x" * 300)
    yield "batch-above-limit", b"\4" + message(*batch([4, 2000]))
    yield "batch-lengths-wrap", b"\0" + message(batch([4, 4])[0],
                                               struct.pack("<2I", 0xFFFFFFFF, 9) + b"p" * 8)
    yield "batch-without-lengths", b"\0" + message(batch([4, 4])[0], b"")
    yield "most", b"\0" + message(*batch([0] * 256))
    yield "too-many", b"\0" + message(*batch([0] * 257))
    yield "four-parts", (b"\0" + message(header(6), b"", b"more", b"and more")
                         + message(header(6), b""))
    yield "ours", b"\x08\1" + b"".join(struct.pack("<H", n) + b"q" * n for n in (4, 0, 200, 8000))


def routed_batches():
    """batches() without connections; each also for a ROUTER, whose messages begin with an id."""
    for name, content in batches():
        if not content[0] & 1:
            yield name, content
            yield f"{name}-routed", bytes([content[0] | 16]) + content[1:]


def field(number, value):
    """A field of a Protobuf message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def roster():
    members = b"".join(
        field(5, field(1, node) + field(2, role) + field(3, rank) + field(5, b"a:1"))
        for node, role, rank in ((2, 2, 0), (3, 3, 0), (4, 3, 1)))
    settings = b"".join(field(i, v) for i, v in enumerate(
        (4096, 1 << 20, 1 << 22, 500_000_000, 5_000_000_000, 10**10, 10**11), 1))
    return (field(1, 1) + field(2, 1) + field(3, 2) + field(4, 1) + members + field(6, settings)
            + field(7, 4096))


def controls():
    """0 and a message's own bytes, or 1 and a program of control_from() in messages.cc."""
    spec = field(1, b"weights") + field(2, 1) + field(3, 1000) + field(4, 1) + field(6, 5)
    for name, number, body in (
            ("hello", 1, field(1, 1) + field(2, b"secret") + field(3, 3) + field(5, 2)),
            ("welcome", 2, field(1, 2)), ("resume", 22, field(1, 4) + field(2, b"secret")),
            ("fault", 3, field(1, 2) + field(2, b"cause") + field(3, 1)),
            ("roster", 4, roster()), ("roster-of-empty-members", 4, field(5, b"") * 50),
            ("declare", 5, field(1, spec)), ("hello-of-empty-fields", 1, field(99, b"") * 50),
            ("declared", 6, field(1, 1) + field(3, b"weights") + field(4, field(2, 9))),
            ("open", 7, field(1, 1) + field(2, spec)),
            ("failure", 11, field(1, 6) + field(2, b"worker 1") + field(3, b"lost"))):
        yield name, b"\0" + field(number, body)
    yield "nothing", b"\0"
    for body in range(14):
        yield f"made-{body}", bytes([1, body]) + bytes(range(1, 60))


# Actions of fuzz_session; each is followed by a delay in steps of 4 us.
WAIT = 255


def hello(line=0, role=1, rank=0, shard=0, node=0):
    shard_bytes = [3, 0, shard] if shard else [0]
    return bytes([1, role, rank, *shard_bytes, 0, node, 0, line, WAIT])


def connect(to_shard):
    return bytes([0, 0 if to_shard else 1, WAIT])


def push(line, *, tensor=0, part=0, version=1, flags=1, dtype=0, size=0, fill=7):
    """`size` is an index into send_data()'s sizes; size 0 is a whole part."""
    body = [4, line, 1, 0, tensor, 0, part, 0, version, 0, 0, 0, 0, 0, flags, 0, dtype, size]
    return bytes(body) + bytes([fill]) * 64 + bytes([0, WAIT])


def pull(line, *, tensor=0, part=0, version=1):
    return bytes([4, line, 0, 0, tensor, 0, part, 0, version, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
                  WAIT])


def spec(name=0, elements=0, mode=0, rule=0):
    """spec_from(): f32, with common parameters of the rule."""
    return bytes([0, name, 0, 0, 0, elements, 0, mode, 0, rule, 0, 0, 0, 0, 0, 1, 1, 1, 0, 2])


def control(line, body, *fields):
    return bytes([2, line, body, *fields, 0, WAIT])


def passing(step, deaf=None):
    """A delay; with `deaf`, the peer first stops reading (1) or reads everything again (0)."""
    return bytes([10, 0, step, WAIT] if deaf is None else [10, 3, int(deaf), step, WAIT])


HONEST = bytes([11, WAIT])


def sessions():
    """The scene, then actions. Scenes: 0 stranger, 1 member, 2 early."""
    stranger, member, early = b"\0", b"\1", b"\2"
    yield "stranger-greets", (stranger + connect(False) + hello(node=2) + HONEST + connect(True)
                              + hello(node=3) + HONEST)
    yield "stranger-other-shard", stranger + connect(False) + hello(rank=1, shard=3) + HONEST
    yield "stranger-pushes", stranger + connect(True) + push(0) + pull(0) + HONEST
    yield "stranger-floods", (stranger + connect(False) * 20 + bytes([8, 0, 9, 1, 0, 0, 4, WAIT])
                              + HONEST)
    for mode in range(3):
        for rule in range(9):
            yield f"member-{mode}-{rule}", (
                member + spec(elements=0, mode=mode, rule=rule) + push(0) + HONEST
                + push(0, version=2) + pull(0) + push(0, version=1) + push(0, part=1)
                + passing(3) + HONEST)
    yield "member-broadcasts", (member + spec() + push(0, tensor=1, flags=3) + HONEST
                                + push(0, tensor=1, flags=7, size=2, version=2))
    yield "member-shares", (member + spec() + push(0, tensor=1) + push(0, tensor=1, part=1)
                            + push(0, tensor=1, part=2, size=1) + HONEST + HONEST)
    yield "member-declares", (member + spec() + control(1, 5, *spec(name=1))
                              + control(1, 5, *spec(name=1, elements=1)) + HONEST)
    yield "member-huge", (member + spec() + bytes([2, 1, 5, 0, 1, 0, 4, 15]) + b"\0\0\0\0\x7f\0\0\0"
                          + bytes([0] * 20) + HONEST)
    yield "member-barriers", member + spec() + control(1, 8, 0, 1) + control(1, 8, 0, 7) + HONEST
    yield "member-sits-out", (member + spec() + control(1, 20, 1, 0) + push(0) + HONEST
                              + control(1, 20, 1, 1) + push(0, version=2) + HONEST)
    yield "member-leaves", member + spec() + control(1, 10) + HONEST + passing(4) + HONEST
    yield "member-reports", member + spec() + control(1, 12, 0, 2) + passing(5) + HONEST
    yield "member-greets-again", member + spec() + hello(line=1) + hello(line=0, node=2) + HONEST
    yield "member-beats", (member + spec() + bytes([8, 1, 9, 0, 1, 0, 0, 0, 255, WAIT])
                           + bytes([8, 0, 9, 0, 1, 0, 1, 1, 255, WAIT]) + HONEST)
    yield "member-deaf", (member + spec(mode=1) + passing(0, deaf=True)
                          + bytes([8, 0, 9, 0, 1, 0, 1, 1, 255, WAIT]) * 30
                          + bytes([8, 1, 9, 0, 1, 0, 0, 0, 255, WAIT]) * 30)
    yield "member-ahead", (member + spec(mode=1)
                           + b"".join(push(0, version=v) for v in range(1, 8)) + pull(0) * 8)
    yield "early-greets", (early + connect(False) + hello() + hello(rank=1) + connect(True)
                           + hello(node=2) + passing(4))
    yield "early-closes", early + connect(False) + hello(rank=1) + bytes([9, 0, WAIT]) + passing(3)


def worker_declare(name=0, elements=1, mode=0):
    return bytes([0, name, elements, 1 - mode, WAIT])


def begin(tensor, kind):
    return bytes([1, tensor, kind, WAIT])


def answer(peer, *, done=False, line=0, size=1):
    """The requested value, of the size of the contribution."""
    return bytes([5, peer, line, 3 if done else 0, 0, 0, 0, 0, 0, 0, 0, size]) + bytes(70) + b"\xff"


def workers():
    """Inputs for fuzz_worker. Byte 0 is a bit mask of the connection steps in which a fuzzed peer
    violates the protocol; actions follow."""
    honest = b"\0"
    yield "push-pull", honest + worker_declare() + begin(0, 2) + answer(1) + answer(2) + answer(1)
    yield "push", honest + worker_declare() + begin(0, 0) + answer(1, done=True) + begin(0, 0)
    yield "pull", honest + worker_declare(elements=0) + begin(0, 1) + answer(1, size=0)
    yield "broadcast", (honest + worker_declare() + begin(0, 3) + begin(0, 4) + answer(1)
                        + answer(2))
    yield "large", (honest + worker_declare(elements=4) + begin(0, 2) + answer(1) + answer(2)
                    + begin(0, 0) * 4)
    yield "barrier", honest + bytes([10, WAIT]) + bytes([3, 0, 0, 1, 8, 0, 1, 0, WAIT])
    yield "leave", honest + worker_declare() + bytes([11, 7, WAIT])
    yield "roster-again", honest + worker_declare() + bytes([3, 0, 0, 0, 0, 2, 1, 0, 1, 0, 0, 1, 1])
    yield "same-id-twice", (b"\4" + worker_declare(elements=1)
                            + bytes([3, 0, 0, 1, 6, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, WAIT])
                            + worker_declare(name=1, elements=4)
                            + bytes([3, 0, 0, 1, 6, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 0, WAIT])
                            + begin(1, 2) + begin(0, 2))
    yield "fault", (honest + worker_declare() + begin(0, 2)
                    + bytes([3, 1, 0, 1, 3, 0, 2, 0, 0, 1, 0, 0, 0, 0, WAIT]))
    yield "breaks", honest + worker_declare() + begin(0, 2) + bytes([9, 1, 0, 1, WAIT]) * 2
    groups = honest + bytes([12, 0, 1, WAIT]) + bytes([12, 1, 1, WAIT])
    yield "group", groups + b"".join(bytes([13, 0, 1, kind, WAIT]) for kind in range(9))
    yield "group-frames", groups + bytes([8, 1, 0, 10, 0, 1, 0, 1, 0, 0, 1, 0, WAIT]) * 2
    yield "no-welcome", b"\1" + bytes([9, 0, 0, 4, WAIT])
    yield "no-roster", b"\2" + bytes([9, 0, 0, 4, WAIT])


def group(exchange=0, *, ranks=0, ordered=0):
    return bytes([16, ranks, 0, ordered, exchange, WAIT])


def member_call(kind, *, root=0, elements=0, more=b""):
    return bytes([17, 0, kind - 1, 0, 0, root, elements]) + more + bytes([0, WAIT])


def call_frame(other, kind, *, up=True, number=2, root=0, elements=0, block=0, absent=False):
    size = 0 if absent else min(64, 4 * (16, 1, 0, 40)[elements])
    return (bytes([20, other, 0, kind - 1, 0, 0, root, elements, up, 0, 0, number - 1, 0,
                   absent, block, 0, 0, 0, 0]) + bytes([0, 0, 128, 63] * 16)[:size]
            + bytes([0, WAIT]))


def amongs():
    """A mask of the other workers' dishonest steps, then actions."""

    def declare(exchange, *, name=0, elements=0, rule=0, ordered=0):
        return bytes([0, name, elements, rule, ordered, exchange, WAIT])

    def call(kind=0, tensor=0):
        return bytes([2, tensor, kind, WAIT])

    def frame(other, *, up=True, tensor=0, part=0, round_=0, size=0):
        payload = bytes([0, 0, 128, 63] * 16) if size == 0 else bytes([64, 32, 4, 0][size])
        return (bytes([5, other, 0, up, tensor, 0, part, 0, round_, 0, 0, 0, 0, size]) + payload
                + bytes([0, WAIT]))

    def answer(other, size=64):
        return bytes([8, other, 0, 0, 0, 0]) + bytes(size) + bytes([0, WAIT])

    def word(other, tensor, which, *more):
        return bytes([12, other, 0, 0, tensor, which, *more, WAIT])

    both = frame(0) + frame(1)
    answers = answer(0) + answer(1)
    for exchange, way in enumerate(("servers", "direct", "ring", "halving", "tree")):
        yield way, b"\0" + declare(exchange) + (call() + both + answers) * 3
        yield f"{way}-in-order", (b"\0" + declare(exchange, ordered=1, rule=1) + both + call()
                                  + answers)
        yield f"{way}-parts", (b"\0" + declare(exchange, elements=1) + call() * 3
                               + b"".join(frame(0, part=i) + frame(1, part=i) for i in (0, 1))
                               + answers * 3)
    yield "broadcast", b"\0" + declare(1) + call(3) + answers + call(4) + both + answers
    yield "mismatch", b"\0" + declare(1) + both + call(4)
    yield "down-unasked", b"\0" + declare(2) + call() + frame(0, up=False) + frame(1, up=False)
    yield "early-round", b"\0" + declare(2) + frame(0, round_=3) + call()
    yield "short", b"\0" + declare(1) + call() + frame(0, size=1) + frame(1, size=1)
    yield "fault", b"\0" + declare(1) + call() + word(0, 1, 1, 0, 1) + call()
    yield "fault-before", b"\0" + word(1, 1, 1, 0, 1) + declare(1) + call()
    yield "leaves", b"\0" + declare(1) + call() + word(0, 1, 2) + both + call()
    yield "opens-unknown", b"\0" + word(0, 5, 0) + declare(1) + word(1, 1, 0) * 2 + call()
    yield "no-open", b"\2" + declare(2) + call() * 2 + word(0, 1, 0) + word(1, 1, 0) + answers
    yield "no-greeting", b"\1" + declare(2) + call() + bytes([14, 0, 0, 5, 3, WAIT]) * 4
    yield "no-call", b"\4" + declare(2) + call() + bytes([13, 1, 0, 0, WAIT]) + both + answers
    yield "calls-twice", b"\0" + declare(1) + bytes([13, 1, 0, 0, WAIT]) * 2 + call() + both
    yield "calls-as-another", b"\4" + declare(1) + bytes([13, 1, 1, 0, 4, 0, WAIT]) + call()
    yield "breaks", b"\0" + declare(2) + call() + bytes([14, 0, 0, 0, WAIT]) + call()
    yield "we-leave-at-once", b"\0" + declare(2) + bytes([15, 7, WAIT]) + both
    yield "we-leave", b"\0" + declare(2) + call() + bytes([15, 7, WAIT]) + both + answers
    meet = (answer(0, 0) + answer(1, 0)) * 2
    for exchange, way in enumerate(("direct", "ring", "halving", "tree")):
        made = b"\0" + group(exchange) + meet
        yield f"group-{way}", made + member_call(2) + call_frame(0, 2) + call_frame(1, 2) + answers
        yield f"group-{way}-in-order", (b"\0" + group(exchange, ordered=1) + meet
                                        + call_frame(1, 2) + member_call(2) + call_frame(0, 2))
    for kind in range(1, 10):
        made = b"\0" + group() + meet
        yield f"group-kind-{kind}", (made + member_call(kind, root=1) + call_frame(0, kind, root=1)
                                     + call_frame(1, kind, root=1) + meet)
        yield f"group-asks-{kind}", (made + call_frame(0, kind, root=1, absent=True)
                                     + call_frame(1, kind, root=1, absent=True, block=1)
                                     + member_call(kind, root=1) + meet)
    made = b"\0" + group() + meet
    yield "group-send", made + member_call(10, root=1, more=b"\0\0") + meet
    yield "group-receive", made + member_call(10, root=0, more=b"\0") + answers
    yield "group-disagrees", made + member_call(2) + call_frame(0, 4) + call_frame(1, 2)
    yield "group-early", b"\0" + call_frame(0, 2) + group() + meet + member_call(2)
    yield "group-late", made + call_frame(0, 2, number=1) + call_frame(0, 2, number=7)
    yield "group-of-two", (b"\0" + group(ranks=1) + meet + member_call(2) + call_frame(1, 2)
                           + call_frame(0, 2) + word(0, 1, 2) + member_call(2))
    yield "group-alone", b"\0" + group(ranks=3) + b"".join(member_call(k) for k in range(1, 10))
    yield "group-we-leave", made + member_call(2) + bytes([15, 7, WAIT]) + call_frame(0, 2)


def configs():
    """Lines: variables, words of a command line, hosts."""

    def lines(*words):
        return "\n".join(words).encode()

    yield "stretto", lines("STRETTO_WORLD_SIZE=4", "STRETTO_RANK=3", "STRETTO_SERVERS=2",
                           "STRETTO_SHARDS=2", "STRETTO_SCHEDULER=127.0.0.1:9000",
                           "STRETTO_PART_BYTES=4096", "STRETTO_HEARTBEAT_S=0.5",
                           "STRETTO_DEAD_AFTER_S=5", "STRETTO_MEMORY_LIMIT_MIB=100",
                           "STRETTO_LOG_LEVEL=debug", "STRETTO_OPERATION_TIMEOUT_S=1e2")
    yield "dmlc", lines("DMLC_NUM_WORKER=4", "BYTEPS_LOCAL_SIZE=2", "DMLC_WORKER_ID=1",
                        "BYTEPS_LOCAL_RANK=1", "DMLC_NUM_SERVER=1", "DMLC_PS_ROOT_URI=10.0.0.1",
                        "DMLC_PS_ROOT_PORT=9000", "STRETTO_JOB_TOKEN=secret")
    yield "bind", lines("STRETTO_BIND_HOST=0.0.0.0", "STRETTO_NODE_HOST=10.0.0.2")
    yield "wrong", lines("STRETTO_RANK=-2", "STRETTO_WORLD_SIZE=0", "STRETTO_PART_BYTES=65")
    yield "launch", lines("--workers", "4", "--servers=2", "-np", "3", "--env", "A=B",
                          "--start-timeout=5", "--grace", "0.5", "--dry-run", "--", "python3",
                          "train.py")
    yield "hosts", lines("-H", "localhost:4,127.0.0.1:2", "--hostfile", "hosts", "program")
    yield "hostfile", lines("# hosts", "localhost slots=4", "127.0.0.1:2", "[::1]:3", "::1")
    yield "unknown", lines("--wrokers", "4")
    yield "check", lines("--check", "--worker-hostfile=w", "--server-hostfile=s", "--via=local")


def codecs():
    """The codec - 1, k - 1, levels, norm, elements, whether the length is made valid, the payload;
    or 7 and rules."""

    def part(codec, k, count, payload, right=1, levels=0, norm=0):
        return (bytes([codec - 1, k - 1, levels, norm]) + struct.pack("<H", count)
                + bytes([right]) + payload)

    for name, codec in (("fp16", 1), ("bf16", 2), ("int8", 3), ("onebit", 4)):
        yield name, part(codec, 1, 300, bytes(range(256)))
    yield "topk", part(5, 103, 500, struct.pack("<103I", *range(0, 412, 4)) + b"\x3f" * 412)
    yield "topk-outside", part(5, 101, 101, struct.pack("<101I", *range(1, 102)))
    yield "topk-twice", part(5, 2, 200, struct.pack("<4I", 5, 5, 6, 7))
    yield "topk-short", part(5, 2, 200, b"short", right=0)
    yield "randomk", part(6, 10, 400, bytes(range(200)))
    for bits, k in ((2, 1), (4, 7), (8, 120)):
        for levels in (0, 1):
            yield f"dithering-{bits}-{levels}", part(7, k, 333, b"\0\0\x80\x3f" + bytes(
                range(256)), levels=levels)
    yield "rules", bytes([7]) + b"*.bias=none;l?yer*=topk,k=0.01,ef=vanilla;onebit,scaling=true"
    yield "rules-wrong", bytes([7]) + b"*=dithering,k=200"


def agents():
    """Whether the greeting has been received, the size of pieces - 1, and the received bytes."""

    def agent_frame(kind, *texts, number=0, detail=0, member=0):
        body = struct.pack("<BBIqI", kind, detail, member, number, len(texts))
        body += b"".join(struct.pack("<I", len(text)) + text for text in texts)
        return struct.pack("<I", len(body)) + body

    hello = agent_frame(1, b"0.1.0", b"host", b"secret", b"192.0.2.1", b"192.0.2.2",
                        b"eth0=192.0.2.2", number=3)
    greeting = b"stretto-agent 1\n"
    yield "hello", bytes([0, 255]) + greeting + hello
    yield "noise", bytes([0, 2]) + b"Welcome!\nstretto-agent " + greeting + hello
    yield "output", bytes([1, 99]) + agent_frame(9, b"a line\n", detail=1, member=2) + \
        agent_frame(10, number=9, detail=1, member=2)
    yield "start", bytes([1, 0]) + agent_frame(2, b"/", b"sh", b"sh", b"-c", b"A=b", number=2)
    yield "finished", bytes([1, 7]) + agent_frame(14)
    yield "other-kind", bytes([1, 99]) + agent_frame(15)
    yield "too-long", bytes([1, 99]) + struct.pack("<I", 1 << 31)
    yield "short-text", bytes([1, 99]) + struct.pack("<IBBIqII", 22, 9, 0, 0, 0, 1, 1 << 30)


def crc32c(data):
    """The CRC-32C of the C++ code, computed bit by bit, and masked as in TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records():
    """Whether the file is a tar archive, whether a limit follows, the limit, the file."""

    def tfrecord(payload):
        length = struct.pack("<Q", len(payload))
        return length + crc32c(length) + payload + crc32c(payload)

    def tar(kind, *files):
        with io.BytesIO() as file:
            with tarfile.open(fileobj=file, mode="w", format=kind) as shard:
                for name, content in files:
                    about = tarfile.TarInfo(name)
                    about.size = len(content)
                    shard.addfile(about, io.BytesIO(content))
            return file.getvalue().rstrip(b"\0")

    three = tfrecord(b"one") + tfrecord(b"") + tfrecord(bytes(300))
    long = "d" * 120 + "/" + "n" * 90 + ".txt"
    yield "tfrecord", b"\0\0" + three
    yield "tfrecord-limit", b"\0\1\x10\0" + three
    yield "tfrecord-truncated", b"\0\0" + three[:-9]
    yield "tfrecord-length", b"\0\0" + b"\x04" + three[1:]
    yield "tfrecord-payload", b"\0\0" + three[:13] + b"?" + three[14:]
    yield "ustar", b"\1\0" + tar(tarfile.USTAR_FORMAT, ("a/1.x", b"X"), ("a/1.y", bytes(600)),
                                ("b", b""))
    yield "pax", b"\1\0" + tar(tarfile.PAX_FORMAT, (long, b"X"), ("ü.t", b"Y"))
    yield "gnu", b"\1\0" + tar(tarfile.GNU_FORMAT, (long, b"X"), ("2.t", b"Y"))
    yield "gnu-limit", b"\1\1\x00\x04" + tar(tarfile.GNU_FORMAT, ("1.t", bytes(2000)))


def checkpoints():
    """A manifest's JSON; or an index and its entries. Both are from the golden checkpoints."""
    golden = CORPUS.parent.parent / "checkpoint" / "golden"
    for manifest in sorted(golden.glob("ckpt-1/MANIFEST")):
        body = manifest.read_bytes().split(b"\n", 1)[1]
        yield f"manifest-{manifest.parent.name}", b"\1" + body
    for parts in sorted(golden.glob("ckpt-1/*.parts")):
        content = parts.read_bytes()
        begin, length = struct.unpack("<QQ", content[-32:-16])
        index = content[begin:begin + length]
        yield (f"{parts.parent.name}-{parts.stem}",
               b"\0" + struct.pack("<H", length) + index + content[64:begin])


def main():
    makers = {"frame": frames, "control": controls, "session": sessions, "worker": workers,
              "config": configs, "agent": agents, "codec": codecs, "tcp": batches,
              "zmq": routed_batches, "records": records, "among": amongs,
              "checkpoint": checkpoints}
    for name, seeds in makers.items():
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        for seed, content in seeds():
            (folder / f"seed-{seed}").write_bytes(content)


if __name__ == "__main__":
    main()
