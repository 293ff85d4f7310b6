# SPDX-License-Identifier: Apache-2.0
"""Workers that join a running elastic job: the state that they get from the members.

They join at the start of a step (Session.next_step), at which all members have the same parameters,
the same state of their optimizers, and no operation in flight. Each member sends some of the bytes;
nothing is unpickled. If a giver is lost meanwhile, all retry. Large state is sent during the
following steps (healing.py).
"""

import re
from typing import Any, Dict, List, NamedTuple

import torch

from stretto import errors
from stretto.torch.core import agreement, broadcasting, exchange, objects, wire
from stretto.torch.elastic import apart, healing, plain, stripes

_LABEL = "Newcomers"
_IS_TRAINED = re.compile("trained (module|apart)?[0-9]+/")


class Met(NamedTuple):
    """The result of a rendezvous."""

    seats: List[int]  # Of all members, by rank.
    rows: Dict[int, List[int]]  # Values from the previous members, by seat.
    is_new: bool  # True if this worker is joining.


def makes_steps(now, scope):
    """True if the program's steps start with the exchanges of this scope: that of its first wrapped
    optimizer, or of its first module, if no optimizer was wrapped by then."""
    if scope.number != 1:
        return False
    if now.step_scope is None and (scope.kind == "optimizer"
                                   or not (now.optimizers or now.apart)):
        now.step_scope = scope.kind
    return scope.kind == now.step_scope


def begin_step(now):
    """A step of the program starts: sends the state for joining workers, or receives it."""
    if now.has_state:
        return
    now.pace = now.pace or healing.Pace()
    took = now.pace.begin_step(is_usual=now.healing is None)
    listens = False
    if now.healing is not None:
        listens = _follow(now, took)
    came = now.come_in() if now.is_new else now.next_step()
    if came:
        listens = meet(now, came, (), Training(now)).is_new or listens
        now.pace.forget()
    if now.healing is not None:
        now.healing.go_on()
        listens = listens or now.healing.is_here
    now.listens = listens


def begin_apart(now):
    """As begin_step(), in a program whose first optimizer is in another mode than sync. True if
    this worker has joined by it."""
    if now.has_state:
        return False
    came = now.come_in() if now.is_new else now.next_step()
    return came > 0 and meet(now, came, (), Training(now)).is_new


def _follow(now, took):
    # True if this worker computed the gradients of this step by placeholder parameters.
    word = now.healing.follow(took)
    lacks = now.healing.is_here
    if word == healing.CHANGED:
        _all_at_once(now)
    if word != healing.GOES_ON:
        now.healing = None
    return lacks


def _all_at_once(now):
    # Workers that lack state get everything, and all wait.
    given = Training(now, may_heal=False)
    here = exchange.attendance(_LABEL)
    while True:
        givers = _givers(now, here)[1]
        found = _exchange(now, given, {"givers": givers, "have": givers})
        here = exchange.attendance(_LABEL)
        if found is not None and set(found.told["givers"]) <= set(here):
            break
    if now.healing.is_here:
        given.take(found.told["described"], found.values, found.told["givers"][0])
    now.pace.forget()


def is_trained(key):
    """True if the tensor with this key is a trained parameter."""
    return bool(_IS_TRAINED.match(key))


class _Agreed:
    # The state sent if the program sends the rest itself.

    def __init__(self, now):
        self._modules = plain.Modules(now)
        self._apart = apart.Optimizers(now)

    def described(self):
        """The first part."""
        return {"modules": self._modules.layouts, "openings": self._apart.openings,
                "heals": None}, []

    @staticmethod
    def givers(givers):
        """All of them."""
        return givers

    def templates(self, described):
        """Tensors for the data to receive."""
        del described
        return []

    def take(self, described, values, giver):
        """Stores the received data."""
        del values, giver
        self._modules.follow_others(described["modules"])
        self._apart.follow_others(described["openings"])


class Training:
    """The parameters, other replicated tensors, and the optimizers of a program. Parameters trained
    by modules are sent at once: their optimizers' steps cannot be intercepted.

    besides    further tensors, by keys that no replicated tensor has
    other      error text if the programs differ
    operation  the program's operation, for the error
    """

    def __init__(self, now, may_heal=True, besides=(),
                 other="this worker comes into a job that trains something else",
                 operation="join"):
        self._now = now
        self._other = other
        self._operation = operation
        self._modules = plain.Modules(now)
        self._apart = apart.Optimizers(now)
        self._may_heal = may_heal and not self._modules and not self._apart
        self._wrapped = [optimizer for optimizer in (each() for each in now.optimizers)
                         if optimizer is not None]
        self._tensors = {}
        self.empty = {}  # Tensors without elements, for which no data is sent.
        seen = set()
        trained = ((f"trained {index}/{name}", parameter.detach())
                   for index, each in enumerate(self._wrapped)
                   for parameter, name in each._stretto_exchange.names.items())
        others = ((f"trained {name}", parameter.detach())
                  for name, parameter in (*self._modules.trained(), *self._apart.trained()))
        for key, tensor in (*trained, *others, *besides, *now.alike.items()):
            place = _place_of(tensor)
            if place not in seen:
                seen.add(place)
                (self._tensors if tensor.numel() else self.empty)[key] = tensor

    @property
    def keys(self):
        """Keys of the tensors here, without optimizers' states."""
        return self._tensors.keys()

    def givers(self, givers):
        """The givers among these seats."""
        return self._apart.givers(givers)

    def program(self):
        """The state as a healing.Program, for the transfer in batches."""
        return healing.Program(self._wrapped, {key: tensor for key, tensor in self._tensors.items()
                                               if not _IS_TRAINED.match(key)})

    def described(self):
        """The description of the state, and the tensors to send at once."""
        for each in self._wrapped:
            each._stretto_settle()
        heals = None
        if self._now.healing is not None:
            heals = self._now.healing.told if self._may_heal else None
        elif self._may_heal:
            heals = healing.plan(self._now, self.program())
        tensors = [] if heals else list(self._tensors.values())
        optimizers = []
        for each in self._wrapped:
            state = broadcasting.state_by_label(each)
            if heals:
                state["state"] = {}
            watch = each._stretto_watch
            optimizers.append({"state": broadcasting.without_tensors(state, tensors),
                               "layouts": each._stretto_exchange.layouts,
                               "steps": 0 if watch is None else watch.steps})
        return {"tensors": broadcasting.without_tensors(self._tensors, []),
                "optimizers": optimizers, "heals": heals, "modules": self._modules.layouts,
                "plain": self._modules.described(tensors) if self._modules else None,
                "apart": self._apart.described(tensors),
                "openings": self._apart.openings}, tensors

    def templates(self, described):
        """Tensors for the data to receive. Mismatch if it is of a different program."""
        tensors = []
        # A restore reads or ignores all of it: zeroing would touch its pages.
        make = torch.empty if self._operation == "restore" else torch.zeros
        theirs = broadcasting.with_tensors(described["tensors"], tensors, make)
        found = {key: agreement.fact_of(tensor) for key, tensor in theirs.items()
                 if key in self._tensors or _IS_TRAINED.match(key)}
        mine = {key: agreement.fact_of(tensor) for key, tensor in self._tensors.items()
                if key in theirs or _IS_TRAINED.match(key)}
        wrapped, here = len(described["optimizers"]) + len(described["apart"]), len(self._wrapped)
        if found != mine or wrapped != here + len(self._apart):
            words = agreement.difference(mine, found) or f"there are {wrapped} optimizers"
            raise errors.Mismatch(f"{self._other}: {words}", operation=self._operation)
        if described["heals"]:
            tensors.clear()
        for each in (*described["optimizers"], *_plain_states(described)):
            each["state"] = broadcasting.with_tensors(each["state"], tensors, make)
        described["apart"] = broadcasting.with_tensors(described["apart"], tensors, make)
        return tensors

    def in_place(self, described, templates):
        """The templates, replaced by this program's own tensors where those lie in host memory in
        one piece, as plain numbers: reading into them needs no further memory."""
        own = [self._tensors[key].data if key in self._tensors else None
               for key in described["tensors"]]
        own += [None] * (len(templates) - len(own))
        return [mine if mine is not None and _holds_its_numbers(mine) else template
                for template, mine in zip(templates, own)]

    def fill(self, described, values):
        """Sets trained and replicated tensors to these values. Returns the remaining values."""
        if not described["heals"]:
            for key, value in zip(described["tensors"], values):
                if key in self._tensors:  # Others may have added tensors since.
                    self._tensors[key].data.copy_(value)
            values = values[len(described["tensors"]):]
        rest = iter(values)
        for each, told in zip(self._wrapped, described["optimizers"]):
            broadcasting.load_by_label(each, self._loadable(told["state"], rest))
            if each._stretto_watch is not None:
                each._stretto_watch.steps = told["steps"]
        if described["plain"] is not None:
            states = [self._loadable(each["state"], rest)
                      for each in _plain_states(described)]
            self._modules.take(described["plain"], states, self._operation)
        return rest

    def _loadable(self, described, rest):
        state = broadcasting.filled(described, rest)
        return broadcasting.owned(state) if self._operation == "restore" else state

    def load_apart(self, described, rest):
        """Sets the states of optimizers in other modes to the remaining values."""
        self._apart.load([self._loadable(each, rest) for each in described["apart"]])

    def take(self, described, values, giver):
        """Gives this worker the others' state, except for later batches. A backward that has
        started continues by these values, and its gradients are not used."""
        rest = self.fill(described, values)
        for each, told in zip(self._wrapped, described["optimizers"]):
            each._stretto_exchange.follow_others(told["layouts"])
        self._modules.follow_others(described["modules"])
        self._apart.follow_others(described["openings"])
        self._apart.take([broadcasting.filled(each, rest) for each in described["apart"]], giver)


def _place_of(tensor):
    # Equal for the views of one tensor; empty tensors have no memory, but a known storage.
    return tensor.data_ptr() if tensor.numel() else (wire.storage_of(tensor)._cdata, tensor.shape)


def _holds_its_numbers(tensor):
    # The memory of conjugate and negative views holds other numbers than their values.
    return (tensor.is_cpu and tensor.is_contiguous()
            and not (tensor.is_conj() or tensor.is_neg()))


def _plain_states(described):
    return described["plain"]["states"] if described["plain"] is not None else []


def meet(now, came, mine, given=None):
    """The `came` joining workers and the members call it at the same step: they agree on seats; the
    members send `mine`, whole numbers, and the state that `given` describes."""
    given = given or _Agreed(now)
    is_new = now.seat is None
    here = exchange.attendance(_LABEL, mine)
    while True:
        mine_told = None
        if not is_new:
            present, givers = _givers(now, here)
            free = [seat for seat in range(now.seats) if seat not in present][:came]
            mine_told = {"givers": given.givers(givers), "have": givers,
                         "seats": present + free, "taken": free,
                         "agreed": now.seats_in is not None}
        found = _exchange(now, given, mine_told)
        rows = exchange.attendance(_LABEL, mine)
        if found is not None and set(found.told["givers"]) <= set(rows):
            break
        here = rows
    told = found.told
    if is_new:
        taken = told["taken"]
        index = min(max(0, now.present_rank - (now.present - came)), len(taken) - 1)
        now.take_seats(told["seats"], taken[index])
        given.take(told["described"], found.values, told["givers"][0])
    else:
        now.take_seats(told["seats"])
    if now.seats_in is not None or is_new and told["agreed"]:
        now.agree_on(told["seats"])
    if told["described"]["heals"] is not None:
        _heal(now, given, told)
    return Met(told["seats"], rows, is_new)


def _givers(now, here):
    # The members, by rank, and the givers among them.
    present = now.in_order(here)
    lacking = [] if now.healing is None else now.healing.lacking
    givers = [seat for seat in present if seat not in lacking]
    if not givers:
        raise healing.nobody_has_it()
    return present, givers


def _heal(now, given, told):
    # The state of the newest joiners follows.
    if now.healing is not None:
        now.healing.add(told["taken"], told["seats"])
        return
    heals = told["described"]["heals"]
    units = [healing.Unit(*unit) for unit in heals["units"]]
    lacks = {seat: set(lacked) for seat, lacked in heals["lacks"]}
    lacks.update({seat: set(range(len(units))) for seat in told["taken"]})
    now.healing = healing.Healing(now, given.program(), units, lacks, heals, told["seats"])


class _Found(NamedTuple):
    told: Dict[str, Any]
    values: List[Any]


def _exchange(now, given, mine):
    # `mine` is the description from a member; None if that member was lost.
    wants = mine is None or now.seat not in mine["have"]
    data, tensors = b"", []
    if not wants:
        described, tensors = given.described()
        mine["described"] = described
    data = broadcasting.bytes_from(mine, not wants and mine["givers"][0] == now.seat, 0, _LABEL)
    try:
        told = objects.decode(data)
    except ValueError:
        return None
    if wants:
        tensors = given.templates(told["described"])
    flat = [healing.flat(tensor) for tensor in tensors]
    total = sum(each.numel() for each in flat)
    data = stripes.Stripes(now, f"{_LABEL}.state", total, told["givers"], flat, wants).wait()
    return _Found(told, [] if data is None else _values(tensors, data))


def _values(tensors, data):
    # The received data for each of these.
    reader = healing.Reader(data)
    return [reader.tensor(str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
            for tensor in tensors]
