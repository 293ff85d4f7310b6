# SPDX-License-Identifier: Apache-2.0
"""Steps that do not wait: the next forward starts as soon as its first layer's gradients have
arrived, and each layer waits for its own (ByteScheduler, Peng et al., SOSP 2019, calls this
crossing the global barrier). Works with every optimizer that treats each parameter separately.
"""

import collections
import weakref

import torch

from stretto import errors, leaving, returning, unfinished
from stretto.torch.optim import synchronous


class Layerwise(synchronous.Synchronous):
    """Methods of an optimizer whose steps do not wait."""

    def finish(self):
        """Completes a started step."""
        self._stretto_apply(list(self._stretto_pending))

    def step(self, closure=None):
        """Starts a step: the rest of it happens when the model is next used."""
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
        # Options may change before the step ends: a schedule's next rate is for the next step.
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
        # False if the job has lost this worker, and it rejoins: its next gradient gets the others'
        # state, and it makes no step before.
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
        """Completes a started step, and waits for all workers' gradients of the backward passes
        since."""
        ended = bool(self._stretto_pending)
        self.finish()
        if self._stretto_exchange.begun or not ended:
            self._stretto_exchange.synchronize()
            self._stretto_synchronized = True

    def zero_grad(self, set_to_none=True):
        """As the optimizer's own; during a step, each gradient after its use."""
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
        """As the optimizer's own, after the started step."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).state_dict()

    def load_state_dict(self, state_dict):
        """As the optimizer's own, after the started step."""
        self._stretto_apply(list(self._stretto_pending))
        return super(type(self), self).load_state_dict(state_dict)

    def _stretto_apply(self, parameters):
        # Completes the started step for these parameters. After an interrupt there is none, and the
        # model can be saved.
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
        # Looks at these parameters only: a model of many layers makes as many such steps.
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
    """The parameters of a module: a parameter's step ends before any access through it, by the
    module itself, by code that uses its weights without calling it, or through model.parameters()
    (as DeepSpeed gathers partitioned parameters at their use)."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.kind = type(parameters)  # An OrderedDict in PyTorch 1, a dict in PyTorch 2.
        self.optimizers = weakref.WeakSet()

    def end_steps(self, parameters):
        """Completes the steps of these parameters."""
        for optimizer in self.optimizers:
            if optimizer._stretto_pending:
                optimizer._stretto_apply(parameters)

    def __getitem__(self, name):
        parameter = super().__getitem__(name)
        self.end_steps([parameter])
        return parameter

    def get(self, name, default=None):
        """As dict.get()."""
        return self[name] if name in self else default

    def values(self):
        """As dict.values()."""
        self.end_steps(list(super().values()))
        return super().values()

    def items(self):
        """As dict.items()."""
        self.end_steps(list(super().values()))
        return super().items()

    def __reduce__(self):
        # Copies of the model belong to no optimizer.
        return self.kind, (), None, None, iter(self.items())


def _before_forward(module, _):
    # RNNs keep references to their weights, so that a call uses them.
    module._parameters.values()


class _BeforeEvaluation:
    """A hook that completes the step that an optimizer has started. Before an evaluation there is
    no latency to hide, so even parameters in a model's own list are complete. In a copy of the
    model, or a saved and loaded one, it belongs to no optimizer."""

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
        # Before hooks that compute a weight from others, such as weight_norm's.
        module._forward_pre_hooks.move_to_end(hook.id, last=False)
    module._parameters.optimizers.add(optimizer)


def make(optimizer, model, gradients, scope):
    """The optimizer, wrapped so that the model's forward completes its steps."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model is a {type(model).__name__}, wanted a torch.nn.Module")
    # Modules of TorchScript use their parameters invisibly; step() waits for those.
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
    if not isinstance(model, torch.jit.ScriptModule):  # It supports no hooks, and needs none.
        hook = model.register_forward_pre_hook(_BeforeEvaluation(result))
        weakref.finalize(result, hook.remove).atexit = False
    return synchronous.registered(result)
