# SPDX-License-Identifier: Apache-2.0
"""This process's membership in a job: joined when first needed, left once, and the tensors that
were declared through it. One program has one session at a time; `current()` is it.

A program that was started by itself, without a scheduler, is a job of one: every exchange gives
back what it was given, so that a training script runs unchanged while it is being written.
"""

import atexit
import collections
import contextlib
import dataclasses
import os
import sys
import threading
import time
from typing import NamedTuple, Optional

from stretto import _core, closing, environment, errors, followers, interrupts, notices, reporting
from stretto.scopes import Scope

_LAST_PATIENCE_S = 10.0  # As a C++ Worker's that is destroyed.


class Session:
    """Thread: any. Every exchange is a call on the same names at all workers, in any order of
    names, but for one name in the same order."""

    def __init__(self, place, former=0):
        self.place = place
        self._former = former  # Who this process was in the job that has lost it.
        self.joined_in_s = 0.0
        self._worker = None
        self._job = None
        self._tensors = {}
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._left = False
        self._scopes = collections.defaultdict(set)
        self._sat_out = 0
        self.begun = 0  # Exchanges of this worker.
        self.refusal = None  # Why it exchanges nothing more.
        self.told_of_loss = False  # What the first one means for the program.
        self._seats_in = None  # Those that all have agreed on, if they do.
        self._newcomers = 0  # That came when this one did,
        self.came_late = False  # to a job that ran.
        self._seat = None  # Of one that came to a job that ran.
        self._order = list(range(place.size))  # Of seats, as that of ranks.
        self.is_new = place.late  # In that job, and has nothing of the others yet.
        self.has_state = False  # The program tells itself where others may come in.
        self.optimizers = []  # Weakly, what is to be given to those,
        self.modules = []  # also weakly, by their exchanges,
        self.apart = []  # optimizers in other modes than sync, the same way,
        self.alike = {}  # and tensors that were made alike, by name.
        self.step_scope = None  # The kind of scope in which the program's steps begin.
        self.healing = None  # What those who came lack, while they do: for stretto.torch.
        self.pace = None  # Of the program's steps.
        self.keeping = None  # What is known of checkpoints, for stretto.torch.
        self.resumed = False  # It has left a job before, in which things may have been wrapped.
        self.listens = False  # This one gives no gradients, as it lacks parameters.
        if place.rank < 0:
            self.worker()  # The scheduler chooses the rank.

    @property
    def rank(self):
        """This worker's place among those who are in, from 0; before it comes into a job that runs
        the last one of those that there may be."""
        if self._worker is None and self.is_new:
            return self.place.size - 1
        if self._seats_in is not None:
            return self._seats_in.index(self.seat)
        worker = self._worker
        return self.place.rank if worker is None else worker.rank

    @property
    def seat(self):
        """The same among all who were there at first: it stays as it is when others are lost. Who
        comes later gets a free one; None before that."""
        return self._seat if self.came_late else self.place.rank

    @property
    def seats(self):
        """How many these were."""
        return self.place.size

    @property
    def elastic(self):
        """True if the job goes on without workers that are lost. Joins it if that has not been
        done."""
        return not self.alone and self.worker().elastic

    @property
    def in_elastic_job(self):
        """True while it is in a job that goes on without workers that are lost."""
        return self._worker is not None and not self.is_child() and self._worker.elastic

    @property
    def job(self):
        """What tells the job that was joined from others; None if none was."""
        return self._job

    @property
    def size(self):
        """Workers that are in the job."""
        if self._seats_in is not None:
            return len(self._seats_in)
        worker = self._worker
        return self.place.size if worker is None else worker.size

    @property
    def seats_in(self):
        """The seats of those who are in, in order, as all have agreed; None: they have not."""
        return self._seats_in

    def agree_on(self, seats):
        """From now on rank and size are those among these seats, and change only by this: all
        workers call it at the same place of their programs."""
        self._seats_in = tuple(self.in_order(seats))

    def in_order(self, seats):
        """These seats, by rank."""
        return sorted(seats, key=self._order.index)

    def take_seats(self, order, mine=None):
        """Others have come: this is the order now, and if this is one of them its own seat."""
        self._order = list(order) + [seat for seat in range(self.seats) if seat not in order]
        if mine is not None:
            self._seat = mine

    def next_step(self):
        """A step begins, here and at all other workers. Returns how many workers take part from
        now on that did not before; none in a job of fixed size."""
        return self._beginning().next_step()[0] if self.elastic else 0

    def come_in(self):
        """Joins a job that runs, and returns how many do at this step. Then it takes part in the
        others' exchanges, and has no seat yet."""
        self.worker()
        self.is_new = False
        return self._newcomers

    @property
    def present(self):
        """Workers that are in the job by the last view, which others may not have heard of yet."""
        return self.place.size if self._worker is None else self._worker.size

    @property
    def present_rank(self):
        """This worker's rank by the last view."""
        return self.worker().rank

    @property
    def alone(self):
        """True if there is nobody to exchange with."""
        return self.place.alone or self.is_new

    @property
    def lost_as(self):
        """Not 0 if the job, which is elastic, goes on without this worker: who it was there."""
        return 0 if self._worker is None or self.is_child() else self._worker.lost_as

    def successor(self, former):
        """This process in the same job again, as a newcomer; `former` is who it was there. Raises
        what prevents it."""
        self._let_go()
        self._worker, self._left = None, True  # It listens where the next one will.
        place = dataclasses.replace(self.place, rank=-1, late=True)
        after = Session(place, former)
        after.has_state, after.step_scope = self.has_state, self.step_scope
        after.told_of_loss, after.alike, after.keeping = self.told_of_loss, self.alike, self.keeping
        after.optimizers, after.modules, after.apart = self.optimizers, self.modules, self.apart
        return after

    @property
    def has_joined(self):
        """True once it is in the job."""
        return self._worker is not None

    def is_child(self):
        """True in a child of the process that made it."""
        return os.getpid() != self._owner

    def is_inherited(self):
        """True in a child of the process that made it. Raises UsedAfterFork if that one has
        joined a job."""
        inherited = os.getpid() != self._owner
        if inherited and self._worker is not None:
            raise errors.UsedAfterFork()
        return inherited

    def worker(self):
        """The C++ worker; joins the job if that has not been done. Raises RendezvousTimeout if
        not everybody comes."""
        if os.getpid() != self._owner:
            raise errors.UsedAfterFork()
        worker = self._worker
        if worker is None:
            with self._lock:
                if self._left:
                    raise errors.Cancelled("this process has left the job")
                if self._worker is None:
                    self._worker = self._join()
                    followers.tell(self)
                worker = self._worker
        return worker

    def _join(self):
        started = time.monotonic()
        options = _core.Options.from_environment()
        options.scheduler = self.place.scheduler
        options.workers = self.place.size
        options.servers = self.place.servers
        options.rank = self.place.rank
        options.former = self._former
        worker = _core.Worker.join(options)
        self.joined_in_s = time.monotonic() - started
        self.place = dataclasses.replace(self.place, rank=worker.rank)
        if worker.elastic:
            self._newcomers, self.came_late = worker.next_step()
            self.is_new = self.came_late
        self._job = _job_at(self.place)
        return worker

    def declare(self, name, dtype, elements, rule="sum", deterministic=False, codec=None,
                bulk=False, shape="", exchange=None):
        """The tensor of that name, in mode sync: by `rule` the sum, mean, min, max or product over
        all workers. `codec` is how an f32 one travels; None: as STRETTO_CODEC says. `bulk`
        lets it use links better, and others that are more urgent wait some milliseconds for it.
        `shape` is only compared. `exchange` is the way that it goes, one of
        stretto.torch.core.ways.EXCHANGES, a Quorum or Backups; None: place.usual_way. Raises
        Mismatch if it was declared otherwise, here or elsewhere."""
        codec = codec if dtype == "f32" else None
        given, exchange = exchange, exchange or self.place.usual_way
        key = (name, dtype, elements, rule, deterministic, codec, bulk, shape, exchange)
        tensor = self._tensors.get(key)
        if tensor is None:
            try:
                tensor = self.worker().declare(name, dtype, elements, rule=rule,
                                               deterministic=deterministic, codec=codec,
                                               bulk=bulk, shape=shape,
                                               **closing.options_of(exchange))
            except errors.InvalidArgument as error:
                raise (error if given else self.place.explained(error)) from None
            self._tensors[key] = tensor
        return tensor

    def check_usable(self):
        """Raises Cancelled if there is a refusal."""
        if self.refusal is not None:
            raise errors.Cancelled(self.refusal)

    def _beginning(self):
        self.check_usable()
        worker = self.worker()
        self.begun += 1
        return worker

    def may_encode(self, codec):
        """Whether an f32 tensor that is declared with `codec` may travel through one."""
        return bool(environment.text("STRETTO_CODEC")) if codec is None else codec != "none"

    def push_pull(self, routes, priority, owner):
        """Begins to exchange some (tensor, source address, target address, bytes), and returns
        the ticket. `owner` is kept until their memory is free again."""
        return self._beginning().push_pull(routes, priority, owner)

    def push(self, tensor, place, priority, owner):
        """Begins to give the (address, bytes) to the tensor's round, without getting its value."""
        return self._beginning().push(tensor, place, priority, owner)

    def listen(self, tensor, place, priority, owner):
        """Begins to get the value of the tensor's round into the (address, bytes), if there are
        any, without giving to it."""
        return self._beginning().listen(tensor, place, priority, owner)

    def broadcast(self, tensor, address, bytes_, root, owner):
        """Begins to make everybody's memory what that of `root` is; returns the ticket."""
        return self._beginning().broadcast(tensor, (address, bytes_), root, 0, owner)

    @contextlib.contextmanager
    def span(self, kind):
        """Tells traces that the program does this meanwhile: 'compute', 'input' or 'stage', which
        is copying to or from a device. Costs next to nothing while nobody traces."""
        worker = self._worker
        if worker is None or not worker.tracing:
            yield
            return
        begin = time.monotonic()
        try:
            yield
        finally:
            worker.note_span(kind, begin, time.monotonic())

    def note_span(self, kind, begin, end):
        """Tells traces that the program did this from `begin` to `end`, by time.monotonic()."""
        worker = self._worker
        if worker is not None:
            worker.note_span(kind, begin, end)

    def report(self, values):
        """Tells who looks at the job how its program does: {"loss": 0.31}. Before the job is
        joined, and alone, nobody hears it."""
        numbers = reporting.numbers_of(values)
        worker = None if self.is_inherited() else self._worker
        for name, number in numbers.items() if worker is not None else ():
            worker.report(name, number)

    @contextlib.contextmanager
    def pause(self, what):
        """The program does something else meanwhile, such as 'evaluation': nobody calls it a
        standstill that others wait for this worker. Alone it does nothing."""
        if self.is_inherited() or self._worker is None:  # Nobody can wait for it yet.
            yield
            return
        pause = self._worker.pause(str(what))
        try:
            yield
        finally:
            pause.end()

    def note_ending(self):
        """Tells those who wait for this worker that its program ends."""
        worker = self._worker
        if worker is not None and os.getpid() == self._owner:
            worker.note_ending()

    def new_scope(self, kind, first=None):
        """The scope of one of the things of a kind, such as optimizers, which every worker makes
        in the same order. `first` is the prefix of the first, if it is to have one of its own."""
        number = max(self._scopes[kind], default=0) + 1
        self._scopes[kind].add(number)
        return Scope(kind, number, f"{kind}{number}/" if number > 1 or first is None else first)

    def keep_scope(self, scope):
        """The same scope as in the job before, for what was made there. ValueError if another
        thing has got it meanwhile."""
        if scope.number in self._scopes[scope.kind]:
            raise ValueError(
                f"since resume() another {scope.kind} was made with the names of this one, which "
                "is older. Make new ones after the old ones were used again, or leave those")
        self._scopes[scope.kind].add(scope.number)

    def barrier(self):
        """Returns when every worker has called it as often as this one."""
        if not self.alone:
            self._beginning().barrier()

    def sit_out(self):
        """Waits until every worker has called it; until then this one takes part in the others'
        sums and means with nothing. Returns the rank of who called it last."""
        last = self.rank if self.alone else self._beginning().sit_out()
        self._sat_out += 1
        return last

    @property
    def era(self):
        """How often all workers sat out. What was agreed before may be unknown to who did not take
        part."""
        return self._sat_out

    def leave(self, patience=None):
        """Leaves the job, after all that is in flight has ended. If that takes longer than
        `patience` seconds, abandons it and raises Timeout. Does nothing in a forked child or if it
        was left before."""
        if os.getpid() != self._owner:
            return
        self._let_go()
        with self._lock:
            worker, self._worker, self._left = self._worker, None, True
        if worker is None:
            return
        try:
            worker.leave(patience)
        except (errors.Timeout, KeyboardInterrupt):
            worker.abandon()  # With the memory that is in use.
            raise
        finally:
            followers.tell(self)

    def _let_go(self):
        if self.keeping is not None:
            self.keeping.let_go()

    def abandon(self):
        """At an end by an error: leaves without a wait, so that the others learn of it at once."""
        worker, self._worker, self._left = self._worker, None, True
        if worker is not None and os.getpid() == self._owner:
            worker.abandon()
            followers.tell(self)


class Left(NamedTuple):
    """What remains of a session that was left."""

    place: environment.Place
    job: Optional[tuple]  # None: it had not joined.
    keeping: object


def _job_at(place):
    return place.scheduler, environment.text("STRETTO_JOB_TOKEN")


_current = None
_before: Optional[Left] = None


def current():
    """The session of this process. ValueError before init(), and after shutdown()."""
    if _current is None and _before is not None:
        raise ValueError("Stretto was shut down in this process; resume() joins another job")
    if _current is None:
        raise ValueError("Stretto has not been initialized; call init() first")
    return _current


def place_now_or_before():
    """Where this process stands in its job, or stood in the one that it has left. ValueError
    before init()."""
    return (_current or _before or current()).place


def rank_now_or_before():
    """This process's rank in its job, or in the one that it has left. ValueError before init()."""
    return (_current or place_now_or_before()).rank


def size_now_or_before():
    """The same of the number of workers."""
    return (_current or place_now_or_before()).size


def is_initialized() -> bool:
    """True between init() and shutdown()."""
    return _current is not None


def begin(lazy=False, resumed=False):
    """Makes this process a worker of its job, and joins it: returns when all workers are there. If
    `lazy`, it joins when something is first exchanged. Again does nothing. Raises Refused if this
    process has left that job, unless `resumed`: then it is another one at the same place."""
    global _current
    if _current is not None and _current.is_inherited():
        _current = None  # Of the parent, which had not joined: the child may.
        atexit.unregister(_at_exit)
    if _current is None:
        place = environment.place()
        if not resumed and _before is not None and _before.job == _job_at(place):
            raise errors.Refused(
                f"this process has left the job at {place.scheduler}, and nobody joins a job "
                "twice: it is over when all have left. Call shutdown() once, at the end; or "
                "suspend(), and resume() when a new scheduler and new servers are there",
                operation="init")
        environment.check_alone(notices.warn)
        _current = Session(place)
        _current.resumed = resumed
        if resumed and _before is not None:
            _current.keeping = _before.keeping
        atexit.register(_at_exit)
        # Before the end of threads that are no daemons is waited for: atexit comes after.
        getattr(threading, "_register_atexit", atexit.register)(_note_ending)
        interrupts.tell_in_one_line()
    if not (lazy or _current.alone):
        _current.worker()  # A newcomer, which is alone yet, joins with its first step.


def come_again(former):
    """This process is a worker again of the elastic job that has lost it; `former` is who it was
    there. Raises what prevents it."""
    global _current
    _current = current().successor(former)


def end(patience=None):
    """Leaves the job. Afterwards begin() may be called again, for another job."""
    global _current, _before
    ending, _current = _current, None
    atexit.unregister(_at_exit)
    if ending is not None:
        _before = Left(ending.place, ending.job, ending.keeping)
        ending.leave(patience)


def _note_ending():
    # The main thread has ended; others may go on for ever, and what waits for them with them.
    if _current is not None:
        _current.note_ending()


def _at_exit():
    if interrupts.ends_by_error():
        if _current is not None:
            _current.abandon()
        return
    # After the work an error is worth a line. What was not waited for, others may never join.
    try:
        end(_LAST_PATIENCE_S)
    except errors.Error as error:
        print(f"stretto: while leaving the job: {type(error).__name__}: {error}", file=sys.stderr)
