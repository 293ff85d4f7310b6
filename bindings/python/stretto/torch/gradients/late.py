# SPDX-License-Identifier: Apache-2.0
"""LateExchange: the means of some gradients, the stale ones, come a step later than they were sent,
and those of all others at once. What is sent is the same as in mode sync.

Gradients go as they come. Backward brings those of the last layers first, which are waited for
first, and what is left of the step before has gone by then: so the order of coming is that of the
deadlines, and needs no priorities.

A mean is pending from the step that sends its gradients until synchronize() of the next, or land(),
brings it.
"""

import time
from typing import Any, List, NamedTuple

import torch

from stretto import done, unfinished
from stretto.torch.core import exchange
from stretto.torch.gradients import buckets, gradients
from stretto.torch.core import compression as compressions

_DENSE, _SPARSE, _NONE, _FROZEN = range(4)  # What an optimizer is to see of a gradient.


class _Pending(NamedTuple):
    # A bucket's gradients of the step before, whose means have not been taken.
    ticket: Any
    source: Any  # What travels, and where the mean comes; None: to nobody.
    context: Any
    gradients: List[Any]  # By slot, of a step without anybody to exchange with.
    kinds: List[int]


def wait_for_device(device):
    """Returns when the device has done all that it was told to; a CPU has by then."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _as(kind, gradient):
    # A dense gradient as the optimizer is to see it.
    if kind in (_NONE, _FROZEN):
        return None
    if kind == _SPARSE:
        rows = gradient if gradient.is_sparse else gradient.to_sparse(1)
        return rows if rows._nnz() else None
    return gradient


class LateExchange(gradients.GradientExchange):
    """Thread: one at a time. Arguments as those of GradientExchange, and

    kept      for how many steps this worker's own stale gradients are kept: 0, 1 or 2
    profile   a windows.Profile that notes steps, in which nothing is stale; None: nothing is noted
    clock     seconds, for the profile. It is read when the parameters' device has done what it was
              told to: a GPU is told in advance, so that its work would be noted too early
    """

    _may_take_names = False  # Means are pending between steps.

    def __init__(self, named_parameters, passes, compression, scope, way=None, kept=0,
                 profile=None, clock=time.monotonic):
        super().__init__(named_parameters, passes, compression, scope, way=way)
        self._kept = kept
        self._clock = clock
        self._devices = {slot.parameter.device for slot in self._slots}
        self._stale = frozenset()
        self._pending = {}
        self._own = {}  # This step's gradients of this worker, by stale parameter,
        self._own_before = {}  # and those of the step before.
        self.is_behind = False
        """True if backward has brought a gradient since synchronize()."""
        self.profile = profile
        self.enabled = profile is None

    @property
    def stale(self):
        """The parameters whose gradients come a step later."""
        return self._stale

    @property
    def sizes(self):
        """Bytes of each gradient, by parameter."""
        return {slot.parameter: slot.bytes for slot in self._slots}

    def make_stale(self, parameters):
        """From the next step on these are stale, and no others: between steps, at all workers.
        Nothing is noted any more."""
        self.profile, self.enabled = None, True
        before, self._stale = self._stale, frozenset(parameters)
        if self._stale == before:
            return
        coded_from = compressions.coded_from(self._compression)
        self.buckets = []
        for mark, is_stale in ((" late", True), (" at once", False)):
            some = [slot for slot in self._slots if (slot.parameter in self._stale) == is_stale]
            for bucket in buckets.bucketed(some, coded_from):
                bucket.mark = mark
                self.buckets.append(bucket)

    def _on_gradient(self, slot):
        self.is_behind = True
        if self.profile is not None:
            self.profile.gradient(slot.parameter, self._now())
        super()._on_gradient(slot)

    @unfinished.whole("the exchange of gradients", always=True)
    def synchronize(self):
        """Sends what has not been sent, and waits until every gradient is a mean over all workers:
        that of this step, or if it is stale of the step before, of which there may be none. Raises
        what went wrong."""
        self.is_behind = False
        if self.profile is None:
            super().synchronize()
            return
        self.profile.computed(self._now())
        self.agree()
        if not self._session.alone:  # That all are here, so that nobody is waited for by the clock.
            here = torch.zeros(1)
            name = f"Window.{self._scope.kind}{self._scope.number}"
            exchange.begin(here, here, name, False, 0).wait()
        began = self._now()
        super().synchronize()
        now = self._now()
        self.profile.exchanged(now - began, now)

    def _now(self):
        for device in self._devices:
            wait_for_device(device)
        return self._clock()

    def own(self):
        """This worker's gradients of this step and of the step before, as far as they are kept:
        {parameter: (gradient, the one before or None)}, dense."""
        return {parameter: (gradient, self._own_before.get(parameter))
                for parameter, gradient in self._own.items()}

    def end_step(self):
        """Nothing of this step is needed any more but what is pending."""
        self._own_before = self._own if self._kept == 2 else {}
        self._own = {}
        for parameter in self._stale:
            parameter.grad = None  # The network may read it: nobody may clear it.

    @unfinished.alone("the exchange of gradients")
    def land(self):
        """Waits for the means that are pending: {parameter: mean or None}. The parameters' own
        gradients stay what they are."""
        pending, self._pending = self._pending, {}
        self._own_before = {}
        means = {}
        for bucket, sent in pending.items():
            means.update(self._landed(bucket, sent))
        return means

    def _synchronize(self):
        super()._synchronize()
        if self._session.alone:
            for bucket in self.buckets:
                if self._is_late(bucket):
                    for slot in bucket.slots:  # What others would have agreed on.
                        if slot.parameter.grad is not None:
                            slot.is_sparse = slot.parameter.grad.is_sparse
                        slot.is_unused = slot.is_sparse is None
                    self._pass(bucket, done.Done(), None)

    def _is_late(self, bucket):
        return bucket.slots[0].parameter in self._stale

    def _dense_gradient(self, slot):
        gradient = super()._dense_gradient(slot)
        if self._kept and slot.parameter in self._stale:
            self._own[slot.parameter] = gradient.detach().clone()  # The mean takes its place.
        return gradient

    def _buffer(self, bucket, small):
        # That of the step before may hold what is pending.
        if self._is_late(bucket):
            bucket.buffers, bucket.other_buffers = bucket.other_buffers, bucket.buffers
        return super()._buffer(bucket, small)

    def _receive(self, bucket):
        if not self._is_late(bucket):
            super()._receive(bucket)
            return
        if self._layouts is not None:
            self._agree_on_layouts()
        self._pass(bucket, *self._taken(bucket))

    def _pass(self, bucket, ticket, source):
        # The bucket's gradients are pending now, and means of those that were are wanted.
        before = self._pending.pop(bucket, None)
        kinds = [self._kind(slot) for slot in bucket.slots]
        own = [slot.parameter.grad for slot in bucket.slots] if source is None else []
        if self._kept:
            self._own.update((slot.parameter, gradient.clone()) for slot, gradient
                             in zip(bucket.slots, own) if gradient is not None)
        for slot, kind in zip(bucket.slots, kinds):
            if kind in (_NONE, _FROZEN):
                self._own.pop(slot.parameter, None)
        self._pending[bucket] = _Pending(ticket, source, bucket.context, own, kinds)
        means = {} if before is None else self._landed(bucket, before)
        for slot in bucket.slots:
            slot.parameter.grad = means.get(slot.parameter)

    def _kind(self, slot):
        if slot.left_alone:
            return _FROZEN
        if slot.is_unused:
            return _NONE
        return _SPARSE if slot.is_sparse else _DENSE

    def _landed(self, bucket, sent):
        exchange.wait_for_mean(sent.ticket)
        if sent.source is None:
            return {slot.parameter: gradient
                    for slot, gradient in zip(bucket.slots, sent.gradients)}
        flat = sent.source
        if self._staging is not None:
            flat = self._staging.bring(flat)
        flat = self._compression.decompress(flat, sent.context).reshape(-1)
        sizes = [slot.parameter.numel() for slot in bucket.slots]
        means = {}
        for slot, kind, part in zip(bucket.slots, sent.kinds, flat.split(sizes)):
            mean = part.view(slot.parameter.shape)
            if kind == _FROZEN:
                self._leave_alone(slot, mean)
            means[slot.parameter] = _as(kind, mean)
        return means

    def as_seen(self, parameter, gradient):
        """A dense gradient of a parameter as its optimizer is to see it: sparse, if that is how
        backward makes them."""
        return _as(self._kind(self._by_parameter[parameter]), gradient)
