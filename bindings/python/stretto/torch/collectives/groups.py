# SPDX-License-Identifier: Apache-2.0
"""Some workers of a job, for collective calls: a C++ group (stretto/group.h), whose members may
make calls in different orders.

A C++ group needs its calls in one order at all members. Here calls have labels, and each starts
with a rendezvous under its label (meetings.py): every member sends its request to the first member,
which answers with all requests, and with a number. All members make the calls in the order of these
numbers. (Horovod's coordinator, Sergeev and Del Balso, arXiv 1802.05799, orders its calls for the
same reason.)

After any error but a disagreement members may not have made the same calls, so the group fails at
all of them.
"""

import contextlib
import operator
import threading
import weakref
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Set

from stretto import _core, errors, session
from stretto.torch.core import agreement
from stretto.torch.collectives.alone import Alone
from stretto.torch.collectives.meetings import Meetings, as_failure


class Ask(NamedTuple):
    """A member's request.

    label      matches it with the others' calls; calls of one label have one order
    operation  for errors: the user's call
    facts      must be equal at all members; texts by text
    """

    label: str
    operation: str
    facts: Mapping[str, str]


class Call:
    """A call that has started: some tickets, and a function that makes its result of the data
    received. Thread: one at a time."""

    def __init__(self, tickets, finish):
        self._tickets = tickets
        self._finish = finish
        self._result = None

    def done(self):
        """True once it has ended."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self):
        """Waits for the end, and returns the result. Raises its error."""
        for ticket in self._tickets:
            ticket.wait()
        if self._finish is not None:
            self._result = self._finish()
            self._finish = None
        return self._result


class Group:
    """Some workers of a job of fixed size, by their ranks; none given: all. Each member creates it,
    with the same ranks; groups of the same ranks in the same order. The constructor waits for all
    members. Raises InvalidArgument unless these are ranks that include this worker's, Unsupported
    in elastic jobs. Once a call has failed by anything but a Mismatch of its meeting, later ones
    are refused at all members, by an error of the same kind. Thread: any."""

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
        self._meetings = Meetings(self._core, self.ranks)
        self._changed = threading.Condition()
        self._meeting: Set[str] = set()  # Labels.
        self._turn = 0  # The number of this member's next call.
        self._failed: Optional[errors.Error] = None

    def begin(self, ask: Ask, told: Any, call: Any) -> Any:
        """Meets the others, and returns call(core, everybody): `core` is the _core.Group, or an
        equivalent; `everybody` has each member's `told`, by number: values that JSON can encode.
        `call` only starts calls. Raises Mismatch, at all members, unless facts are equal."""
        if self._of_all and self.size > 1:  # It also detects paused workers there.
            agreement.Agreement(ask.label, f"tensors in {ask.operation}", ask.facts,
                                ask.operation).wait()
        with self._failing_together(ask):
            with self._one_at_a_time(ask):
                number, said = self._meetings.meet(ask.label, [dict(ask.facts), told])
            with self._in_turn(number, ask):
                everybody = [_checked(each) for each in said]
                difference = self._difference([facts for facts, _ in everybody], ask)
                result = None if difference else call(self._core, [each for _, each in everybody])
        if difference:
            raise errors.Mismatch(difference, operation=ask.operation)
        return result

    def _difference(self, facts, ask):
        # The difference in words; None without one.
        other = next((at for at, each in enumerate(facts) if each != facts[0]), None)
        if other is None:
            return None
        mine = facts[self.rank]
        at = 0 if mine != facts[0] else other
        return (f"worker {self.ranks[at]} has other tensors in {ask.operation} than we, worker "
                f"{self.ranks[self.rank]}: {agreement.difference(mine, facts[at])}. All workers of "
                f"{self.ranks} need the same")

    # ---- failures

    @contextlib.contextmanager
    def _failing_together(self, ask):
        # The other members may not see an error raised in here: the group fails at all members.
        self._check_usable(ask)
        try:
            yield
        except BaseException as error:
            why = as_failure(error)
            with self._changed:
                self._failed = self._failed or why
                self._changed.notify_all()
            self._meetings.fail(why)
            raise

    def _check_usable(self, ask):
        session.current().check_usable()
        with self._changed:
            why = self._failed
        if why is not None:
            raise errors.of_status(
                why.code, f"the workers {self.ranks} can make no calls together any more, because "
                f"one has failed: {why.cause}", why.peer, ask.operation)

    def _wait_for(self, condition, ask):
        # With the lock. Returns whether the condition holds; raises a failure.
        self._changed.wait_for(lambda: self._failed or condition(), self._limit)
        if self._failed is not None:
            raise errors.of_status(self._failed.code, self._failed.cause, self._failed.peer,
                                   ask.operation)
        return condition()

    # ---- turns

    @contextlib.contextmanager
    def _one_at_a_time(self, ask):
        # Of one label.
        with self._changed:
            if not self._wait_for(lambda: ask.label not in self._meeting, ask):
                raise errors.Timeout(f"another call of this name did not begin within "
                                     f"{self._limit:g} s", operation=ask.operation)
            self._meeting.add(ask.label)
        try:
            yield
        finally:
            with self._changed:
                self._meeting.discard(ask.label)
                self._changed.notify_all()

    @contextlib.contextmanager
    def _in_turn(self, number, ask):
        # Failed calls take their turn here, too, since the next number waits.
        with self._changed:
            if not self._wait_for(lambda: self._turn == number, ask):
                raise errors.Timeout(f"call {self._turn} of the workers {self.ranks} was not made "
                                     f"within {self._limit:g} s, and those after it wait for it",
                                     operation=ask.operation)
        try:
            yield
        finally:
            with self._changed:
                self._turn += 1
                self._changed.notify_all()


def checked_ranks(ranks: Sequence[int], size: int) -> List[int]:
    """These ranks, sorted. InvalidArgument unless they are distinct ranks below `size`."""
    try:
        found = sorted(map(_rank_of, ranks))
    except TypeError as error:
        raise errors.InvalidArgument(f"the ranks are {ranks!r}, wanted a sequence of some of 0 to "
                                     f"{size - 1}", operation="group") from error
    if any(not 0 <= rank < size for rank in found):
        raise errors.InvalidArgument(f"the ranks are {found}, wanted some of 0 to {size - 1}",
                                     operation="group")
    if not found or len(set(found)) < len(found):
        raise errors.InvalidArgument(f"the ranks are {found}, wanted at least one, each once",
                                     operation="group")
    return found


def _rank_of(number):
    if isinstance(number, bool):
        raise TypeError("a bool is no rank")
    return operator.index(number)


_of_all: "weakref.WeakKeyDictionary[session.Session, Group]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


def of_all() -> Group:
    """The group of all workers, created at its first use, by any thread."""
    now = session.current()
    with _making:
        if now not in _of_all:
            _of_all[now] = Group()
        return _of_all[now]


def _checked(said):
    # A member's facts, and its data for the others.
    if not isinstance(said, list) or len(said) != 2:
        raise errors.Malformed("a worker told what it calls otherwise than as facts and more")
    return agreement.checked_facts(said[0]), said[1]
