# SPDX-License-Identifier: Apache-2.0
"""Shadow weights: the next step's probable result for some parameters, computed by a temporary copy
of the optimizer's state. The committed weights are kept meanwhile.

As in SAPipe (Chen et al., NeurIPS 2022), whose published scheme this follows.
"""

import contextlib
import copy

import torch

_MISSING = object()


class Shadows:
    """The shadows of some parameters that one optimizer steps. PyTorch's count of writes detects
    other writes to a shadow, except those through `.data`. Thread: one at a time."""

    def __init__(self, optimizer):
        self._optimizer = optimizer  # The inner one: it has groups and state.
        self._kept = {}  # Memory for committed weights, by parameter.
        self._cast = {}  # The versions of the current shadows.
        self._swapped = False

    def take_back(self):
        """Restores the parameters' committed weights. RuntimeError if other code has written to
        them, for that would be lost."""
        if self._swapped:
            raise RuntimeError("this is within committed(): steps are made outside of it")
        self._check_unwritten("between two steps")
        self._restore(self._cast)
        self._cast = {}

    def cast_by(self, estimates, step):
        """Steps these parameters by estimates of their gradients, {parameter: gradient}, and
        restores the optimizer's state and groups. The parameters have committed weights now; if
        `step`, the optimizer's own, raises, they still have."""
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
        stepped = False
        try:
            for parameter, gradient in estimates.items():
                if before[parameter] is not None:
                    state[parameter] = _copied(before[parameter])
                parameter.grad = gradient
            with regrouped(self._optimizer, narrowed(self._optimizer, estimates)):
                step()
            stepped = True
        finally:
            for parameter, own in before.items():
                parameter.grad = gradients[parameter]
                if own is None:
                    state.pop(parameter, None)
                else:
                    state[parameter] = own
            if not stepped:
                self._restore(estimates)
        self._cast = {parameter: parameter._version for parameter in estimates}

    def committed_weights(self):
        """The committed weights of the current shadows: {parameter: memory that the next step
        writes to}. RuntimeError as in committed()."""
        self._check_unwritten("within committed()" if self._swapped else "between two steps")
        return {} if self._swapped else {parameter: self._kept[parameter]
                                         for parameter in self._cast}

    @contextlib.contextmanager
    def committed(self):
        """Within it the parameters have their committed weights. RuntimeError if other code has
        written to them before, or writes to them within it."""
        if self._swapped:
            yield
            return
        self._check_unwritten("between two steps")
        self._swap()
        self._swapped = True
        ended = False
        try:
            yield
            ended = True
        finally:
            self._swapped = False
            written = self._written()
            self._swap()
            if ended:
                self._check(written, "within committed()")

    def _written(self):
        return [parameter for parameter, version in self._cast.items()
                if parameter._version != version]

    def _check_unwritten(self, when):
        self._check(self._written(), when)

    @staticmethod
    def _check(written, when):
        if written:
            raise RuntimeError(
                f"a parameter of shape {list(written[0].shape)} was changed {when}, and in mode "
                "'delayed' it holds weights then that are thrown away, or are to be the same at "
                "all workers. Call optimizer.finish() before you change or load parameters")

    def _restore(self, parameters):
        with torch.no_grad():
            for parameter in parameters:
                parameter.copy_(self._kept[parameter])

    def _swap(self):
        with torch.no_grad():
            for parameter in self._cast:
                other = parameter.clone()
                parameter.copy_(self._kept[parameter])
                self._kept[parameter].copy_(other)
                self._cast[parameter] = parameter._version


def _copied(state):
    # Of one parameter: tensors, and other state of an optimizer. Not a deepcopy of the whole, which
    # follows references to parameters and to their owners.
    return {key: value.clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)
            for key, value in state.items()}


def options_of(group):
    """A copy of a group's options: a step that writes to either does not change the other."""
    return {key: _option(value) for key, value in group.items() if key != "params"}


def _option(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return copy.copy(value) if isinstance(value, (list, dict, set)) else value


def narrowed(optimizer, parameters, options=None):
    """The optimizer's groups with only these parameters, as pairs (its own group, the copy); a
    group in `options`, {index: options}, gets these in place of its own."""
    pairs = []
    for index, group in enumerate(optimizer.param_groups):
        mine = [parameter for parameter in group["params"] if parameter in parameters]
        if mine:
            own = group if options is None else options.get(index, group)
            pairs.append((group, dict(options_of(own), params=mine)))
    return pairs


def divided(optimizer, parameters, options):
    """The optimizer's groups, as pairs (its own group, a group to step by): these parameters in
    groups with the `options`, {index of a group: options}, and all others in their own. If those do
    not differ, the groups are unchanged."""
    groups = optimizer.param_groups
    if all(_alike(group, options.get(index, group)) for index, group in enumerate(groups)):
        return [(group, group) for group in groups]
    pairs = []
    for index, group in enumerate(groups):
        mine, others = [], []
        for parameter in group["params"]:
            (mine if parameter in parameters else others).append(parameter)
        if others or not mine:  # First: this step's writes to the group must precede.
            pairs.append((group, dict(group, params=others)))
        if mine:
            pairs.append((group, dict(options_of(options.get(index, group)), params=mine)))
    return pairs


@contextlib.contextmanager
def regrouped(optimizer, pairs, keeping=False):
    """Within it the optimizer uses the second of each of these pairs as its groups. If `keeping`,
    writes to their options stay in the first, its own group, unless that has been changed: by a
    schedule since those options were copied, or by an earlier pair."""
    groups = optimizer.param_groups
    starts = [options_of(used) for _, used in pairs] if keeping else []
    optimizer.param_groups = [used for _, used in pairs]
    try:
        yield
    finally:
        optimizer.param_groups = groups
    for (group, used), start in zip(pairs, starts):
        if used is not group:
            _keep(group, used, start)


def _keep(group, used, start):
    for key, value in used.items():
        if key == "params" or _same(start.get(key, _MISSING), value):
            continue
        own = group.get(key, _MISSING)
        if _same(own, start.get(key, _MISSING)):
            if isinstance(own, torch.Tensor) and own.shape == getattr(value, "shape", None):
                own.copy_(value)  # A program may hold it.
            else:
                group[key] = value


def _alike(one, other):
    return all(key == "params" or _same(one.get(key, _MISSING), value)
               for key, value in other.items())


def _same(one, other):
    if one is other:
        return True
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.equal(one, other)
    try:
        return bool(one == other)
    except (RuntimeError, ValueError):  # Of arrays and the like: assumed changed.
        return False
