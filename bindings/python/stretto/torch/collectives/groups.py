# SPDX-License-Identifier: Apache-2.0
"""Some workers of a job, who make calls together: those of a C++ group (stretto/group.h), in
whatever order each of them asks for them.

A C++ group wants its calls in one order at all members. Here calls have labels, and each begins
with a meeting under its label (meetings.py): every member tells the first one what it calls; the
first one answers with what all have said, and with a number. In the order of these numbers all
members make the calls. (Horovod's coordinator, Sergeev and Del Balso, arXiv 1802.05799, orders its
calls for the same reason.)

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
    """What a member calls.

    label      matches it with the others' calls: of one label they come in one order
    operation  for errors: what the user called
    facts      what must be the same at all members, as texts by text
    """

    label: str
    operation: str
    facts: Mapping[str, str]


class Call:
    """A call that has begun: some tickets, and what makes a result of what has come. Thread: one
    at a time."""

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
    jobs. Once a call has failed by anything but a Mismatch of its meeting, later ones are refused
    at all members, by an error of the same kind. Thread: any."""

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
        self._turn = 0  # The number of the call that is next here.
        self._failed: Optional[errors.Error] = None

    def begin(self, ask: Ask, told: Any, call: Any) -> Any:
        """Meets the others, and returns call(core, everybody): `core` is the _core.Group, or what
        has its calls; `everybody` what each member has told, by number: what JSON can carry. `call`
        only begins calls. Raises Mismatch, at all members, unless facts are the same."""
        if self._of_all and self.size > 1:  # There it also shows that somebody sits out.
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
        # In words; None: there is none.
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
        # Whatever is raised in here others may not have: the group fails at all members.
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
        # With the lock. Returns whether it is so; raises what has failed meanwhile.
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
        # Whoever has a number comes here, whatever became of its call, for the next one waits.
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
    """These ranks, sorted. InvalidArgument unless they are some ranks of so many workers, each
    once."""
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
    """The group of all workers, made when it is first needed: by any thread, whatever it needs it
    for at another worker."""
    now = session.current()
    with _making:
        if now not in _of_all:
            _of_all[now] = Group()
        return _of_all[now]


def _checked(said):
    # What a member has told: facts, and what else the others are to know.
    if not isinstance(said, list) or len(said) != 2:
        raise errors.Malformed("a worker told what it calls otherwise than as facts and more")
    return agreement.checked_facts(said[0]), said[1]
