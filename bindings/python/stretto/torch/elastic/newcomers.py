# SPDX-License-Identifier: Apache-2.0
"""Workers that come into an elastic job while it runs: what they get from those who are in.

They come in at the begin of a step (Session.next_step), at which all who are in have the same
parameters, the same state of their optimizers, and nothing in flight. Each of them gives some of
the bytes; nothing is unpickled. If one of the givers is lost meanwhile all begin again. What takes
long travels in the steps that follow (healing.py).
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
    """What came of a meeting."""

    seats: List[int]  # Of all who are in, by rank.
    rows: Dict[int, List[int]]  # What those who were in have told, by seat.
    is_new: bool  # This worker is one of those that came.


def makes_steps(now, scope):
    """True if the program's steps begin with what is exchanged in this scope: that of its first
    optimizer that is wrapped, or of its first module, if none was when that began."""
    if scope.number != 1:
        return False
    if now.step_scope is None and (scope.kind == "optimizer"
                                   or not (now.optimizers or now.apart)):
        now.step_scope = scope.kind
    return scope.kind == now.step_scope


def begin_step(now):
    """A step of the program's begins: gives what newcomers need, or gets it."""
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
    """The same in a program whose first optimizer is in another mode than sync. True if this worker
    has come in by it."""
    if now.has_state:
        return False
    came = now.come_in() if now.is_new else now.next_step()
    return came > 0 and meet(now, came, (), Training(now)).is_new


def _follow(now, took):
    # True if the gradients of this step are by parameters that this worker made up.
    word = now.healing.follow(took)
    lacks = now.healing.is_here
    if word == healing.CHANGED:
        _all_at_once(now)
    if word != healing.GOES_ON:
        now.healing = None
    return lacks


def _all_at_once(now):
    # Those who lack something get everything, and all wait.
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
    """Whether a tensor that is described by this key is a parameter that is trained."""
    return bool(_IS_TRAINED.match(key))


class _Agreed:
    # What is given where the program gives the rest itself.

    def __init__(self, now):
        self._modules = plain.Modules(now)
        self._apart = apart.Optimizers(now)

    def described(self):
        """To begin with."""
        return {"modules": self._modules.layouts, "openings": self._apart.openings,
                "heals": None}, []

    @staticmethod
    def givers(givers):
        """All."""
        return givers

    def templates(self, described):
        """For what comes."""
        del described
        return []

    def take(self, described, values, giver):
        """What has come."""
        del values, giver
        self._modules.follow_others(described["modules"])
        self._apart.follow_others(described["openings"])


class Training:
    """The parameters, other tensors that were made alike, and the optimizers of a program. What
    modules train comes at once: nobody sees their optimizers' steps.

    besides    other tensors, by keys that no tensor has that was made alike
    other      what is said where this program is another one
    operation  of the program's, for the error
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
        self.empty = {}  # Tensors without elements, of which there is nothing to bring.
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
        """Of the tensors that are here, but for optimizers' states."""
        return self._tensors.keys()

    def givers(self, givers):
        """Who of these gives."""
        return self._apart.givers(givers)

    def program(self):
        """The same, as it is brought in batches."""
        return healing.Program(self._wrapped, {key: tensor for key, tensor in self._tensors.items()
                                               if not _IS_TRAINED.match(key)})

    def described(self):
        """What there is, in words, and its tensors, which are to come at once."""
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
        """Tensors such as will come. Mismatch if they are of another program."""
        tensors = []
        # All that is restored is read, or not needed: then nothing touches its pages.
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
        """The same templates, but those that are of what is here, where that lies in the host's
        memory in one piece, as its own numbers: what is read into them needs no other memory."""
        own = [self._tensors[key].data if key in self._tensors else None
               for key in described["tensors"]]
        own += [None] * (len(templates) - len(own))
        return [mine if mine is not None and _holds_its_numbers(mine) else template
                for template, mine in zip(templates, own)]

    def fill(self, described, values):
        """What is trained here, and what was made alike, becomes what these values are. Returns
        what remains of them."""
        if not described["heals"]:
            for key, value in zip(described["tensors"], values):
                if key in self._tensors:  # Others may have made more alike since they began.
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
        """What optimizers in modes apart remember becomes what remains of the values."""
        self._apart.load([self._loadable(each, rest) for each in described["apart"]])

    def take(self, described, values, giver):
        """Makes this worker as the others are, but for what comes later. A backward that has begun
        goes on by these values, and what it brings is not used."""
        rest = self.fill(described, values)
        for each, told in zip(self._wrapped, described["optimizers"]):
            each._stretto_exchange.follow_others(told["layouts"])
        self._modules.follow_others(described["modules"])
        self._apart.follow_others(described["openings"])
        self._apart.take([broadcasting.filled(each, rest) for each in described["apart"]], giver)


def _place_of(tensor):
    # Equal for the views of one tensor; empty tensors have no memory, and their storage is known.
    return tensor.data_ptr() if tensor.numel() else (wire.storage_of(tensor)._cdata, tensor.shape)


def _holds_its_numbers(tensor):
    # The memory of conjugate and negative views holds other numbers than they have.
    return (tensor.is_cpu and tensor.is_contiguous()
            and not (tensor.is_conj() or tensor.is_neg()))


def _plain_states(described):
    return described["plain"]["states"] if described["plain"] is not None else []


def meet(now, came, mine, given=None):
    """The workers that came, so many, and those who are in call it at the same step: they agree on
    seats, those who are in tell `mine`, whole numbers, and give what `given` describes."""
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
    # Who is in, by rank, and who of them can give.
    present = now.in_order(here)
    lacking = [] if now.healing is None else now.healing.lacking
    givers = [seat for seat in present if seat not in lacking]
    if not givers:
        raise healing.nobody_has_it()
    return present, givers


def _heal(now, given, told):
    # What those who have just come lack follows.
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
    # `mine` is what one of those tells who are in. None if who told was lost.
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
    # What has come for each of these.
    reader = healing.Reader(data)
    return [reader.tensor(str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
            for tensor in tensors]
