# SPDX-License-Identifier: Apache-2.0
"""staleness=1: each step applies the mean gradients of the previous step, whose exchange overlaps
with this step's forward and backward (Pipe-SGD, Li et al., NeurIPS 2018).
"""

import torch

from stretto import unfinished
from stretto.torch.core import exchange
from stretto.torch.optim import synchronous


class Delayed(synchronous.Synchronous):
    """Methods of an optimizer with staleness 1."""

    @unfinished.whole("an optimizer's step", always=True)
    def step(self, closure=None):
        """Applies the gradients of the previous step and sends those of this step. The first such
        step applies nothing."""
        if closure is not None:
            raise ValueError("with staleness a step takes no closure")
        synchronous.check_parameters(self, self._stretto_exchange)
        self._stretto_steps += 1
        if self._stretto_steps <= self._stretto_warm_up:
            self._stretto_exchange.synchronize()
            self._stretto_exchange.enabled = self._stretto_steps < self._stretto_warm_up
            return super(type(self), self).step()
        before, self._stretto_sent = self._stretto_sent, self._stretto_send()
        if before is None:
            return None
        self._stretto_bring(before)
        return super(type(self), self).step()

    def synchronize(self):
        """Does nothing: gradients come one step later."""

    @unfinished.whole("prepare_stale_states", always=True)
    def prepare_stale_states(self):
        """Before a checkpoint: waits for the gradients in flight, and applies them."""
        before, self._stretto_sent = self._stretto_sent, None
        if before is not None:
            self._stretto_bring(before)
            super(type(self), self).step()

    def _stretto_bring(self, sent):
        for parameter, handle, context in sent:
            mean = self._stretto_compression.decompress(handle.wait(), context)
            if parameter.requires_grad:  # Otherwise it has been frozen since.
                parameter.grad = mean

    def _stretto_send(self):
        sent = []
        self._stretto_exchange.agree()
        names = self._stretto_exchange.names
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter not in names:
                    continue
                gradient = parameter.grad
                if gradient is None:
                    gradient = torch.zeros_like(parameter)
                small, context = self._stretto_compression.compress(gradient)
                mean = torch.empty_like(small, memory_format=torch.contiguous_format)
                name = f"Stale.{names[parameter]}"
                sent.append((parameter, exchange.begin(small, mean, name, True, 0), context))
                parameter.grad = None  # Its memory is in flight and must not be cleared.
        return sent


def make(optimizer, synchronous_one, warm_up, compression):
    """The optimizer, wrapped to step one step late after `warm_up` steps; `synchronous_one` is the
    same optimizer, wrapped to step immediately."""
    exchanged = synchronous_one._stretto_exchange
    exchanged.enabled = warm_up > 0
    exchanged.about["staleness"] = "1"
    return synchronous.wrapped(
        optimizer, Delayed, _stretto_scope=synchronous_one._stretto_scope,
        _stretto_exchange=exchanged, _stretto_steps=0, _stretto_warm_up=warm_up,
        _stretto_sent=None, _stretto_compression=compression)
