# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of a group's members before each call: every member sends its request to the first
member, under a label; the first member answers with all requests, and with a number.

Messages between two members have one tag, whatever their labels are, since a group remembers its
tags for the worker's lifetime. So a message may be for another thread than the one that waits for
it, or for a call that this member has not made yet.
"""

import collections
import json
import threading
from typing import Any, Deque, Dict, List, Optional, Set, Tuple

import torch

from stretto import errors
from stretto.torch.core import agreement, wire

PRIORITY = 0
"""Of all that groups send."""

_ROOM = 1024  # Bytes of a message: its length, and the first part of its text.
_HEAD = 8
_LONGEST_TEXT = 1 << 26
_MESSAGES, _REMAINDERS = 1, 2  # Tags: of messages, and of the rest of longer ones.


class Meetings:
    """The rendezvous of one group. After an error the caller must call fail(). Thread: any."""

    def __init__(self, core, ranks):
        self._is_first = core.rank == 0
        self._channels = [_Channel(core, other, ranks[other]) for other in range(core.size)
                          if (other == 0) != self._is_first]
        self._lock = threading.Lock()
        self._given = 0  # Numbers assigned by the first member.

    def meet(self, label: str, mine: Any) -> Tuple[int, List[Any]]:
        """Sends `mine`, which JSON can encode; returns the call's number, from 0, and the value of
        each member. One rendezvous of a label at a time."""
        if not self._is_first:
            [first] = self._channels
            said = first.say({"label": label, "said": mine})
            first.expect(label)
            answer = first.take(label)
            _wait_for(said)
            return _checked_answer(answer)
        for channel in self._channels:
            channel.expect(label)
        everybody = [mine] + [channel.take(label) for channel in self._channels]
        with self._lock:
            number, self._given = self._given, self._given + 1
        answer = {"label": label, "said": [number, everybody]}
        for said in [channel.say(answer) for channel in self._channels]:
            _wait_for(said)
        return number, everybody

    def fail(self, why: errors.Error) -> None:
        """Ends all rendezvous here by this error, and sends it to the members that wait for this
        one, now or at their next rendezvous."""
        for channel in self._channels:
            channel.fail(why)


def as_failure(error: BaseException) -> errors.Error:
    """The error that other members get: an interrupt is no error of ours."""
    if isinstance(error, errors.Error):
        return error
    return errors.Cancelled(f"a call was ended by {type(error).__name__}")


def _wait_for(tickets):
    for ticket in tickets:
        ticket.wait()


def _checked_answer(answer):
    if not isinstance(answer, list) or len(answer) != 2 or not isinstance(answer[0], int) \
            or not isinstance(answer[1], list):
        raise errors.Malformed("the first worker answered without a number and what all have sent")
    return answer


class _Channel:
    """Messages from and to one other member. Threads register the label they expect; there is a
    receive per expected label, and one of the threads waits for the first. Thread: any."""

    def __init__(self, core, other, rank):
        self._core = core
        self._other = other
        self._rank = rank
        self._saying = threading.Lock()
        self._changed = threading.Condition()
        self._receives: Deque[Tuple[Any, torch.Tensor]] = collections.deque()
        self._is_listening = False  # A thread waits for the first of these.
        self._expected: Set[str] = set()
        self._came: Dict[str, Any] = {}  # Received messages, expected now or later.
        self._failed: Optional[errors.Error] = None
        self._is_told = False  # Either side has sent its failure.

    def say(self, message):
        """Sends an object; returns tickets."""
        data = json.dumps(message, sort_keys=True).encode("utf-8")
        both = len(data).to_bytes(_HEAD, "little") + data
        head = torch.zeros(_ROOM, dtype=torch.uint8)
        head[:min(len(both), _ROOM)] = _bytes_in(both[:_ROOM])
        with self._saying:  # The rest of a message must follow in the same order.
            tickets = [self._send(head, _MESSAGES)]
            if len(both) > _ROOM:
                tickets.append(self._send(_bytes_in(both[_ROOM:]), _REMAINDERS))
        return tickets

    def expect(self, label):
        """Starts to receive, unless the message has arrived: take() follows."""
        with self._changed:
            if label not in self._came:
                self._expected.add(label)
                self._receive_enough()

    def take(self, label):
        """Waits for the peer's message under the label."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: label in self._came or self._failed or not self._is_listening)
                if label in self._came:
                    return self._came.pop(label)
                if self._failed:
                    raise self._failed
                self._is_listening = True
                ticket, head = self._receives[0]
            try:
                message = self._read(ticket, head)
                with self._changed:
                    self._receives.popleft()
                    self._put(message)
            except BaseException as error:
                with self._changed:
                    self._failed = self._failed or as_failure(error)
                raise
            finally:
                with self._changed:
                    self._is_listening = False
                    self._changed.notify_all()

    def fail(self, why):
        """Ends the waits of threads here, and tells the peer unless it has failed itself."""
        with self._changed:
            is_told, self._is_told = self._is_told, True
            self._failed = self._failed or why
            self._changed.notify_all()
        if not is_told:
            self.say({"failed": [why.code, why.cause, why.peer]})

    def _put(self, message):
        if "failed" in message:
            self._is_told = True
            code, cause, peer = map(str, message["failed"])
            raise errors.of_status(code, cause, peer, "")
        label = message.get("label")
        if not isinstance(label, str) or label in self._came:
            raise errors.Malformed(f"worker {self._rank} says something under no label, or twice "
                                   f"under one: {label!r}")
        self._came[label] = message.get("said")
        self._expected.discard(label)
        self._receive_enough()

    def _receive_enough(self):
        # Only expected messages: an unmatched receive would fail the group by its timeout.
        while len(self._receives) < len(self._expected):
            self._receives.append(self._receive(_ROOM, _MESSAGES))

    def _read(self, ticket, head):
        ticket.wait()
        data = head.numpy().tobytes()
        length = int.from_bytes(data[:_HEAD], "little")
        if length > _LONGEST_TEXT:
            raise errors.Malformed(f"worker {self._rank} announces {length} bytes of text, at most "
                                   f"{_LONGEST_TEXT} are read")
        if length + _HEAD > _ROOM:
            more, remainder = self._receive(length + _HEAD - _ROOM, _REMAINDERS)
            more.wait()
            data += remainder.numpy().tobytes()
        return agreement.object_in(data[_HEAD:_HEAD + length])

    def _send(self, data, tag):
        return self._core.send(wire.place_of(data), self._other, tag, PRIORITY, data)

    def _receive(self, size, tag):
        data = torch.zeros(size, dtype=torch.uint8)
        return self._core.receive(wire.place_of(data), self._other, tag, PRIORITY, data), data


def _bytes_in(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
