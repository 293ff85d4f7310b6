# SPDX-License-Identifier: Apache-2.0
"""Some workers of a job, who make calls together: those of a C++ group (stretto/group.h), in
whatever order each of them asks for them.

A C++ group wants its calls in one order at all members. Here calls have labels, and each begins
with a meeting under its label, by messages whose tag is the label's digest: every member tells the
first one what it calls; the first one answers with what all have said, and with a number. In the
order of these numbers all members make the calls. (Horovod's coordinator, Sergeev and Del Balso,
arXiv 1802.05799, orders its calls for the same reason.)
"""

import collections
import contextlib
import json
import threading
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import torch

from stretto import _core, errors, session
from stretto.torch import agreement, exchange, wire
from stretto.torch.alone import Alone

_ROOM = 1024  # Bytes of a first message: its length, and as much of its text as there is room for.
_HEAD = 8
_LONGEST_TEXT = 1 << 26
_PRIORITY = 0


class Ask(NamedTuple):
    """What a member calls.

    label      matches it with the others' calls: of one label they come in one order
    operation  for errors: what the user called
    facts      what must be the same at all members, as texts by text
    """

    label: str
    operation: str
    facts: Mapping[str, str]


class Call:
    """A call in flight: some tickets, and what makes a result of what has come. Thread: one at a
    time."""

    def __init__(self, tickets, finish):
        self._tickets = tickets
        self._finish = finish
        self._result = None

    def done(self):
        """True once it has ended."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self):
        """Waits for the end, and returns the result. Raises what went wrong."""
        for ticket in self._tickets:
            ticket.wait()
        if self._finish is not None:
            self._result = self._finish()
            self._finish = None
        return self._result


class Group:
    """Some workers of a job of fixed size, by their ranks; none given: all. Each of them makes it,
    with the same ranks, and of the same ranks in the same order; that waits for all of them. Raises
    InvalidArgument unless these are ranks and this worker's is among them, Unsupported in elastic
    jobs. Thread: any."""

    def __init__(self, ranks: Optional[Sequence[int]] = None):
        now = session.current()
        if now.elastic:
            raise errors.Unsupported(
                "some workers together are for jobs of fixed size, and this one may lose workers "
                "and take others in; start it with --workers N, or use what is made of sums over "
                "all workers: push_pull, allgather and broadcast", operation="group")
        self._of_all = ranks is None
        self.ranks = checked_ranks(range(now.size) if ranks is None else ranks, now.size)
        if now.rank not in self.ranks:
            raise errors.InvalidArgument(f"worker {now.rank} is not among the workers "
                                         f"{self.ranks}, and only those call it",
                                         operation="group")
        self.rank = self.ranks.index(now.rank)
        self.size = len(self.ranks)
        self._core = Alone() if self.size == 1 else _core.Group.of(now.worker(), self.ranks)
        self._limit = _core.Options.from_environment().operation_timeout
        self._meetings: Dict[str, Any] = collections.defaultdict(threading.Lock)
        self._changed = threading.Condition()
        self._given = 0  # Numbers of calls, by the first member.
        self._turn = 0  # The number of the call that is next here.
        self._stuck: Optional[errors.Error] = None

    def begin(self, ask: Ask, told: Any, call: Any) -> Any:
        """Meets the others, and returns call(core, everybody): `core` is the _core.Group, or what
        has its calls; `everybody` what each member has told, by number: what JSON can carry. `call`
        only begins calls. Raises Mismatch, at all members, unless facts are the same."""
        if self._of_all and self.size > 1:  # There it also shows that somebody sits out.
            agreement.Agreement(ask.label, f"tensors in {ask.operation}", ask.facts,
                                ask.operation).wait()
        text = json.dumps({"facts": ask.facts, "told": told}, sort_keys=True).encode("utf-8")
        with self._meetings[ask.label]:
            number, texts = self._meet(ask, text)
        with self._in_turn(number, ask):
            everybody = [_read(each, ask) for each in texts]
            self._compare([facts for facts, _ in everybody], ask)
            return call(self._core, [words for _, words in everybody])

    def _compare(self, facts, ask):
        other = next((at for at, each in enumerate(facts) if each != facts[0]), None)
        if other is None:
            return
        mine = facts[self.rank]
        at = 0 if mine != facts[0] else other
        raise errors.Mismatch(
            f"worker {self.ranks[at]} has other tensors in {ask.operation} than we, worker "
            f"{self.ranks[self.rank]}: {agreement.difference(mine, facts[at])}. All workers of "
            f"{self.ranks} need the same", operation=ask.operation)

    # ---- meetings

    def _meet(self, ask, text):
        # The number of the call, and what each member has said.
        tag = exchange.digest_of(ask.label)
        others = range(1, self.size)
        if self.rank > 0:
            said = self._say([0], tag, text)
            answer = _answer_in(self._hear([0], tag)[0], ask)
            for ticket in said:
                ticket.wait()
            return answer
        try:
            texts = [text.decode("utf-8")]
            texts += [heard.decode("utf-8", "replace") for heard in self._hear(others, tag)]
        except errors.Error as error:  # The others would wait for an answer.
            failed = {"failed": [error.code, error.cause, error.peer]}
            self._say(others, tag, json.dumps(failed).encode("utf-8"))
            raise
        with self._changed:
            number, self._given = self._given, self._given + 1
        answer = json.dumps({"number": number, "texts": texts}).encode("utf-8")
        try:
            for ticket in self._say(others, tag, answer):
                ticket.wait()
        except errors.Error as error:
            with self._changed:
                self._stuck = error  # Some may have the number, and some not.
                self._changed.notify_all()
            raise
        return number, texts

    def _say(self, others, tag, data):
        # A piece of fixed size first, since a receiver must know how much comes.
        head = torch.zeros(_ROOM, dtype=torch.uint8)
        both = len(data).to_bytes(_HEAD, "little") + data
        head[:min(len(both), _ROOM)] = _bytes_in(both[:_ROOM])
        pieces = [head] + ([_bytes_in(both[_ROOM:])] if len(both) > _ROOM else [])
        return [self._core.send(wire.place_of(piece), other, tag, _PRIORITY, piece)
                for other in others for piece in pieces]

    def _hear(self, others, tag):
        heads = [(other, *self._receive(other, tag, _ROOM)) for other in others]
        rests = []
        for other, ticket, head in heads:
            ticket.wait()
            length = int.from_bytes(head[:_HEAD].numpy().tobytes(), "little")
            if length > _LONGEST_TEXT:
                raise errors.Malformed(f"worker {self.ranks[other]} announces {length} bytes of "
                                       f"text, at most {_LONGEST_TEXT} are read")
            more = length + _HEAD - _ROOM
            rests.append((head, length, self._receive(other, tag, more) if more > 0 else None))
        texts = []
        for head, length, rest in rests:
            data = head[_HEAD:].numpy().tobytes()
            if rest is not None:
                rest[0].wait()
                data += rest[1].numpy().tobytes()
            texts.append(data[:length])
        return texts

    def _receive(self, other, tag, size):
        data = torch.zeros(size, dtype=torch.uint8)
        return self._core.receive(wire.place_of(data), other, tag, _PRIORITY, data), data

    # ---- turns

    @contextlib.contextmanager
    def _in_turn(self, number, ask):
        # Whoever has a number comes here, whatever became of its call, for the next one waits.
        with self._changed:
            self._changed.wait_for(lambda: self._stuck or self._turn == number, self._limit)
            if self._stuck is None and self._turn != number:
                self._stuck = errors.Timeout(
                    f"call {self._turn} of the workers {self.ranks} was not made within "
                    f"{self._limit:g} s, and those after it wait for it", operation=ask.operation)
            if self._stuck is not None:
                raise self._stuck
        try:
            yield
        finally:
            with self._changed:
                self._turn += 1
                self._changed.notify_all()


def checked_ranks(ranks: Sequence[int], size: int) -> List[int]:
    """These ranks, sorted. InvalidArgument unless they are some ranks of so many workers, each
    once."""
    found = sorted(ranks)
    for rank in found:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < size:
            raise errors.InvalidArgument(f"the ranks are {found}, wanted some of 0 to {size - 1}",
                                         operation="group")
    if not found or len(set(found)) < len(found):
        raise errors.InvalidArgument(f"the ranks are {found}, wanted at least one, each once",
                                     operation="group")
    return found


_of_all: "weakref.WeakKeyDictionary[session.Session, Group]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


def of_all() -> Group:
    """The group of all workers, made when it is first needed: by any thread, whatever it needs it
    for at another worker."""
    now = session.current()
    with _making:
        if now not in _of_all:
            _of_all[now] = Group()
        return _of_all[now]


def _bytes_in(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _loaded(data, ask):
    try:
        found = json.loads(data)
    except ValueError as error:
        raise errors.Malformed(f"a worker said no JSON: {error}", operation=ask.operation) \
            from error
    if not isinstance(found, dict):
        raise errors.Malformed("a worker said no JSON object", operation=ask.operation)
    return found


def _read(text, ask):
    found = _loaded(text, ask)
    facts = found.get("facts")
    if not isinstance(facts, dict) or not all(isinstance(fact, str) for fact in facts.values()):
        raise errors.Malformed("a worker told what it calls otherwise than as texts by text",
                               operation=ask.operation)
    return facts, found.get("told")


def _answer_in(data, ask):
    found = _loaded(data, ask)
    if "failed" in found:
        code, cause, peer = map(str, found["failed"])
        raise errors.of_status(code, cause, peer, ask.operation)
    number, texts = found.get("number"), found.get("texts")
    if not isinstance(number, int) or not isinstance(texts, list):
        raise errors.Malformed("the first worker answered without a number and texts",
                               operation=ask.operation)
    return number, texts
