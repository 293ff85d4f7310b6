# SPDX-License-Identifier: Apache-2.0
"""Outer rounds of local steps: after `every` local steps each worker sends its progress, and all
make the same outer step by the mean of it.

A round has a turn for each fragment of the model, at the same local step of all workers. At each
turn all first send, in a few bytes, their position and weight (the head), so that workers that are
not in step get an error that names them instead of waiting for one another. The last fragment's
turn is the round's end: there workers join an elastic job (entering.py).
"""

import bisect
import struct
import zlib
from typing import NamedTuple

import torch

from stretto import errors, session, unfinished
from stretto.torch.core import agreement, broadcasting, exchange, keeping, replacing, wire
from stretto.torch.local_sgd import entering, outer

_END = -1  # In the place of a fragment: finish().


class Head(NamedTuple):
    """A worker's message at a turn."""

    here: int  # 1.
    round: int
    turn: int  # The fragment, or _END.
    open: int  # Steps since some fragment was exchanged,
    made: int  # and in total.
    listens: int  # 1: it has just joined, and has no progress.
    weight: int  # The bits of a float.


def _bits(weight):
    return struct.unpack("<q", struct.pack("<d", weight))[0]


def _weight(bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def check(heads, elastic, fragments=1):
    """Raises Mismatch unless these workers, {seat: Head}, are at one turn, of `fragments`. In an
    elastic job joined workers have made fewer steps; if a model is sent at once, some workers may
    call finish() at the others' regular turn."""
    ends = [seat for seat, head in heads.items() if head.turn == _END]
    others = [seat for seat in heads if seat not in ends]
    if ends and others and not (elastic and fragments == 1):
        ended, going = heads[ends[0]], heads[others[0]]
        raise errors.Mismatch(
            f"worker {ends[0]} calls finish() after {ended.made} steps, and worker {others[0]} "
            f"goes on after {going.made}: all workers must make the same number of steps",
            operation="local steps", peer=f"worker {ends[0]}")
    first = min(heads)
    for seat, head in heads.items():
        differs = (head.round, head.turn) != (heads[first].round, heads[first].turn)
        if not ends and differs or not elastic and head.made != heads[first].made:
            raise errors.Mismatch(
                f"worker {seat} is at step {head.made}, in round {head.round}, and worker {first} "
                f"at step {heads[first].made}, in round {heads[first].round}: all workers must "
                "make the same number of steps", operation="local steps", peer=f"worker {seat}")


class Rounds:
    """The rounds of one optimizer. Thread: one at a time.

    pieces  pieces.Pieces: of what it trains
    how     pieces.Way
    every   local steps of a round
    weight  of this worker in means: a number, or a function that returns that of a round, called
            once in each, when its first fragment is sent; None: equal weights
    scope   makes the names of the exchanges unique among optimizers
    inner   the optimizer, whose options joining workers get
    """

    def __init__(self, pieces, how, every, weight, scope, inner):
        self.pieces = pieces
        self.inner = inner
        self.how = how
        self.every = every
        self.round = 0  # Outer rounds that have ended.
        self.steps = 0  # Local ones in this round,
        self.open = 0  # since one of the fragments was exchanged,
        self.made = 0  # and in total.
        self.unit = None  # The unit of weights, by which all divide.
        self._weight = weight
        self._told = None  # This worker's weight in this round, once known.
        self._scope = scope
        self._due = outer.due_after(every, len(pieces.fragments))
        self._turn = 0  # The next fragment in this round.
        self.starts_over = False  # In this step: the parameters were replaced by another worker's.
        self._session = session.current()
        self._is_ready = False
        self._head = None  # Not yet read: its exchange, and its fragments.
        self._factors = {}
        self._transfer = None
        self.came_at_end = False  # Joined by finish().
        replacing.replace(self)

    @property
    def label(self):
        """The optimizer's label in comparisons of workers."""
        return f"{self._scope.kind}{self._scope.number}"

    @property
    def facts(self):
        """Facts that must be equal at all workers, as texts by text."""
        return {**self.pieces.facts, **self.how.facts(), "every": str(self.every),
                "fragments": str(len(self.pieces.fragments)),
                "weights": "equal" if self._weight is None else "given"}

    @property
    def names(self):
        """The names of parameters at all workers, by parameter."""
        return self.pieces.names

    def __contains__(self, parameter):
        return parameter in self.pieces.names

    @property
    def opening(self):
        """None: values are this worker's, and not the servers'."""
        return None

    # ---- before a step

    @unfinished.whole("an outer round", always=True)
    def begin(self):
        """Before a local step. True if this worker has joined its elastic job by it: then the step
        is empty, since its parameters were replaced."""
        self.starts_over = False
        now = self._follow()
        if not now.is_new:
            keeping.check_restored(now)
        if not now.alone and now.elastic:  # It joins.
            entering.check(now, self)
        if now.is_new:
            self.came_at_end = self._come_in(now)
            return True
        if self._is_ready:
            if self._head is not None and self._head[0].done():
                self._end_head()  # Reports workers that are not in step as early as possible.
            return False
        for piece in self.pieces:
            piece.begin(self.how.rule.has_momentum)
        if not now.alone:
            self._agree()
        self._is_ready = True
        return False

    def _follow(self):
        # Into the job that resume() has joined, or that this worker rejoins.
        replacing.refuse_replaced(self)
        now = session.current() if session.is_initialized() else self._session
        if now is not self._session:
            now.keep_scope(self._scope)
            self.forget_step()
            self._session = now
        return now

    def forget_step(self):
        """Drops the exchanges: the job has lost this worker, or it was left."""
        self._is_ready, self._head, self._transfer = False, None, None
        self._factors.clear()
        for piece in self.pieces:
            piece.forget()

    def _agree(self):
        # All train the same, and start alike.
        agreement.Agreement(self.label, f"local steps in {self._scope.kind} {self._scope.number}",
                            self.facts, "local steps").wait()
        self._compare()

    def _digest(self):
        return exchange.digest_of(repr([zlib.crc32(wire.as_bytes(each).numpy())
                                        for piece in self.pieces for each in piece.state()]))

    def _compare(self):
        mine = [self._digest(), self.round, self.steps, self.made]
        rows = exchange.attendance(f"Outer.{self.label}", mine)
        first = min(rows)
        for seat, row in rows.items():
            if row[1:] != rows[first][1:] or row[0] != rows[first][0] and row[2]:
                raise errors.Mismatch(
                    f"worker {seat} goes on after round {row[1]} and step {row[3]} from other "
                    f"values than worker {first} after round {rows[first][1]} and step "
                    f"{rows[first][3]}: load what was saved at one time", operation="local steps",
                    peer=f"worker {seat}")
        if len({row[0] for row in rows.values()}) > 1:
            named = [(f"{piece.name}.{index}", each) for piece in self.pieces
                     for index, each in enumerate(piece.state())]
            broadcasting.begin_together(named, 0, f"Outer.{self.label}.")()
            for piece in self.pieces:
                piece.arrive()
            self.starts_over = self._digest() != mine[0]

    # ---- after one

    def after_step(self):
        """A local step has been made: exchanges the fragments due after it. In a round's last step
        all wait for the means, with overlap for those of the previous round. After an error the
        work is due again after the next step."""
        self.steps += 1
        self.open += 1
        self.made += 1
        turn = self._turn
        if self.steps < self._due[turn]:
            return
        is_last = turn == len(self._due) - 1
        self._end_head()
        self._settle([turn])
        weight = self._weight_now()
        if is_last:
            self._let_in(False)
        self._exchange(turn, False, weight)
        self._turn += 1
        if is_last:
            self._end_round(len(self._due) == 1)

    def finish(self):
        """Ends the round early. All workers call it, and then have the same values."""
        self.settle()
        weight = self._weight_now()
        self._let_in(True)
        self._end_at_once(self._exchange(_END, False, weight))

    def _end_at_once(self, was_made):
        if was_made and (self.steps or len(self._due) == 1):
            self._end_round(True)
        self.open, self._told = 0, None

    def _end_round(self, is_whole):
        self.round += 1
        self.steps = self._turn = 0
        self._told = None
        if is_whole:
            self.open = 0

    def _exchange_alone(self, turn):
        # In a job of one the mean is its own value.
        for fragment in self._of(turn):
            for piece in self.pieces.fragments[fragment]:
                piece.values = None
                piece.begin(False)
        return self.open > 0

    def _weight_now(self):
        # Before any exchange, so that an exception of the program leaves all workers consistent.
        if self._weight is None or not self.open:
            return 0.0
        if self._told is None:
            self._told = outer.weight_of(self._weight)
        return self._told

    def _of(self, turn):
        return range(len(self.pieces.fragments)) if turn == _END else [turn]

    @unfinished.whole("an outer round", always=True)
    def _exchange(self, turn, listens, weight):
        # False if no worker has made a step since the last turn of this round.
        if self._session.alone and self.how.rule.is_plain:
            return self._exchange_alone(turn)
        fragments = self._of(turn)
        self._begin_head(turn, listens, weight)
        waits = not self.how.overlap or turn == _END
        if waits or self._weight is not None and self.unit is None:
            if not self._end_head():
                return False
        has_none = listens or self.open == 0
        scale = weight / self.unit if self.unit else 1.0
        for fragment in fragments:
            for piece in self.pieces.fragments[fragment]:
                piece.send(self.how, scale, has_none and self._session.elastic)
        if waits and not listens:
            self._settle(fragments)
        return True

    def settle(self):
        """Waits for all exchanges, and makes the outer steps."""
        self._end_head()
        self._settle(self._of(_END))

    @unfinished.whole("an outer round", always=True)
    def _settle(self, fragments):
        for fragment in fragments:
            factor = self._factors.pop(fragment, 1.0)
            for piece in self.pieces.fragments[fragment]:
                if piece.is_sent:
                    piece.settle(self.how, factor)

    # ---- heads

    def _begin_head(self, turn, listens, weight):
        now = self._session
        head = Head(1, self.round, turn, self.open, self.made, int(listens), _bits(weight))
        rows = torch.zeros(now.seats, len(head), dtype=torch.int64)
        rows[now.seat] = torch.tensor(head)
        handle = exchange.begin(rows, rows, f"OuterHead.{self.label}", False, 0)
        self._head = handle, turn

    @unfinished.whole("an outer round", always=True)
    def _end_head(self):
        # False if it says that no worker has made a step.
        if self._head is None:
            return True
        handle, turn = self._head
        heads = {seat: Head(*row) for seat, row in enumerate(handle.wait().tolist()) if row[0]}
        check(heads, self._session.elastic, len(self.pieces.fragments))  # Each time, if it raises.
        self._head = None
        return self._read(heads, turn)

    def _read(self, heads, turn):
        makers = [head for head in heads.values() if head.open and not head.listens]
        if self._weight is not None and makers:
            total = sum(_weight(head.weight) for head in makers)
            if total == 0:
                self._told = None
                raise ValueError("all workers' weights are 0: there is no mean")
            self.unit = self.unit or total / len(makers)
            factor = self.unit * len(makers) / total
            self._factors.update(dict.fromkeys(self._of(turn), factor))
        return bool(makers)

    # ---- joining workers

    @unfinished.whole("an outer round", always=True)
    def _let_in(self, is_end):
        now = self._session
        if not now.elastic:
            return
        came = now.next_step()
        if came:
            self.settle()
            self._transfer = entering.give(now, came, self, is_end)

    def _come_in(self, now):
        for piece in self.pieces:
            piece.empty(self.how.rule.has_momentum)
        transfer, is_end = entering.take(now, self)
        turn = _END if is_end else len(self.pieces.fragments) - 1
        was_made = self._exchange(turn, True, 0.0)
        transfer.fill(self.pieces)
        for piece in self.pieces:
            piece.arrive()
        if not self.how.overlap or is_end:
            self._settle(self._of(turn))
        if is_end:
            self._end_at_once(was_made)
        else:
            self._end_round(len(self._due) == 1)
        self._is_ready = True
        return is_end

    # ---- saved state

    def state(self):
        """The complete state, for load()."""
        self.settle()
        return {"every": self.every, "round": self.round, "steps": self.steps, "open": self.open,
                "made": self.made, "unit": self.unit, "values": self.pieces.by_name("values"),
                "momentum": self.pieces.by_name("momentum")}

    def load(self, state):
        """Continues from there; None: starts from the current parameters."""
        if not state or not state.get("values"):
            self.forget_step()
            self.round = self.steps = self.open = self.made = self._turn = 0
            self.unit = self._told = None
            self.pieces.reset()
            return
        if state["steps"] and state["every"] != self.every:
            raise ValueError(f"this was saved after {state['steps']} of a round's "
                             f"{state['every']} steps, and rounds have {self.every} here; save "
                             "after finish()")
        self.pieces.load(state["values"], state["momentum"], self.how.rule)
        self.forget_step()
        self.round, self.steps, self.open = state["round"], state["steps"], state["open"]
        self._turn = min(bisect.bisect_right(self._due, self.steps), len(self._due) - 1)
        self._told = None
        self.made, self.unit = state["made"], state["unit"]
