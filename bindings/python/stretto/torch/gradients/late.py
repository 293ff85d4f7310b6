# SPDX-License-Identifier: Apache-2.0
"""LateExchange: the means of stale gradients arrive a step after they were sent, the means of all
other gradients in the same step. The sent data is the same as in mode sync.

Gradients are sent in the order of backward. Backward computes the last layers' gradients first.
Their means are needed first, and the rest of the previous step has been sent by then. So this order
is the order of the deadlines, and needs no priorities.

A mean is pending from the step that sends its gradients until synchronize() of the next step, or
land(), receives it.
"""

import time
from typing import Any, List, NamedTuple

import torch

from stretto import done, unfinished
from stretto.torch.core import exchange
from stretto.torch.gradients import buckets, gradients
from stretto.torch.core import compression as compressions

_DENSE, _SPARSE, _NONE, _FROZEN = range(4)  # The form of a gradient for the optimizer.


class _Pending(NamedTuple):
    # A bucket's gradients of the previous step, whose means are pending.
    ticket: Any
    source: Any  # The tensor that travels and receives the mean; None: no peers.
    context: Any
    gradients: List[Any]  # By slot, of a step without peers.
    kinds: List[int]


def wait_for_device(device):
    """Returns when the device has finished its queued work; a CPU has none."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _as(kind, gradient):
    # A dense gradient in the form for the optimizer.
    if kind in (_NONE, _FROZEN):
        return None
    if kind == _SPARSE:
        rows = gradient if gradient.is_sparse else gradient.to_sparse(1)
        return rows if rows._nnz() else None
    return gradient


class LateExchange(gradients.GradientExchange):
    """Thread: one at a time. Arguments of GradientExchange, and

    kept      for how many steps this worker's own stale gradients are kept: 0, 1 or 2
    profile   a windows.Profile that records steps, in which nothing is stale; None: no recording
    clock     seconds, for the profile. It is read when the parameters' device has finished its
              queued work: a GPU runs asynchronously, and earlier readings would be wrong
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
        self._own_before = {}  # and of the previous step.
        self.is_behind = False
        """True if backward has brought a gradient since synchronize()."""
        self.profile = profile
        self.enabled = profile is None

    @property
    def stale(self):
        """The parameters whose means arrive a step later."""
        return self._stale

    @property
    def sizes(self):
        """Bytes of each gradient, by parameter."""
        return {slot.parameter: slot.bytes for slot in self._slots}

    def make_stale(self, parameters):
        """Makes exactly these parameters stale from the next step on, and ends the recording. All
        workers call it between steps."""
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
        """Sends unsent gradients, and waits until every gradient is a mean over all workers: of
        this step, or for a stale gradient of the previous step, if there is one. Raises the error
        of the exchange."""
        self.is_behind = False
        if self.profile is None:
            super().synchronize()
            return
        self.profile.computed(self._now())
        self.agree()
        if not self._session.alone:  # Waits for peers outside the measured time.
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
        """This worker's gradients of this step and of the previous step, as far as they are kept:
        {parameter: (gradient, previous gradient or None)}, dense."""
        return {parameter: (gradient, self._own_before.get(parameter))
                for parameter, gradient in self._own.items()}

    def end_step(self):
        """Drops the gradients of this step, except pending ones."""
        self._own_before = self._own if self._kept == 2 else {}
        self._own = {}
        for parameter in self._stale:
            parameter.grad = None  # The network may read it: it must not be cleared.

    @unfinished.alone("the exchange of gradients")
    def land(self):
        """Waits for the pending means, and returns {parameter: mean or None}. The parameters' own
        gradients stay unchanged."""
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
                    for slot in bucket.slots:  # Peers would have agreed on these facts.
                        if slot.parameter.grad is not None:
                            slot.is_sparse = slot.parameter.grad.is_sparse
                        slot.is_unused = slot.is_sparse is None
                    self._pass(bucket, done.Done(), None)

    def _is_late(self, bucket):
        return bucket.slots[0].parameter in self._stale

    def _dense_gradient(self, slot):
        gradient = super()._dense_gradient(slot)
        if self._kept and slot.parameter in self._stale:
            self._own[slot.parameter] = gradient.detach().clone()  # The mean overwrites it.
        return gradient

    def _buffer(self, bucket, small):
        # The buffer of the previous step may hold pending means.
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
        # Makes the bucket's gradients pending, and sets the means that were pending before.
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
        """A dense gradient of a parameter in the form for its optimizer: sparse, if backward makes
        sparse gradients."""
        return _as(self._kind(self._by_parameter[parameter]), gradient)
