# SPDX-License-Identifier: Apache-2.0
"""GradientExchange: sends each gradient as soon as backward has computed it, and waits for the
means.

Gradients of small parameters with adjacent names travel together (DDP's buckets use the order of
registration): by name, because workers may pass parameters in different orders. If each layer of
the next forward waits for its own, gradients of earlier layers have higher priority: by the
program's order, else at first by that of registration, after one backward by its reversed order
(the idea of P3, Jayarajan et al., MLSys 2019, and of ByteScheduler, Peng et al., SOSP 2019). If a
step waits for all of them they are sent in order of completion: reordering would only make workers
that are not quite in step send in different orders, and a sum is complete with its last
contribution. A gradient with a codec travels alone: codecs choose one scale, or one set of the
largest elements, for a whole part, and small tensors differ.
"""

import collections
import functools
import itertools
import weakref

import torch

from stretto import closing, environment, errors, notices, returning, session, unfinished
from stretto.torch.core import agreement, exchange, repeated, replacing, ways, wire, wire_scope
from stretto.torch.elastic import on_loss
from stretto.torch.gradients import buckets, hooks, staging
from stretto.torch.core import compression as compressions

_EXCHANGE = "the exchange of gradients"
_SPARSE, _DENSE = 1, 1 << 16  # The sum over workers counts both.


def _pass_on(call, slot):
    on_gradient = call()
    if on_gradient is not None:
        on_gradient(slot)


def _joined(gradients):
    # A single gradient unchanged, several in one flat tensor.
    if len(gradients) == 1:
        return gradients[0]
    return torch.cat([gradient.detach().reshape(-1) for gradient in gradients])


def _staging_for(slots, note):
    # Staging of gradients on a GPU; None for gradients on the CPU.
    devices = {slot.parameter.device for slot in slots}
    gpus = [device for device in devices if device.type == "cuda"]
    if len(devices) > 1:
        raise ValueError("the parameters are on several devices ("
                         + ", ".join(sorted(map(str, devices))) + "); a worker trains on one")
    if gpus:
        return staging.Staging(staging.CudaCopies(gpus[0]), note)
    if environment.truth("STRETTO_STAGE"):
        return staging.Staging(staging.HostCopies(), note)
    return None


def _with_names(error, bucket):
    # Several gradients travel as one tensor; the error should name this worker's faulty ones.
    named = [slot.name for slot in bucket.slots if slot.parameter.grad is not None
             and not torch.isfinite(slot.parameter.grad.detach()).all()]
    if not named:
        return error
    return errors.NotFinite(f"{error.cause}; in this worker's gradients of {', '.join(named)}",
                            error.peer, error.operation)


class GradientExchange:
    """The means of the gradients of some parameters, over all workers. Thread: one at a time.

    named_parameters  (name, parameter) of the trained parameters, in any order
    passes            backward passes that add up before a gradient is sent
    compression       see stretto.torch.Compression
    scope             makes the names of this exchange unique; each job that this process joins has
                      a new one
    layerwise         gradients are waited for one by one, the first layer's first
    rule              the reduction of all workers' gradients: mean, sum, min, max or product
    sparse_as_dense   sparse gradients are sent dense, without a warning
    waits_in_backward backward synchronizes as it ends, if it has brought a gradient
    loss              the policy when workers are lost
    way               servers, or among workers: one of ways.EXCHANGES; None: as the job has it
    """

    _may_take_names = True  # Of a dropped exchange: no state is kept between steps.

    def __init__(self, named_parameters, passes=1, compression=compressions.Compression.none,
                 scope=session.Scope(), waits_in_backward=False, layerwise=False,
                 rule="mean", sparse_as_dense=False, loss=None, way=None):
        self._session = session.current()
        self._loss = loss or on_loss.OnLoss()
        self._era = self._session.era
        self._scope = scope
        self._passes = passes
        self._compression = compression
        self._waits_in_backward = waits_in_backward
        self._layerwise = layerwise
        self._rule = rule
        self._way = way
        self._sparse_as_dense = sparse_as_dense
        self._begun = False
        self._slots = buckets.slots_of(named_parameters, scope.prefix)
        self._by_parameter = {slot.parameter: slot for slot in self._slots}
        coded_from = compressions.coded_from(compression)
        self._is_exact = coded_from is None
        may_take = self._is_exact and self._may_take_names and not closing.is_one(way)
        self.wire = wire_scope.WireScope(scope, may_take)
        weakref.finalize(self, self.wire.release).atexit = False
        self.buckets = buckets.bucketed(self._slots, coded_from)
        # Further facts that all workers must share, as texts by text.
        self.about = {"mode": "sync", "what is made of gradients": rule,
                      **compressions.facts_of(compression)}
        self._first = min(self._slots, key=lambda slot: slot.index, default=None)
        self._staging = self._new_staging()
        self._arrivals = itertools.count()
        self._sent = 0
        self._agreement = None  # On equal settings; requested at the first gradient in a job.
        self._held = collections.deque()  # Buckets ready to be sent, until the agreement.
        self._layouts = None  # The same, while some gradient may still turn out to be sparse.
        self._heard = None  # Within backward: the error of this worker's loss.
        self.enabled = True
        # Weak, so that a dropped optimizer releases its parameters.
        call = weakref.WeakMethod(self._on_gradient)
        self._hooks = [hooks.hook_gradient(slot.parameter, functools.partial(_pass_on, call, slot))
                       for slot in self._slots]
        replacing.replace(self, self._hooks)

    def __del__(self):
        for hook in getattr(self, "_hooks", ()):
            hook.remove()
        for slot in getattr(self, "_slots", ()):
            slot.bucket = None  # It refers to the slot: breaking the cycle frees all memory now.
        if getattr(self, "_staging", None) is not None:
            self._staging.close()

    def _new_staging(self):
        return None if self._session.alone else _staging_for(self._slots, self._session.note_span)

    def _is_alone(self):
        # Checked before any data is sent: detects suspend() and resume(), or a pause of all
        # workers.
        replacing.refuse_replaced(self)
        now = session.current() if session.is_initialized() else self._session
        if now is not self._session or now.era != self._era:
            self._agreement = None
            self._era = now.era
            for slot in self._slots:
                slot.is_sparse = None
            for bucket in self.buckets:
                bucket.declared.clear()
        if now is not self._session:
            now.keep_scope(self._scope)
            self.wire.follow()
            self._session = now
            if self._staging is not None:
                self._staging.close()
            self._staging = self._new_staging()
        return now.alone

    @property
    def healing(self):
        """The state that joining workers still lack."""
        return self._session.healing

    @property
    def in_flight(self):
        """True if some gradient has been sent and its mean has not come."""
        return self._sent > 0 or unfinished.is_waiting(self)

    @property
    def begun(self):
        """True if backward has brought a gradient since the last exchange."""
        return self._begun

    @property
    def parameters(self):
        """The parameters whose gradients are exchanged, in the order given."""
        return [slot.parameter for slot in sorted(self._slots, key=lambda slot: slot.index)]

    @property
    def names(self):
        """Their names at all workers, by parameter: unique among exchanges."""
        return {slot.parameter: slot.name for slot in self._slots}

    def set_passes(self, passes):
        """Sets the number of backward passes that add up."""
        self._passes = passes
        for slot in self._slots:
            slot.passes = 0
        for bucket in self.buckets:
            bucket.ready = 0

    # ---- out

    @unfinished.alone(_EXCHANGE, waits=False)
    def _on_gradient(self, slot):
        if not self.enabled or self._heard is not None:
            return
        try:
            self._take(slot)
        except errors.Error as error:
            if not returning.between_steps(error):
                raise
            self._heard = error  # Backward continues, and synchronize() makes the step.

    def _take(self, slot):
        if not self._begun:
            self._loss.begin_step(self._scope)
        if self._is_alone():
            return
        if slot.passes >= self._passes:
            error = repeated.of_module if self._waits_in_backward else repeated.of_optimizer
            raise error(slot.name)
        if not self._begun:
            self._begun = True
            if self._waits_in_backward:  # When this backward has reached every leaf.
                torch.autograd.Variable._execution_engine.queue_callback(self.synchronize)
        slot.passes += 1
        if slot.passes < self._passes:
            return
        if slot.arrived is None:
            slot.arrived = next(self._arrivals)
        slot.bucket.ready += 1
        if slot.bucket.ready == len(slot.bucket.slots):
            self._hold(slot.bucket)
            if self._agreement.done():
                self._send_held()

    def _priority(self, bucket):
        if bucket.rank is not None or not self._layerwise:
            return -(bucket.rank or 0)
        # Measured once every gradient has come, and guessed until then.
        if self._first.arrived is None or any(slot.arrived is None for slot in bucket.slots):
            return -min(slot.index for slot in bucket.slots)
        return max(slot.arrived for slot in bucket.slots) + 1 - len(self._slots)

    @property
    def layouts(self):
        """For each parameter, by name: True if its gradients are sparse at some worker."""
        return {slot.name: slot.is_sparse for slot in self._slots}

    def follow_others(self, layouts):
        """Adopts the members' agreement and layouts."""
        self._is_alone()
        self._agreement = agreement.Agreed()
        self._staging = self._staging or self._new_staging()
        for slot in self._slots:
            slot.is_sparse = layouts[slot.name]

    @unfinished.alone(_EXCHANGE)
    def agree(self):
        """Raises Mismatch unless all workers exchange the same gradients in the same way. Waits for
        all of them, once in a job."""
        if not self._is_alone():
            self._begin_to_agree()
            self._agreement.wait()

    def _begin_to_agree(self):
        if self._agreement is not None:
            return
        skipped = len(self._scope.prefix)
        facts = {f"parameter '{slot.name[skipped:]}'": agreement.fact_of(slot.parameter)
                 for slot in self._slots}
        facts |= self.about | {"exchange": ways.name_of(self._way)}
        self.wire.describe(facts)
        # Later, paused workers have made fewer steps. Joining workers of elastic jobs know no era.
        is_start = self._era == 0 and not self._session.elastic
        if is_start and environment.number("STRETTO_CHECK_VALUES", default=1, most=1):
            facts |= agreement.values_of([(slot.name[skipped:], slot.parameter)
                                          for slot in self._slots])
        label = f"{self._scope.kind} {self._scope.number}"
        self._agreement = self._agreement_on(label, facts)

    # Differences between workers that exchange without named tensors.

    def _agreement_on(self, label, facts):
        agreed = agreement.Agreement(label, f"gradients in {label}", facts, "push_pull",
                                     of_all=False, offers=self.wire.offers(self._session))
        self.wire.bind(agreed)
        return agreed

    def begin_sum(self, tensor, name, mean=False):
        """Starts the sum, or mean, of a small tensor over the exchanging workers; returns the
        handle."""
        return exchange.begin(tensor, tensor, name, mean, 0)

    def _hold(self, bucket):
        # Sent once all workers agree: otherwise others would wait for data never sent.
        self._begin_to_agree()
        bucket.is_sent = True
        self._held.append(bucket)
        self._sent += 1

    def _send_held(self):
        self._agreement.wait()
        while self._held:
            self._send(self._held[0])
            self._held.popleft()

    def _send(self, bucket):
        gradients = [self._dense_gradient(slot) for slot in bucket.slots]
        self._loss.scale(gradients, self._rule)
        small, bucket.context = self._compression.compress(_joined(gradients))
        priority = self._priority(bucket)
        if wire.goes_as_it_is(small) and self._staging is None:
            bucket.source, bucket.in_place = small, small is gradients[0]
            bucket.ticket = self._begin(bucket, bucket.source, priority)
        else:
            bucket.source, bucket.in_place = self._buffer(bucket, small), False
            if self._staging is None:
                wire.load(bucket.source, small)
                bucket.ticket = self._begin(bucket, bucket.source, priority)
            else:
                source = bucket.source
                bucket.ticket = self._staging.send(
                    small, source, priority, lambda: self._begin(bucket, source, priority))

    def _begin(self, bucket, source, priority):
        declared = bucket.declared.get(source.dtype)
        if declared is None:
            label = bucket.slots[0].name.removeprefix(self._scope.prefix)
            name = f"Gradient.{self.wire.prefix}{label}"
            codec = compressions.codec_of(self._compression, source)
            if len(bucket.slots) > 1:
                name += f"+{len(bucket.slots) - 1}{bucket.mark}"
                codec = "none"  # Each of them is too small for one.
            if any(slot.parameter.dtype != slot.dtype for slot in bucket.slots):
                name += f" as {wire.NAMES[source.dtype]}"  # The name has another type already.
            declared = bucket.declared[source.dtype] = self._session.declare(
                name, wire.NAMES[source.dtype], source.numel(), rule=self._rule,
                deterministic=torch.are_deterministic_algorithms_enabled(), codec=codec,
                bulk=True, exchange=self._way)
        self.wire.begin_round()
        address = source.data_ptr()
        if self._session.listens:
            place = (address, declared.bytes) if self._is_used(bucket) else (0, 0)
            return self._session.listen(declared, place, priority, source)
        return self._session.push_pull([(declared, address, address, declared.bytes)], priority,
                                       source)

    def _is_used(self, bucket):
        # A listening worker skips the mean of a parameter still to be received.
        return (self.healing is None or self._scope[:2] != ("optimizer", 1)
                or self.healing.uses(slot.parameter for slot in bucket.slots))

    @staticmethod
    def _buffer(bucket, small):
        # Kept, because pinning memory takes longer than filling it.
        if small.dtype not in bucket.buffers:
            bucket.buffers[small.dtype] = wire.flat_buffer(small)
        return bucket.buffers[small.dtype]

    def _dense_gradient(self, slot):
        gradient = slot.parameter.grad
        slot.layout = 0 if gradient is None else _SPARSE if gradient.is_sparse else _DENSE
        slot.left_alone = gradient is None and not slot.parameter.requires_grad
        if gradient is None:
            gradient = torch.zeros_like(slot.parameter, requires_grad=False)
            if not slot.left_alone:
                slot.parameter.grad = gradient
        if gradient.is_sparse:
            if not self._sparse_as_dense:
                notices.warn(f"the gradient of '{slot.name}' is sparse; it travels dense, in full "
                             "size")
            gradient = slot.parameter.grad = gradient.to_dense()
        return gradient

    # ---- in

    @unfinished.alone(_EXCHANGE)
    def synchronize(self):
        """Sends the remaining gradients, and waits until every gradient is the mean over all
        workers. Raises the exchange's error. If an elastic job has lost this worker, it first
        rejoins, and the means are those of the step in which it does."""
        while True:
            try:
                return self._synchronize()
            except errors.Error as error:
                if not returning.between_steps(error):
                    raise
                returning.come_again(error)

    def forget_step(self):
        """Resets to a state without gradients or operations in flight: the job of the step has lost
        this worker."""
        self._heard, self._agreement, self._layouts = None, None, None
        self._held.clear()
        self._sent, self._begun = 0, False
        for bucket in self.buckets:
            bucket.ticket, bucket.source, bucket.is_sent, bucket.ready = None, None, False, 0
        for slot in self._slots:
            slot.passes = 0

    def _synchronize(self):
        self._send_missing()
        for bucket in self.buckets:
            if bucket.is_sent:
                self._receive(bucket)

    @unfinished.alone(_EXCHANGE)
    def wait_for(self, parameters):
        """Waits only for the gradients of these parameters, all of which have been sent."""
        chosen = {id(bucket): bucket for bucket in
                  (self._by_parameter[parameter].bucket for parameter in parameters)}
        for bucket in chosen.values():
            if bucket.is_sent:
                self._receive(bucket)

    def bucket_of(self, parameter):
        """The parameters whose gradients travel together with this one's, including it."""
        return [slot.parameter for slot in self._by_parameter[parameter].bucket.slots]

    @unfinished.alone(_EXCHANGE)
    def send_missing(self):
        """Sends the remaining gradients, missing ones as zeros."""
        self._send_missing()

    def _send_missing(self):
        if self._heard is not None:
            raise self._heard
        if not self._begun:
            self._loss.begin_step(self._scope)
        self._begun = False
        if self._is_alone():
            return
        self._loss.look(self._session)
        self._begin_to_agree()
        for bucket in self.buckets:
            if not bucket.is_sent:
                self._hold(bucket)
        self._send_held()
        if any(slot.is_sparse is None for slot in self._slots):
            # A worker without a gradient must treat the mean like the others.
            layouts = torch.tensor([slot.layout for slot in self._slots], dtype=torch.int32)
            name = f"Layouts.{self._scope.kind}{self._scope.number}"
            self._layouts = self.begin_sum(layouts, name)

    def _agree_on_layouts(self):
        for slot, total in zip(self._slots, self._layouts.wait().tolist()):
            if slot.is_sparse is None and total > 0:
                slot.is_sparse = total < _DENSE
            slot.is_unused = slot.is_sparse is None
        self._layouts = None

    def __contains__(self, parameter):
        return parameter in self._by_parameter

    def _receive(self, bucket):
        if self._layouts is not None:
            self._agree_on_layouts()
        ticket, source = self._taken(bucket)
        try:
            exchange.wait_for_mean(ticket)
        except errors.NotFinite as error:
            raise _with_names(error, bucket) from None
        self.wire.end_round()
        if not bucket.in_place:
            self._unpack(bucket, source)
        elif bucket.slots[0].left_alone:
            self._leave_alone(bucket.slots[0], source)
        for slot in bucket.slots:
            if slot.is_unused:
                slot.parameter.grad = None  # As in one process.
            elif slot.is_sparse and not slot.left_alone:
                rows = slot.parameter.grad.to_sparse(1)
                slot.parameter.grad = rows if rows._nnz() else None  # Optimizers need rows.

    def _taken(self, bucket):
        # The part that travels; the bucket itself may be filled again.
        ticket, bucket.ticket = bucket.ticket, None
        source, bucket.source = bucket.source, None
        self._sent -= 1
        bucket.is_sent = False
        bucket.ready = 0
        for slot in bucket.slots:
            slot.passes = 0
        return ticket, source

    def _unpack(self, bucket, buffer):
        with torch.no_grad():
            first = 0
            if self._staging is not None:
                buffer = self._staging.bring(buffer)
            flat = self._compression.decompress(buffer, bucket.context)
            for slot in bucket.slots:
                last = first + slot.parameter.numel()
                mean = flat[first:last].view(slot.parameter.shape)
                first = last
                if slot.left_alone:
                    self._leave_alone(slot, mean)
                else:
                    slot.parameter.grad.copy_(mean)

    def _leave_alone(self, slot, mean):
        # A codec may have turned zeros into values, or send a residual.
        if self._is_exact and mean.any():
            raise errors.Mismatch(
                f"'{slot.name}' is frozen here (requires_grad=False), and another worker trains it",
                operation="push_pull")
