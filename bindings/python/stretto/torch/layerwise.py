# SPDX-License-Identifier: Apache-2.0
"""Steps that do not wait: the next forward begins as soon as its first layer's gradients are
here, and each layer waits for its own (ByteScheduler, Peng et al., SOSP 2019, calls this crossing
the global barrier). Works with every optimizer that treats parameters one by one.
"""

import weakref

import torch

from stretto.torch import synchronous


class Layerwise(synchronous.Synchronous):
    """What such an optimizer does otherwise than one that waits."""

    def finish(self):
        """Ends a step that has begun."""
        self._stretto_apply(list(self._stretto_pending))

    def step(self, closure=None):
        """Begins a step: what is left of it happens when the model is next used."""
        if closure is not None:
            raise ValueError("an optimizer that was given the model takes no closure: its "
                             "steps end during the next forward")
        synchronous.check_parameters(self, self._stretto_exchange)
        self._stretto_apply(list(self._stretto_pending))
        if not self._stretto_should_synchronize:
            return self._stretto_step()
        self._stretto_exchange.send_missing()
        # Options may change before the step ends: a schedule's next rate is for the next one.
        self._stretto_groups = [dict(group) for group in self.param_groups]
        self._stretto_pending.update(dict.fromkeys(
            parameter for group in self.param_groups for parameter in group["params"]
            if parameter in self._stretto_exchange))
        self._stretto_zero = None
        return None

    def synchronize(self):
        """Ends a step that has begun; else waits for the gradients of all workers."""
        if self._stretto_pending:
            self._stretto_apply(list(self._stretto_pending))
        else:
            self._stretto_exchange.synchronize()

    def zero_grad(self, set_to_none=True):
        """As the optimizer's own; of a step that has not ended, each gradient when it has
        been used."""
        pending = self._stretto_pending
        if pending:
            self._stretto_zero = set_to_none
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter not in pending:
                    _clear(parameter, set_to_none)

    def state_dict(self):
        """As the optimizer's own, after the step that has begun."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).state_dict()

    def load_state_dict(self, state_dict):
        """As the optimizer's own, after the step that has begun."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).load_state_dict(state_dict)

    def _stretto_apply(self, parameters):
        # Ends the step for those of the parameters for which it has begun.
        for parameter in parameters:
            if parameter not in self._stretto_pending:
                continue
            ready = self._stretto_exchange.bucket_of(parameter)
            self._stretto_exchange.wait_for([parameter])
            for other in ready:
                self._stretto_pending.pop(other, None)
            self._stretto_step_only({id(other) for other in ready})
            if self._stretto_zero is not None:
                for other in ready:
                    _clear(other, self._stretto_zero)

    def _stretto_step_only(self, chosen):
        groups = self.param_groups
        some = [dict(group, params=[parameter for parameter in group["params"]
                                    if id(parameter) in chosen])
                for group in self._stretto_groups]
        self.param_groups = [group for group in some if group["params"]]
        try:
            super(type(self), self).step()
        finally:
            self.param_groups = groups


def _clear(parameter, set_to_none):
    if parameter.grad is None:
        return
    if set_to_none:
        parameter.grad = None
    else:
        parameter.grad.detach_()
        parameter.grad.zero_()


def make(optimizer, model, gradients, scope):
    """The optimizer, wrapped so that the model's forward ends its steps."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model is a {type(model).__name__}, wanted a torch.nn.Module")
    result = synchronous.wrapped(
        optimizer, Layerwise, _stretto_scope=scope, _stretto_exchange=gradients,
        _stretto_pending={}, _stretto_groups=[], _stretto_zero=None)

    target = weakref.ref(result)

    def before_forward(module, _):
        if (optimizer_now := target()) is not None:
            optimizer_now._stretto_apply(list(module.parameters(recurse=False)))

    def after_state_dict(*_):
        if (optimizer_now := target()) is not None:
            optimizer_now._stretto_apply(list(optimizer_now._stretto_pending))

    for module in model.modules():
        if any(True for _ in module.parameters(recurse=False)):
            module.register_forward_pre_hook(before_forward)
    # What a state_dict() holds shares the parameters' memory, so it is up to date afterwards.
    model._register_state_dict_hook(after_state_dict)
    return result
