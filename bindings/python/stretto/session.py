# SPDX-License-Identifier: Apache-2.0
"""This process's membership in a job: joined when first needed, left once, and the tensors declared
through it. A program has one session at a time, `current()`.

A program started without a scheduler is a job of one: every exchange returns its input, so that a
training script runs unchanged during development.
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

_LAST_PATIENCE_S = 10.0  # As in the C++ Worker's destructor.


class Session:
    """Thread: any. Every exchange is a call on the same names at all workers; calls on one name
    must have the same order everywhere."""

    def __init__(self, place, former=0):
        self.place = place
        self._former = former  # The previous incarnation, which the job has expelled.
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
        self.refusal = None  # Why further exchanges are refused.
        self.told_of_loss = False  # The first loss was explained to the program.
        self._seats_in = None  # The seats that all workers have agreed on, if so.
        self._newcomers = 0  # Workers that joined together with this one,
        self.came_late = False  # which joined a running job.
        self._seat = None  # Of a worker that joined a running job.
        self._order = list(range(place.size))  # Seats in the order of ranks.
        self.is_new = place.late  # In that job, without its state yet.
        self.has_state = False  # The program itself chooses where workers join.
        self.optimizers = []  # Weak references to the objects whose state joiners get:
        self.modules = []  # modules, by their exchanges,
        self.apart = []  # optimizers in other modes than sync,
        self.alike = {}  # and tensors that a broadcast made equal, by name.
        self.step_scope = None  # The kind of scope whose exchanges start the program's steps.
        self.healing = None  # The state that joiners still lack, for stretto.torch.
        self.pace = None  # Of the program's steps.
        self.keeping = None  # State of checkpoints, for stretto.torch.
        self.resumed = False  # It left a job before, in which objects may have been wrapped.
        self.listens = False  # This worker gives no gradients: it lacks parameters.
        if place.rank < 0:
            self.worker()  # The scheduler assigns the rank.

    @property
    def rank(self):
        """This worker's index among the members, from 0; before it has joined a running job, the
        highest possible rank."""
        if self._worker is None and self.is_new:
            return self.place.size - 1
        if self._seats_in is not None:
            return self._seats_in.index(self.seat)
        worker = self._worker
        return self.place.rank if worker is None else worker.rank

    @property
    def seat(self):
        """This worker's index among the initial workers; it does not change when others are lost. A
        joining worker gets a free one; None before that."""
        return self._seat if self.came_late else self.place.rank

    @property
    def seats(self):
        """The number of initial workers."""
        return self.place.size

    @property
    def elastic(self):
        """True if the job continues after the loss of workers. Joins it if that has not been
        done."""
        return not self.alone and self.worker().elastic

    @property
    def in_elastic_job(self):
        """True while it is in a job that continues after the loss of workers."""
        return self._worker is not None and not self.is_child() and self._worker.elastic

    @property
    def job(self):
        """A value that identifies the joined job; None before joining."""
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
        """The seats of the members, in order, as all have agreed; None without an agreement."""
        return self._seats_in

    def agree_on(self, seats):
        """Computes rank and size from these seats from now on; only this call changes them: all
        workers make it at the same point of their programs."""
        self._seats_in = tuple(self.in_order(seats))

    def in_order(self, seats):
        """These seats, by rank."""
        return sorted(seats, key=self._order.index)

    def take_seats(self, order, mine=None):
        """Sets the order after workers have joined, and if this is one of them its own seat."""
        self._order = list(order) + [seat for seat in range(self.seats) if seat not in order]
        if mine is not None:
            self._seat = mine

    def next_step(self):
        """A step starts, here and at all other workers. Returns the number of workers that take
        part from now on and did not before; 0 in a job of fixed size."""
        return self._beginning().next_step()[0] if self.elastic else 0

    def come_in(self):
        """Joins a running job, and returns the number of workers that join at this step. From then
        on it takes part in the exchanges, without a seat yet."""
        self.worker()
        self.is_new = False
        return self._newcomers

    @property
    def present(self):
        """Members of the job by the latest view, which other workers may not have received yet."""
        return self.place.size if self._worker is None else self._worker.size

    @property
    def present_rank(self):
        """This worker's rank by the latest view."""
        return self.worker().rank

    @property
    def alone(self):
        """True if there are no peers."""
        return self.place.alone or self.is_new

    @property
    def lost_as(self):
        """This worker's former member id if the elastic job has expelled it, else 0."""
        return 0 if self._worker is None or self.is_child() else self._worker.lost_as

    def successor(self, former):
        """The session that rejoins the same job; `former` is this process's previous member id.
        Raises the error that prevents it."""
        self._let_go()
        self._worker, self._left = None, True  # The next worker will listen at its address.
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
        """True in a child of the process that made it. Raises UsedAfterFork if the parent has
        joined a job."""
        inherited = os.getpid() != self._owner
        if inherited and self._worker is not None:
            raise errors.UsedAfterFork()
        return inherited

    def worker(self):
        """The C++ worker; joins the job if that has not been done. Raises RendezvousTimeout if
        members are missing."""
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
        all workers. `codec` encodes f32 tensors; None: as in STRETTO_CODEC. `bulk` lets it use
        links better, but delays more urgent tensors by some milliseconds. `shape` is only compared.
        `exchange` is the strategy, one of stretto.torch.core.ways.EXCHANGES, a Quorum or Backups;
        None: place.usual_way. Raises Mismatch if it was declared differently, here or elsewhere."""
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
        """True if an f32 tensor declared with `codec` may be sent encoded."""
        return bool(environment.text("STRETTO_CODEC")) if codec is None else codec != "none"

    def push_pull(self, routes, priority, owner):
        """Starts an exchange of some (tensor, source address, target address, bytes), and returns
        the ticket. `owner` is kept until their memory is free again."""
        return self._beginning().push_pull(routes, priority, owner)

    def push(self, tensor, place, priority, owner):
        """Starts to push (address, bytes) into the tensor's round, without pulling its value."""
        return self._beginning().push(tensor, place, priority, owner)

    def listen(self, tensor, place, priority, owner):
        """Starts to pull the value of the tensor's round into (address, bytes), if given, without a
        contribution."""
        return self._beginning().listen(tensor, place, priority, owner)

    def broadcast(self, tensor, address, bytes_, root, owner):
        """Starts a broadcast of the memory of `root` to all workers; returns the ticket."""
        return self._beginning().broadcast(tensor, (address, bytes_), root, 0, owner)

    @contextlib.contextmanager
    def span(self, kind):
        """Records the program's activity in traces: 'compute', 'input' or 'stage' (copies to or
        from a device). Costs almost nothing without tracing."""
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
        """Records the program's activity from `begin` to `end`, by time.monotonic(), in traces."""
        worker = self._worker
        if worker is not None:
            worker.note_span(kind, begin, end)

    def report(self, values):
        """Reports the program's values to observers: {"loss": 0.31}. Ignored before the job is
        joined, and in a job of one."""
        numbers = reporting.numbers_of(values)
        worker = None if self.is_inherited() else self._worker
        for name, number in numbers.items() if worker is not None else ():
            worker.report(name, number)

    @contextlib.contextmanager
    def pause(self, what):
        """The program does other work meanwhile, such as 'evaluation': waits for this worker are
        not reported as a stall. Has no effect in a job of one."""
        if self.is_inherited() or self._worker is None:  # No worker can wait for it yet.
            yield
            return
        pause = self._worker.pause(str(what))
        try:
            yield
        finally:
            pause.end()

    def note_ending(self):
        """Tells the workers that wait for this one that its program ends."""
        worker = self._worker
        if worker is not None and os.getpid() == self._owner:
            worker.note_ending()

    def new_scope(self, kind, first=None):
        """The scope of an object of a kind, such as an optimizer; every worker creates them in the
        same order. `first` is the prefix of the first object, if it differs."""
        number = max(self._scopes[kind], default=0) + 1
        self._scopes[kind].add(number)
        return Scope(kind, number, f"{kind}{number}/" if number > 1 or first is None else first)

    def keep_scope(self, scope):
        """Reuses the scope of the previous job for an object created there. ValueError if another
        object has taken it since."""
        if scope.number in self._scopes[scope.kind]:
            raise ValueError(
                f"since resume() another {scope.kind} was made with the names of this one, which "
                "is older. Make new ones after the old ones were used again, or leave those")
        self._scopes[scope.kind].add(scope.number)

    def barrier(self):
        """Blocks until every worker has made its n-th call of barrier(), where n is this worker's
        number of calls."""
        if not self.alone:
            self._beginning().barrier()

    def sit_out(self):
        """Waits until every worker has called it; until then this worker takes part in the others'
        sums and means with an empty contribution. Returns the rank of the last caller."""
        last = self.rank if self.alone else self._beginning().sit_out()
        self._sat_out += 1
        return last

    @property
    def era(self):
        """How often all workers were paused. A worker that did not take part may not know earlier
        agreements."""
        return self._sat_out

    def leave(self, patience=None):
        """Leaves the job, after all operations in flight have ended. If that takes longer than
        `patience` seconds, abandons it and raises Timeout. Does nothing in a forked child or after
        a previous leave."""
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
            worker.abandon()  # Also the memory in use.
            raise
        finally:
            followers.tell(self)

    def _let_go(self):
        if self.keeping is not None:
            self.keeping.let_go()

    def abandon(self):
        """After an error: leaves without waiting, so that peers are told immediately."""
        worker, self._worker, self._left = self._worker, None, True
        if worker is not None and os.getpid() == self._owner:
            worker.abandon()
            followers.tell(self)


class Left(NamedTuple):
    """The remaining state of a session that was left."""

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
    """This process's place in its job, or in the job that it has left. ValueError before init()."""
    return (_current or _before or current()).place


def rank_now_or_before():
    """This process's rank in its job, or in the job that it has left. ValueError before init()."""
    return (_current or place_now_or_before()).rank


def size_now_or_before():
    """Workers of its job, or of the job that it has left. ValueError before init()."""
    return (_current or place_now_or_before()).size


def is_initialized() -> bool:
    """True between init() and shutdown()."""
    return _current is not None


def begin(lazy=False, resumed=False):
    """Makes this process a worker of its job, and joins it: returns when all workers are present.
    If `lazy`, it joins at the first exchange. Repeated calls do nothing. Raises Refused if this
    process has left that job, unless `resumed`: then it rejoins at the same place."""
    global _current
    if _current is not None and _current.is_inherited():
        _current = None  # The parent's, which had not joined: the child may.
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
        # Runs before the interpreter waits for non-daemon threads; atexit runs after that.
        getattr(threading, "_register_atexit", atexit.register)(_note_ending)
        interrupts.tell_in_one_line()
    if not (lazy or _current.alone):
        _current.worker()  # A joining worker, in a job of one so far, joins with its first step.


def come_again(former):
    """Makes this process a worker again of the elastic job that has expelled it; `former` is its
    previous member id. Raises the error that prevents it."""
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
    # The main thread has ended; other threads may run forever, and block the other workers.
    if _current is not None:
        _current.note_ending()


def _at_exit():
    if interrupts.ends_by_error():
        if _current is not None:
            _current.abandon()
        return
    # Afterwards an error is only worth a line; peers may never join unfinished exchanges.
    try:
        end(_LAST_PATIENCE_S)
    except errors.Error as error:
        print(f"stretto: while leaving the job: {type(error).__name__}: {error}", file=sys.stderr)
