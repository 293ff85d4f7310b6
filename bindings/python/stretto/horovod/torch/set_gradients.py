# SPDX-License-Identifier: Apache-2.0
"""GradientExchange for a process set: it calls the set's group instead of exchanging tensors that
all workers declare.
"""

from stretto import done
from stretto.horovod.torch import handles, ops, process_sets
from stretto.horovod.torch.reductions import Average, Sum
from stretto.torch.core import exchange
from stretto.torch.gradients import gradients
from stretto.torch.collectives.groups import Ask

_KIND = "DistributedOptimizer"
_NO_FACTORS = (1.0, 1.0)


class _OnLane:
    """The ticket of an operation in an operation queue."""

    def __init__(self, pending):
        self._pending = pending
        self.done = pending.done

    def wait(self):
        """Waits, and returns the only tensor."""
        return handles.result_of(self._pending)[0]


class SetGradients(gradients.GradientExchange):
    """The gradients of a worker outside the set stay unchanged. Thread: one at a time."""

    def __init__(self, process_set, op, *arguments, **options):
        self._process_set = process_set
        self._op = op
        super().__init__(*arguments, **options)

    def _is_alone(self):
        super()._is_alone()
        process_sets.check_added(self._process_set, _KIND)
        return not self._process_set.included() or self._process_set.size() == 1

    def _agreement_on(self, label, facts):
        ask = Ask(f"horovod.{label}", _KIND, facts)
        group = self._process_set.group()
        return handles.put(self._process_set, _KIND, label, lambda: handles.Ended(
            group.begin(ask, None, lambda core, everybody: None)))

    def begin_sum(self, tensor, name, mean=False):
        """Starts a sum or mean over the set."""
        if self._is_alone():
            return exchange.Handle(done.Done(), tensor)
        return self._reduced(tensor, name, Average if mean else Sum)

    def _begin(self, bucket, source, priority):
        del priority
        return self._reduced(source, f"Gradient.{bucket.slots[0].name}", self._op)

    def _reduced(self, tensor, name, op):
        work = ops.reduce_work("gradients", name, [tensor], [tensor], op, _NO_FACTORS,
                               self._process_set)
        return _OnLane(handles.put(self._process_set, "gradients", name, work))
