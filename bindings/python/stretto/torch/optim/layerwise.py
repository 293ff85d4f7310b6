# SPDX-License-Identifier: Apache-2.0
"""Steps that do not wait: the next forward begins as soon as its first layer's gradients are
here, and each layer waits for its own (ByteScheduler, Peng et al., SOSP 2019, calls this crossing
the global barrier). Works with every optimizer that treats parameters one by one.
"""

import collections
import weakref

import torch

from stretto import errors, leaving, returning, unfinished
from stretto.torch.optim import synchronous


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
        self._stretto_end_synchronized()
        if not self._stretto_should_synchronize:
            return self._stretto_step()
        if not self._stretto_sent():
            return None
        # Options may change before the step ends: a schedule's next rate is for the next one.
        self._stretto_groups = [dict(group) for group in self.param_groups]
        self._stretto_places = {parameter: (index, place)
                                for index, group in enumerate(self.param_groups)
                                for place, parameter in enumerate(group["params"])}
        self._stretto_pending.update(dict.fromkeys(
            parameter for parameter in self._stretto_places
            if parameter in self._stretto_exchange))
        self._stretto_zero = None
        self._stretto_apply(self._stretto_unseen)
        leaving.leave_if_told()
        return None

    def _stretto_sent(self):
        # False if the job has lost this worker, and it comes again: it gets by its next gradient
        # what the others have, and makes no step before.
        try:
            self._stretto_exchange.send_missing()
        except errors.Error as error:
            self._stretto_return(error)
            return False
        return True

    def _stretto_return(self, error):
        if not returning.between_steps(error):
            raise error
        self._stretto_pending.clear()
        returning.come_again(error)

    def synchronize(self):
        """Ends a step that has begun, and waits for the gradients of all workers that backward has
        made since."""
        ended = bool(self._stretto_pending)
        self.finish()
        if self._stretto_exchange.begun or not ended:
            self._stretto_exchange.synchronize()
            self._stretto_synchronized = True

    def zero_grad(self, set_to_none=True):
        """As the optimizer's own; of a step that has not ended, each gradient when it has
        been used."""
        self._stretto_synchronized = False
        pending = self._stretto_pending
        if pending:
            self._stretto_zero = set_to_none
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter not in pending:
                    _clear(parameter, set_to_none)

    def _stretto_settle(self):
        self._stretto_apply(list(self._stretto_pending))

    def state_dict(self):
        """As the optimizer's own, after the step that has begun."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).state_dict()

    def load_state_dict(self, state_dict):
        """As the optimizer's own, after the step that has begun."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).load_state_dict(state_dict)

    def _stretto_apply(self, parameters):
        # Ends the step for those of the parameters for which it has begun. After an interrupt
        # there is none, and the model can be saved.
        if unfinished.is_refused():
            self._stretto_pending.clear()
        for parameter in parameters:
            if parameter not in self._stretto_pending:
                continue
            ready = self._stretto_exchange.bucket_of(parameter)
            try:
                self._stretto_exchange.wait_for([parameter])
            except errors.Error as error:
                return self._stretto_return(error)
            for other in ready:
                self._stretto_pending.pop(other, None)
            self._stretto_step_only(ready)
            if self._stretto_zero is not None:
                for other in ready:
                    _clear(other, self._stretto_zero)

    @unfinished.whole("an optimizer's step", always=True)
    def _stretto_step_only(self, chosen):
        # A look at these alone: a model of many layers takes as many such steps.
        groups = self.param_groups
        places = sorted((*self._stretto_places[parameter], parameter) for parameter in chosen
                        if parameter in self._stretto_places)
        some = {}
        for index, _, parameter in places:
            if index not in some:
                some[index] = dict(self._stretto_groups[index], params=[])
            some[index]["params"].append(parameter)
        self.param_groups = list(some.values())
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


class _Watched(collections.OrderedDict):
    """The parameters of a module: the step of each ends before somebody gets it from here, be it
    the module itself, one that uses its weights without calling it, or what goes through
    model.parameters() (as DeepSpeed gathers partitioned parameters at their use)."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.kind = type(parameters)  # An OrderedDict in PyTorch 1, a dict in PyTorch 2.
        self.optimizers = weakref.WeakSet()

    def end_steps(self, parameters):
        """Ends the steps of these."""
        for optimizer in self.optimizers:
            if optimizer._stretto_pending:
                optimizer._stretto_apply(parameters)

    def __getitem__(self, name):
        parameter = super().__getitem__(name)
        self.end_steps([parameter])
        return parameter

    def get(self, name, default=None):
        """As that of a dict."""
        return self[name] if name in self else default

    def values(self):
        """As those of a dict."""
        self.end_steps(list(super().values()))
        return super().values()

    def items(self):
        """As those of a dict."""
        self.end_steps(list(super().values()))
        return super().items()

    def __reduce__(self):
        # Copies of the model are nobody's.
        return self.kind, (), None, None, iter(self.items())


def _before_forward(module, _):
    # RNNs keep references to their weights, so that to be called is a use of them.
    module._parameters.values()


class _BeforeEvaluation:
    """A hook that ends the step that an optimizer has begun. There is nothing to hide then, so even
    what a model keeps in a list of its own is ready. In a copy of the model, or one that was saved
    and loaded, it is nobody's."""

    def __init__(self, optimizer=None):
        self._optimizer = weakref.ref(optimizer) if optimizer is not None else lambda: None

    def __call__(self, *_):
        optimizer = self._optimizer()
        if optimizer is not None and not torch.is_grad_enabled():
            optimizer.finish()

    def __reduce__(self):
        return _BeforeEvaluation, ()


def _watch(module, optimizer):
    if not isinstance(module._parameters, _Watched):
        module._parameters = _Watched(module._parameters)
        hook = module.register_forward_pre_hook(_before_forward)
        # Before those that compute a weight of others, such as weight_norm's.
        module._forward_pre_hooks.move_to_end(hook.id, last=False)
    module._parameters.optimizers.add(optimizer)


def make(optimizer, model, gradients, scope):
    """The optimizer, wrapped so that the model's forward ends its steps."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model is a {type(model).__name__}, wanted a torch.nn.Module")
    # Modules of TorchScript use their parameters where nobody sees it; step() waits for those.
    modules = [module for module in model.modules()
               if module._parameters and not isinstance(module, torch.jit.ScriptModule)]
    watched = {parameter for module in modules for parameter in module._parameters.values()}
    result = synchronous.wrapped(
        optimizer, Layerwise, _stretto_scope=scope, _stretto_exchange=gradients,
        _stretto_pending={}, _stretto_groups=[], _stretto_places={}, _stretto_zero=None,
        _stretto_unseen=[parameter for parameter in gradients.parameters
                         if parameter not in watched])
    for module in modules:
        _watch(module, result)
    if not isinstance(model, torch.jit.ScriptModule):  # Which takes no hooks, and needs none.
        hook = model.register_forward_pre_hook(_BeforeEvaluation(result))
        weakref.finalize(result, hook.remove).atexit = False
    return synchronous.registered(result)
