# SPDX-License-Identifier: Apache-2.0
"""Background state transfer: parameters and optimizers' state for joining workers, while all
continue their steps.

A joining worker gets its missing state in batches, behind all other traffic: a batch is the common
state of all others at the start of a step, and each of them sends a part. The joining worker takes
part in all steps: it listens to the means of gradients, and steps the parameters that it has. For
those in transfer it keeps the means until they arrive. So it has the current state when the last
batch has arrived, and gives its own gradients from the next step on. It does not receive the means
of parameters still to be sent, unless the program itself reads means before a step, such as to clip
them by the norm of all.

Requires an optimizer that treats each parameter separately.
"""

import statistics
import time
from typing import Any, List, NamedTuple

import torch

from stretto import errors
from stretto.torch.core import exchange
from stretto.torch.elastic import stripes

LEAST_BYTES = 1 << 20  # A smaller state is not worth more than one step.
_LEAST_BATCH, _MOST_BATCH = 1 << 19, 1 << 27
_BATCHES = 64  # At most this number, however much they slow the others down.
_GUESSED_RATE = 5e7  # Bytes a second, until measured.
_SLOWED = 1.1  # Steps slower by more than this factor make batches smaller.
_SOON, _LATE = 1, 3  # Steps: batches that arrive so early grow, so late shrink.
_MEASURED = 9  # Steps that the usual duration is computed from.
_FILLS, _HAS, _AGAIN, _OTHER = range(4)  # A worker's report at the end of a step.
GOES_ON, ENDED, CHANGED = range(3)  # The result of the reports.


class Unit(NamedTuple):
    """The data of one parameter, as its givers describe it; or another replicated tensor, whose
    optimizer is -1."""

    optimizer: int
    name: str
    dtype: str
    shape: List[int]
    bytes: int
    state: Any  # By key: ["tensor", dtype, shape, is on the CPU], ["number", type], ["is", value].


class Pace:
    """The duration of this worker's steps."""

    def __init__(self):
        self._usual = []
        self._before = None

    def begin_step(self, is_usual):
        """Seconds of the step that has ended; None for an unusual step."""
        now, before = time.monotonic(), self._before
        self._before = now
        if before is None:
            return None
        if is_usual:
            self._usual = [*self._usual, now - before][-_MEASURED:]
        return now - before

    @property
    def usual(self):
        """Seconds; 0 if unknown."""
        return statistics.median(self._usual) if self._usual else 0.0

    def forget(self):
        """Excludes the time until the next step starts."""
        self._before = None


def _is_simple(optimizer):
    # A PyTorch optimizer that treats each parameter separately.
    original = optimizer._stretto_original
    return (type(original).__module__.startswith("torch.optim")
            and not isinstance(original, torch.optim.LBFGS)
            and not hasattr(optimizer, "_stretto_pending"))


def _described(value):
    if isinstance(value, torch.Tensor):
        return ["tensor", str(value.dtype).removeprefix("torch."), list(value.shape),
                value.device.type == "cpu"]
    if isinstance(value, (bool, int, float)):
        return ["number", type(value).__name__]
    if value is None or isinstance(value, str):
        return ["is", value]
    return None


def _as_tensor(value):
    if isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else torch.int64)


def nobody_has_it():
    """The error of a job whose parameters are lost."""
    return errors.PeerLost("nobody is left who has the parameters: those who had them were lost "
                           "while others came into the job", operation="step")


def flat(tensor):
    """Its memory as bytes, or a copy of it. Conjugate and negative views are copied."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return tensor.view(torch.uint8) if tensor.numel() else tensor.to(torch.uint8)


def _bytes_of(value):
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return 8 if isinstance(value, (int, float)) else 0


def _unit_of(index, name, value, state):
    described = {key: _described(each) for key, each in state.items()}
    if any(each is None for each in described.values()):
        return None
    return Unit(index, name, str(value.dtype).removeprefix("torch."), list(value.shape),
                _bytes_of(value) + sum(map(_bytes_of, state.values())), described)


class Program:
    """The state of a worker: parameters of wrapped optimizers, and other tensors.

    wrapped  the optimizers
    ends     tensors by name, sent after all parameters
    """

    def __init__(self, wrapped, ends):
        self.wrapped = wrapped
        self.ends = ends
        self.parameters = [{name: parameter for parameter, name in
                            each._stretto_exchange.names.items()} for each in wrapped]

    def units(self):
        """All units, in order; None if they cannot be sent one by one."""
        if not all(_is_simple(each) and set(each.state) <= set(by_name.values())
                   for each, by_name in zip(self.wrapped, self.parameters)):
            return None
        units = [_unit_of(index, name, parameter, self._state(index, parameter))
                 for index, by_name in enumerate(self.parameters)
                 for name, parameter in by_name.items()]
        units += [_unit_of(-1, name, tensor, {}) for name, tensor in self.ends.items()]
        return None if None in units else units

    def reads_means(self):
        """True if code of the program runs between means and steps."""
        return any(each._stretto_reads_means
                   or bool(getattr(each, "_optimizer_step_pre_hooks", None))
                   for each in self.wrapped)

    def _state(self, index, parameter):
        return self.wrapped[index].state.get(parameter, {})

    def contents(self, unit):
        """The memory of a unit, as bytes."""
        if unit.optimizer < 0:
            return [flat(self.ends[unit.name])]
        parameter = self.parameters[unit.optimizer][unit.name]
        state = self._state(unit.optimizer, parameter)
        return [flat(parameter), *(flat(_as_tensor(state[key]))
                                   for key, kind in unit.state.items() if kind[0] != "is")]

    def store(self, unit, data):
        """Stores received data in this worker."""
        values = Reader(data)
        if unit.optimizer < 0:
            if unit.name in self.ends:  # Others may have added tensors since.
                target = self.ends[unit.name]
                target.data.copy_(values.tensor(unit.dtype, unit.shape))
            return
        parameter = self.parameters[unit.optimizer][unit.name]
        parameter.data.copy_(values.tensor(unit.dtype, unit.shape))
        state = {key: values.of_kind(kind, parameter.device) for key, kind in unit.state.items()}
        optimizer = self.wrapped[unit.optimizer]
        optimizer.state.pop(parameter, None)
        if state:
            optimizer.state[parameter] = state


class Reader:
    """Extracts tensors from bytes, one after another."""

    def __init__(self, data):
        self._data = data

    def tensor(self, dtype, shape):
        """The next one, in its own memory."""
        kind = getattr(torch, dtype)
        size = torch.Size(shape).numel() * torch.empty(0, dtype=kind).element_size()
        piece, self._data = self._data[:size].clone(), self._data[size:]
        return piece.view(kind).reshape(shape) if size else torch.empty(shape, dtype=kind)

    def of_kind(self, kind, device):
        """The next value of an optimizer's state."""
        if kind[0] == "is":
            return kind[1]
        if kind[0] == "tensor":
            value = self.tensor(kind[1], kind[2])
            return value if kind[3] else value.to(device)
        number = self.tensor("float64" if kind[1] == "float" else "int64", []).item()
        return bool(number) if kind[1] == "bool" else number


class _Kept(NamedTuple):
    # An optimizer's step without the parameters in transfer.
    options: List[dict]
    gradients: dict


class _Taker:
    # Of a joining worker: the parameters that it has, and the means kept for those in transfer.

    def __init__(self, program):
        self._program = program
        self._has = [set() for _ in program.wrapped]
        self._kept = [[] for _ in program.wrapped]
        self._coming = []
        self._awaited = set()

    def uses(self, parameters):
        """True if it steps any of these, now or later, by the means of this step."""
        return any(parameter in have for parameter in parameters
                   for have in (self._awaited, *self._has))

    def begin(self, units):
        """Marks these as in transfer, with their current values."""
        self._coming = list(units)
        self._kept = [[] for _ in self._kept]
        self._awaited = {parameter for index in range(len(self._kept))
                         for parameter in self._parameters(index)}

    def _parameters(self, index):
        return [self._program.parameters[index][unit.name] for unit in self._coming
                if unit.optimizer == index]

    def take(self, data):
        """Stores the received data, and repeats the others' steps with it since."""
        for unit in self._coming:
            piece, data = data[:unit.bytes], data[unit.bytes:]
            self._program.store(unit, piece)
        for index, optimizer in enumerate(self._program.wrapped):
            parameters = self._parameters(index)
            for kept in self._kept[index]:
                self._again(optimizer, parameters, kept)
            self._has[index].update(parameters)
        self.drop()

    @staticmethod
    def _again(optimizer, parameters, kept):
        now = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            parameter.grad = kept.gradients[parameter]
        _step_only(optimizer, kept.options, set(parameters))
        for parameter, gradient in zip(parameters, now):
            parameter.grad = gradient

    def drop(self):
        """Cancels their transfer."""
        self._coming = []
        self._awaited = set()

    def step(self, optimizer, arguments):
        """Steps the parameters that are available."""
        index = self._program.wrapped.index(optimizer)
        options = [{key: value for key, value in group.items() if key != "params"}
                   for group in optimizer.param_groups]
        result = _step_only(optimizer, options, self._has[index], arguments)
        coming = self._parameters(index)
        if coming:
            gradients = {parameter: None if parameter.grad is None else parameter.grad.clone()
                         for parameter in coming}
            self._kept[index].append(_Kept(options, gradients))
        return result


def _step_only(optimizer, options, chosen, arguments=()):
    # A step of these parameters, by these options.
    groups = optimizer.param_groups
    some = [dict(each, params=[parameter for parameter in group["params"] if parameter in chosen])
            for each, group in zip(options, groups)]
    some = [group for group in some if group["params"]]
    if not some:
        return arguments[0]() if arguments else None
    optimizer.param_groups = some
    try:
        return optimizer._stretto_own_step(*arguments)
    finally:
        optimizer.param_groups = groups


class _Batch(NamedTuple):
    units: List[int]
    takers: List[int]  # Seats.
    transfer: Any
    age: int = 0  # Steps that have ended without completing it.


class Healing:
    """The missing state of joining workers, from the join until they are complete. All members have
    one, and decide alike.

    units    all units
    lacks    the missing units, by seat of the joining workers
    told     further values from the givers, by plan()
    """

    def __init__(self, now, program, units, lacks, told, present):
        self._now = now
        self._program = program
        self._units = units
        self._lacks = {seat: set(lacked) for seat, lacked in lacks.items()}
        self._budget = told["budget"]
        self._all_means = told["all means"]
        self._least = max(_LEAST_BATCH, sum(unit.bytes for unit in units) // _BATCHES)
        self._batch = None
        self._rows = None
        self._says = _FILLS
        self._present = present
        self._took = None
        self._taker = _Taker(program) if now.seat in self._lacks else None

    @property
    def told(self):
        """The plan for workers that join now."""
        return {"units": [list(unit) for unit in self._units], "budget": self._budget,
                "all means": self._all_means,
                "lacks": [[seat, sorted(lacked)] for seat, lacked in self._lacks.items()]}

    @property
    def lacking(self):
        """The seats of the workers with missing state."""
        return list(self._lacks)

    def add(self, seats, present):
        """Adds joining workers, which have nothing."""
        self._lacks.update({seat: set(range(len(self._units))) for seat in seats})
        self._present = present
        self._batch = None  # It was for other workers. It has arrived, or its giver was lost.
        self._says = _FILLS
        if self._taker is not None:
            self._taker.drop()

    @property
    def is_here(self):
        """True if this worker lacks state."""
        return self._now.seat in self._lacks

    def uses(self, parameters):
        """True if this worker, which lacks state, needs the means of any of these."""
        return self._all_means or self._taker.uses(parameters)

    def _of(self, indices):
        return [self._units[index] for index in indices]

    # ---- as a step begins

    def follow(self, took):
        """The result of the reports at the last step's end: GOES_ON; ENDED, if no worker lacks
        state; or CHANGED, if the units have changed, so that all must be sent at once."""
        self._took = took
        if self._rows is None:
            return GOES_ON
        rows, self._rows = self._rows.wait().tolist(), None
        rows = {seat: row[1:] for seat, row in enumerate(rows) if row[0]}
        self._present = self._now.in_order(rows)
        self._lacks = {seat: lacked for seat, lacked in self._lacks.items() if seat in rows}
        if self._batch is not None:
            self._end_batch(rows)
        self._lacks = {seat: lacked for seat, lacked in self._lacks.items() if lacked}
        if not self._givers():
            raise nobody_has_it()
        if self._lacks and any(row[0] == _OTHER for row in rows.values()):
            return CHANGED
        return GOES_ON if self._lacks else ENDED

    def _givers(self):
        return [seat for seat in self._present if seat not in self._lacks]

    def _end_batch(self, rows):
        said = {seat: rows[seat][0] for seat in self._batch.takers if seat in rows}
        if _FILLS in said.values():
            self._batch = self._batch._replace(age=self._batch.age + 1)
            return
        for seat, word in said.items():
            if word == _HAS:
                self._lacks[seat] -= set(self._batch.units)
        slower = [last / usual for seat, (_, last, usual) in rows.items()
                  if seat not in self._lacks and last and usual]
        # Joining workers make servers send more replies, also without a batch.
        may_take = _SLOWED * len(self._present) / max(1, len(self._givers()))
        if self._batch.age >= _LATE or (slower and statistics.median(slower) > may_take):
            self._budget = max(self._least, self._budget // 2)
        elif self._batch.age <= _SOON:
            self._budget = min(_MOST_BATCH, self._budget * 2)
        self._batch = None
        self._says = _FILLS

    def go_on(self):
        """Sends the next batch, with its current values, unless one is in transfer."""
        if self._batch is not None:
            return
        chosen, takers = self._choose()
        total = sum(unit.bytes for unit in self._of(chosen))
        wants = self._now.seat in takers
        tensors = []
        if wants:
            self._taker.begin(self._of(chosen))
        elif not self.is_here:
            tensors = [each for unit in self._of(chosen) for each in self._program.contents(unit)]
        transfer = stripes.Stripes(self._now, "Healing", total, self._givers(), tensors, wants)
        self._batch = _Batch(chosen, takers, transfer)

    def _choose(self):
        # The first joiner is served first, together with others. Tensors without an optimizer
        # follow all parameters, since programs compute them from those.
        first = next(iter(self._lacks.values()))
        trained = [index for index in sorted(first) if self._units[index].optimizer >= 0]
        chosen, bytes_ = [], 0
        for index in trained or sorted(first):
            if chosen and bytes_ + self._units[index].bytes > self._budget and trained:
                break
            chosen.append(index)
            bytes_ += self._units[index].bytes
        takers = [seat for seat, lacked in self._lacks.items() if lacked >= set(chosen)
                  and (trained or all(self._units[index].optimizer < 0 for index in lacked))]
        return chosen, takers

    # ---- as it ends

    def step(self, optimizer, arguments):
        """A step of one of the program's optimizers."""
        if not self.is_here:
            result = optimizer._stretto_own_step(*arguments)
        else:
            self._look()
            result = self._taker.step(optimizer, arguments)
        if optimizer is self._program.wrapped[0]:
            self._say()
        return result

    def _look(self):
        # A received batch is stored before the step; for the last one the step waits.
        batch = self._batch
        if batch is None or self._says != _FILLS or self._now.seat not in batch.takers:
            return
        waits = all(unit.optimizer < 0 for unit in self._of(batch.units))
        if not waits and not batch.transfer.done():
            return
        data = batch.transfer.wait()
        if data is None:
            self._says = _AGAIN
            self._taker.drop()
        else:
            self._says = _HAS
            self._taker.take(data)

    def _say(self):
        word = self._says
        if not self.is_here and (self._program.units() != self._units
                                 or self._program.reads_means() > self._all_means):
            word = _OTHER
        micro = [round(seconds * 1e6) for seconds in (self._took or 0, self._now.pace.usual)]
        rows = torch.zeros(self._now.seats, 4, dtype=torch.int64)
        rows[self._now.seat] = torch.tensor([1, word, *micro])
        self._rows = exchange.begin(rows, rows, "Healing.rows", False, 0)


def plan(now, program):
    """The givers' plan for joining workers: units, and bytes of the first batch. None if it is
    better to send everything at once."""
    units = program.units()
    if not units or sum(unit.bytes for unit in units) < LEAST_BYTES:
        return None
    return {"units": [list(unit) for unit in units], "lacks": [],
            "all means": program.reads_means(),
            "budget": int(min(_MOST_BATCH, max(_LEAST_BATCH, now.pace.usual * _GUESSED_RATE)))}
