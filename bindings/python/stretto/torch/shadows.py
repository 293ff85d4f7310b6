# SPDX-License-Identifier: Apache-2.0
"""Shadow weights: what a step that is to come will probably make of some parameters, computed by a
copy of the optimizer's state that is thrown away. The committed weights are kept meanwhile.

As in SAPipe (Chen et al., NeurIPS 2022), whose published scheme this is made after.
"""

import contextlib
import copy

import torch


class Shadows:
    """Of some parameters that one optimizer steps. `step` is the optimizer's own, to be called
    with its groups as they are to be used. Thread: one at a time."""

    def __init__(self, optimizer):
        self._optimizer = optimizer  # The one inside: it has groups and state.
        self._kept = {}  # Memory for committed weights, by parameter.
        self._cast = {}  # The versions of those that are shadows now.
        self._swapped = False

    @property
    def cast(self):
        """True while some parameter has other values than the committed ones."""
        return bool(self._cast)

    def take_back(self):
        """The parameters have their committed weights again. RuntimeError if somebody else has
        written to them, for that would be lost."""
        if self._swapped:
            raise RuntimeError("this is within committed(): steps are made outside of it")
        for parameter, version in self._cast.items():
            if parameter._version != version:
                raise RuntimeError(
                    f"a parameter of shape {list(parameter.shape)} was changed between two steps, "
                    "and in mode 'delayed' it holds weights then that are thrown away. Call "
                    "optimizer.finish() before you change or load parameters")
        with torch.no_grad():
            for parameter in self._cast:
                parameter.copy_(self._kept[parameter])
        self._cast = {}

    def cast_by(self, estimates, step):
        """Steps these parameters by estimates of their gradients, {parameter: gradient}, and lets
        the optimizer forget that. They have committed weights now."""
        if not estimates:
            return
        with torch.no_grad():
            for parameter in estimates:
                if parameter not in self._kept:
                    self._kept[parameter] = torch.empty_like(parameter, requires_grad=False)
                self._kept[parameter].copy_(parameter)
        state = self._optimizer.state
        before = {parameter: state.get(parameter) for parameter in estimates}
        gradients = {parameter: parameter.grad for parameter in estimates}
        try:
            for parameter, gradient in estimates.items():
                if before[parameter] is not None:
                    state[parameter] = _copied(before[parameter])
                parameter.grad = gradient
            with narrowed(self._optimizer, estimates):
                step()
        finally:
            for parameter, own in before.items():
                parameter.grad = gradients[parameter]
                if own is None:
                    state.pop(parameter, None)
                else:
                    state[parameter] = own
        self._cast = {parameter: parameter._version for parameter in estimates}

    def drop(self, parameters):
        """These are shadows no more, and no memory is kept for them."""
        for parameter in parameters:
            self._kept.pop(parameter, None)
            self._cast.pop(parameter, None)

    @contextlib.contextmanager
    def committed(self):
        """Within it the parameters have their committed weights."""
        if self._swapped:
            yield
            return
        self._swap()
        self._swapped = True
        try:
            yield
        finally:
            self._swapped = False
            self._swap()

    def _swap(self):
        with torch.no_grad():
            for parameter in self._cast:
                shadow = parameter.clone()
                parameter.copy_(self._kept[parameter])
                self._kept[parameter].copy_(shadow)
                self._cast[parameter] = parameter._version


def _copied(state):
    # Of one parameter: tensors, and whatever else an optimizer keeps. Not a deepcopy of the whole,
    # which follows references to parameters and to what they belong to.
    return {key: value.clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)
            for key, value in state.items()}


@contextlib.contextmanager
def narrowed(optimizer, parameters, options=None):
    """Within it the optimizer has only these parameters in its groups; of a group that is named in
    `options`, {index: options}, with these in the place of its own."""
    groups = optimizer.param_groups
    some = []
    for index, group in enumerate(groups):
        mine = [parameter for parameter in group["params"] if parameter in parameters]
        if mine:
            own = group if options is None else options.get(index, group)
            some.append(dict(own, params=mine))
    optimizer.param_groups = some
    try:
        yield
    finally:
        optimizer.param_groups = groups


@contextlib.contextmanager
def divided(optimizer, parameters, options):
    """Within it these parameters are in groups with the `options`, {index of a group: options},
    and all others in their own; where those do not differ, the groups are what they were."""
    groups = optimizer.param_groups
    if all(_alike(group, options.get(index, group)) for index, group in enumerate(groups)):
        yield
        return
    some = []
    for index, group in enumerate(groups):
        for is_one, own in ((True, options.get(index, group)), (False, group)):
            mine = [parameter for parameter in group["params"]
                    if (parameter in parameters) == is_one]
            if mine:
                some.append(dict(own, params=mine))
    optimizer.param_groups = some
    try:
        yield
    finally:
        optimizer.param_groups = groups


def _alike(one, other):
    return all(key == "params" or one.get(key) is value or one.get(key) == value
               for key, value in other.items())
