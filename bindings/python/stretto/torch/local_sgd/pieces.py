# SPDX-License-Identifier: Apache-2.0
"""Pieces of a model that local steps exchange: for each exchanged tensor its parameters, their
values at the start of an outer round, and the outer rule's momentum. All of that is in host memory,
also of parameters on a GPU, and in float32 or wider.

Small parameters with adjacent names travel together, as gradients do (buckets.py).
"""

import itertools

import torch

from stretto import session
from stretto.torch.core import agreement, exchange, wire
from stretto.torch.gradients import buckets
from stretto.torch.local_sgd import outer
from stretto.torch.core import compression as compressions

_WIDE = {torch.float64: torch.float64}


def check(pairs):
    """ValueError unless local steps can train these (name, parameter)."""
    if not pairs:
        raise ValueError("none of the optimizer's parameters requires a gradient, so that nothing "
                         "is trained: there is nothing to exchange")
    for name, parameter in pairs:
        if not parameter.is_floating_point():
            raise ValueError(f"parameter '{name}' is {wire.type_name(parameter)}, wanted a "
                             "floating type: means of what local steps come to are made")


class Piece:
    """A piece. Its progress is this worker's change by local steps since the last exchange, with
    the sign of a gradient: old parameters less current ones. Old values are those that parameters
    held: rounding to a narrow type is no step."""

    def __init__(self, bucket, scope):
        self._slots = bucket.slots
        for slot in self._slots:
            slot.bucket = None  # Unused, and refers to the slot: a cycle.
        first = bucket.slots[0]
        self.name = f"Outer.{scope}{first.name}"
        if len(bucket.slots) > 1:
            self.name += f"+{len(bucket.slots) - 1}"
        self._dtype = _WIDE.get(first.parameter.dtype, torch.float32)
        self._is_narrow = first.parameter.dtype != self._dtype
        self.values = None
        self.momentum = None
        self._start = None  # Between send() and settle(): the parameters after send().
        self._lost = None  # Rounding error of settle(); None: as values are rounded.
        self._wire = None  # The tensor on the wire,
        self._context = None  # the context for its decompression,
        self._ticket = None  # and its exchange.

    @property
    def numel(self):
        """Elements."""
        return sum(slot.parameter.numel() for slot in self._slots)

    @property
    def is_sent(self):
        """True if its exchange has not been ended here."""
        return self._wire is not None

    def begin(self, has_momentum):
        """Values become the current parameters, unless they exist already."""
        if self.values is None:
            self.values, self._lost = self._current().clone(), None
        if self.momentum is None and has_momentum:
            self.momentum = torch.zeros_like(self.values)

    def empty(self, has_momentum):
        """Values will be received."""
        self.values, self._lost = torch.zeros(self.numel, dtype=self._dtype), None
        self.momentum = torch.zeros_like(self.values) if has_momentum else None

    def state(self):
        """The tensors of its state, in order."""
        return [self.values] if self.momentum is None else [self.values, self.momentum]

    def _current(self):
        flat = [slot.parameter.detach().reshape(-1).to("cpu", self._dtype)
                for slot in self._slots]
        return flat[0] if len(flat) == 1 else torch.cat(flat)

    def split(self, flat):
        """(name, tensor of the parameter's shape) of each parameter: views."""
        ends = itertools.accumulate(slot.parameter.numel() for slot in self._slots)
        return [(slot.name, flat[end - slot.parameter.numel():end].view(slot.parameter.shape))
                for slot, end in zip(self._slots, ends)]

    def shapes(self):
        """(name, shape) of each parameter."""
        return [(slot.name, slot.parameter.shape) for slot in self._slots]

    def store(self, flat):
        """Sets the parameters to this."""
        with torch.no_grad():
            for slot, (_, value) in zip(self._slots, self.split(flat)):
                slot.parameter.copy_(value)

    def _rounded(self, flat):
        # The values of parameters that were set to this.
        return flat.to(self._slots[0].parameter.dtype).to(self._dtype) if self._is_narrow else flat

    def _progress(self):
        if not self._is_narrow:
            return self.values - self._current()
        if self._lost is None:
            return self._rounded(self.values) - self._current()
        return self.values - self._lost - self._current()

    def forget(self):
        """Drops the exchange: its job has lost this worker, or it was settled."""
        self._start = self._wire = self._context = self._ticket = None

    def arrive(self):
        """Values have arrived: this worker starts with them."""
        self.store(self.values)
        self._lost = None
        if self.is_sent:
            self._start = self._rounded(self.values.clone())

    # ---- a round

    def send(self, how, scale, listens):
        """Starts to exchange this worker's progress, times `scale`; a listening worker has none,
        and does not contribute to the mean. `how` is a Way. With overlap the worker continues from
        the outer step by its own progress, which is the common result if all are alike."""
        now = session.current()
        own = torch.zeros_like(self.values) if listens else self._progress()
        if how.overlap and not listens:
            self._start = self.values.clone()
            momentum = None if self.momentum is None else self.momentum.clone()
            how.rule.apply(self._start, momentum, own.clone())
            self.store(self._start)
            self._start = self._rounded(self._start)
        self._wire, self._context = how.compression.compress(own.mul_(scale))
        if now.alone:
            return
        declared = now.declare(
            self.name, wire.NAMES[self._wire.dtype], self._wire.numel(), rule="mean",
            deterministic=torch.are_deterministic_algorithms_enabled(), codec=self._codec(how),
            bulk=True, exchange=how.way)
        address = self._wire.data_ptr()
        if listens:
            self._ticket = now.listen(declared, (address, declared.bytes), 0, self._wire)
        else:
            self._ticket = now.push_pull([(declared, address, address, declared.bytes)], 0,
                                         self._wire)

    def _codec(self, how):
        if len(self._slots) > 1:
            return "none"  # Each of them is too small for one.
        return compressions.codec_of(how.compression, self._wire)

    def settle(self, how, factor):
        """Waits for the mean, and makes the outer step by `factor` times it. Parameters become the
        values, less the progress made since send()."""
        if self._ticket is not None:
            exchange.wait_for_mean(self._ticket)
        mean = how.compression.decompress(self._wire, self._context)
        if factor != 1.0:
            mean.mul_(factor)
        later = None if self._start is None else self._start - self._current()
        self.forget()
        how.rule.apply(self.values, self.momentum, mean)
        wanted = self.values if later is None else self.values - later
        self.store(wanted)
        is_exact = later is None or not self._is_narrow
        self._lost = None if is_exact else wanted - self._rounded(wanted)


class Way:
    """Strategy for the exchange and the outer update of model fragments.

    rule         an outer.Rule
    overlap      means are waited for a round later
    compression  see stretto.torch.Compression
    way          one of ways.EXCHANGES; None: as the job has it
    """

    def __init__(self, rule, overlap, compression, way):
        self.rule = rule
        self.overlap = overlap
        self.compression = compression
        self.way = way

    def facts(self):
        """Facts that must be equal at all workers, as texts by text."""
        return {"outer": f"{self.rule.outer} with rate {self.rule.rate} and momentum "
                         f"{self.rule.momentum}", "overlap": str(self.overlap),
                "exchange": self.way or session.current().place.usual_way,
                **compressions.facts_of(self.compression)}


class Pieces:
    """All of a model, in fragments."""

    def __init__(self, pairs, fragments, compression, scope):
        if fragments > len(pairs):
            raise ValueError(f"fragments is {fragments}, and there are {len(pairs)} parameters")
        slots = buckets.slots_of(pairs, "")
        self.facts = {f"parameter '{slot.name}'": agreement.fact_of(slot.parameter)
                      for slot in slots}
        self.names = {slot.parameter: slot.name for slot in slots}
        counts = outer.split([slot.bytes for slot in slots], fragments)
        rest = iter(slots)
        coded_from = compressions.coded_from(compression)
        self.fragments = [
            [Piece(bucket, scope.prefix) for bucket in
             buckets.bucketed(list(itertools.islice(rest, count)), coded_from)]
            for count in counts]

    def __iter__(self):
        return itertools.chain.from_iterable(self.fragments)

    @property
    def bytes(self):
        """Of all values and momenta."""
        return sum(each.numel() * each.element_size() for piece in self for each in piece.state())

    def by_name(self, kind):
        """Copies of all values, or momenta, in their parameters' shapes."""
        return {name: tensor.clone() for piece in self if getattr(piece, kind) is not None
                for name, tensor in piece.split(getattr(piece, kind))}

    def load(self, values, momentum, rule):
        """Sets values and momenta. ValueError if they are of other parameters."""
        wanted = [(name, list(shape)) for piece in self
                  for name, shape in piece.shapes()]
        for kind, found in (("values", values), ("momentum", momentum)):
            if kind == "momentum" and not (found and rule.has_momentum):
                continue  # Of a run by another rule: it starts without one.
            wrong = [name for name, shape in wanted
                     if name not in found or list(found[name].shape) != shape]
            if wrong or len(found) != len(wanted):
                raise ValueError(f"the state's outer {kind} are of other parameters than the "
                                 f"optimizer's: {(wrong or sorted(found))[0]!r} is not as here")
        for piece in self:
            piece.forget()
            piece.empty(rule.has_momentum)
            for kind, found in (("values", values), ("momentum", momentum)):
                if getattr(piece, kind) is not None and found:
                    for name, tensor in piece.split(getattr(piece, kind)):
                        tensor.copy_(found[name])

    def reset(self):
        """Values become the current parameters when the next round starts."""
        for piece in self:
            piece.forget()
            piece.values = piece.momentum = None
