# SPDX-License-Identifier: Apache-2.0
"""Optimizers in mode delayed: the means of the gradients of a stale prefix of the model, its first
layers, come one step later, while the next step computes. A mean is *pending* from the step that
sends its gradients to the next, which applies it. A step

  - computes gradients by shadow weights v in the prefix, by committed weights w elsewhere;
  - sends them, and waits for the means of the others, and for those of the prefix that are pending;
  - commits: (w, o) = U(w, o, means), where U is the optimizer and o its state;
  - casts shadows in the prefix: v = U(w, a copy of o, e), where e is an estimate of the mean that
    is pending now. The copy is thrown away.

So each mean is applied once, to weights and a state that all workers have alike, and what e lacks
never adds up. A reconstruction, after what SAPipe (Chen et al., NeurIPS 2022) has published, which
calls these stale gradients of first layers and shadow steps; gradients that are a step late are
Pipe-SGD's (Li et al., NeurIPS 2018). All-reduce that is decoupled from the next step so, with "a
simple approximation for the parameters", is known to us from the abstract of a thesis (Jin).
"""

import copy
import operator
import sys

import torch

from stretto import leaving, session
from stretto.torch.core import broadcasting, exchange
from stretto.torch.gradients import late
from stretto.torch.optim import shadows, synchronous, windows

APPROXIMATIONS = ("none", "local", "previous", "local_previous")
PROFILED = 10
"""Steps that are looked at before stale="auto" is decided."""

_KEPT = {"local": 1, "local_previous": 2}


def check_mode(mode, approximate, stale):
    """ValueError unless these are an approximation and a stale prefix; in other modes unless they
    are the defaults."""
    if mode != "delayed" and (approximate, stale) != ("local", "auto"):
        raise ValueError(f"approximate= and stale= are for mode 'delayed', and the mode is "
                         f"{mode!r}")
    if approximate not in APPROXIMATIONS:
        raise ValueError(f"approximate is {approximate!r}, wanted one of "
                         f"{', '.join(APPROXIMATIONS)}")
    if stale not in ("all", "auto") and (not isinstance(stale, int) or isinstance(stale, bool)
                                         or stale < 0):
        raise ValueError(f"stale is {stale!r}, wanted 'all', 'auto', or a whole number from 0: "
                         "how many of named_parameters, from the first")


def _check(optimizer, stale, count):
    if isinstance(stale, int) and stale > count:
        raise ValueError(f"stale is {stale}, and {count} parameters are trained; 'all' are as many "
                         "as there are")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("mode 'delayed' is for optimizers that treat parameters one by one, and "
                         "LBFGS looks at all of them, several times a step; use mode 'sync'")
    if session.current().elastic:
        raise ValueError("mode 'delayed' is for jobs of fixed size: means that are pending when a "
                         "worker is lost or comes would be applied at some only; use mode 'sync', "
                         "or start as many workers as there are to be (--workers N)")


def _estimate(approximate, mean, own, before, workers):
    # Of the pending mean: None without a basis. A copy where another step needs its source, for
    # some optimizers write to gradients.
    if approximate == "local":
        return own
    if approximate == "previous":
        return None if mean is None else mean.clone()
    if own is None or mean is None or before is None:  # The first step has no other basis.
        return None if own is None else own.clone()
    return (mean.to_dense() if mean.is_sparse else mean) + (own - before) / workers


class _Call:
    """Calls a function when it is loaded from a pickle, and becomes its result."""

    def __init__(self, function, *arguments):
        self._called = (function, arguments)

    def __reduce__(self):
        return self._called


class Delayed(synchronous.Synchronous):
    """Methods of an optimizer in mode delayed."""

    def step(self, closure=None):
        """Applies means: those of this step, or for stale parameters those of the previous step, of
        which the first step has none."""
        if closure is not None:
            raise ValueError("mode 'delayed' takes no closure: the gradients of a step are not "
                             "applied in it; use mode 'sync'")
        synchronous.check_parameters(self, self._stretto_exchange)
        if not (self._stretto_should_synchronize or self._stretto_has_means()):
            raise RuntimeError("step() within skip_synchronize(), and synchronize() was not called "
                               "since the last step or backward()")
        self.synchronize()
        self._stretto_synchronized = False
        self._stretto_shadows.take_back()
        self._stretto_step()
        self._stretto_decide()
        leaving.leave_if_told()

    def synchronize(self):
        """Waits until every gradient is the mean that the next step() applies, so that the program
        can modify it before, such as by clipping: those of this step, and of stale parameters those
        of the previous step, None at first. A repeated call before that step does nothing, unless
        there was a backward() since: then all gradients are exchanged as they are now."""
        if not self._stretto_has_means():
            self._stretto_exchange.synchronize()
            self._stretto_synchronized = True

    def _stretto_has_means(self):
        return self._stretto_synchronized and not self._stretto_exchange.is_behind

    def finish(self):
        """Applies the pending means. When all workers have called it, all have the same parameters.
        Training may continue: the next step is like the first. RuntimeError between synchronize()
        and step(), and if the program has written to shadows."""
        if self._stretto_synchronized:
            raise RuntimeError("finish() between synchronize() and step(): the means that "
                               "synchronize() has brought would be applied after later ones, or "
                               "never. Call step() before it")
        self._stretto_shadows.take_back()
        means = self._stretto_exchange.land()
        if not means:
            return
        gradients = {parameter: parameter.grad for parameter in means}
        for parameter, mean in means.items():
            parameter.grad = mean
        try:
            original = self._stretto_original
            pairs = shadows.narrowed(original, means, self._stretto_options)
            with shadows.regrouped(original, pairs, keeping=True):
                super(type(self), self).step()
        finally:
            self._stretto_options = {}
            for parameter, gradient in gradients.items():
                parameter.grad = gradient

    def committed(self):
        """`with optimizer.committed():` the parameters have their committed weights: the same at
        all workers, without the pending means. No step within it. RuntimeError if the program has
        written to shadows, or within it to committed weights."""
        return self._stretto_shadows.committed()

    def stale(self):
        """The names of the parameters whose means come a step late: for "auto" none before the
        decision."""
        exchanged, prefix = self._stretto_exchange, len(self._stretto_scope)
        return [exchanged.names[parameter][prefix:] for parameter in exchanged.parameters
                if parameter in exchanged.stale]

    def load_state_dict(self, state_dict):
        """As the optimizer's own, after pending means were applied."""
        self.finish()
        return super(type(self), self).load_state_dict(state_dict)

    def __deepcopy__(self, memo):
        # With committed weights, without pending means. The model may have been copied before.
        result = copy.deepcopy(self._stretto_original, memo)
        for parameter, weights in self._stretto_shadows.committed_weights().items():
            memo[id(parameter)].data.copy_(weights)
        return result

    def __copy__(self):
        return copy.copy(self._stretto_original)

    def __reduce_ex__(self, protocol):
        # Also with committed weights. The model may be in the same pickle, and is written as it is
        # now: loading overwrites shadows by committed weights, by functions that need no Stretto.
        del protocol
        written = [_Call(torch.Tensor.copy_, _Call(getattr, parameter, "data"), weights)
                   for parameter, weights in self._stretto_shadows.committed_weights().items()]
        return operator.itemgetter(0), ([_Call(copy.copy, self._stretto_original), written],)

    def _stretto_own_step(self, *arguments):
        # Commits, and casts shadows.
        exchanged, original = self._stretto_exchange, self._stretto_original
        if not exchanged.stale:
            super(type(self), self).step()
            return
        try:
            estimates = self._stretto_estimates()
            # Each mean is applied by the options of the step of its gradient: a schedule may have
            # changed them since.
            pairs = shadows.divided(original, exchanged.stale, self._stretto_options)
            with shadows.regrouped(original, pairs, keeping=True):
                super(type(self), self).step()
            self._stretto_options = {index: shadows.options_of(group)
                                     for index, group in enumerate(self.param_groups)}
            self._stretto_shadows.cast_by(estimates, super(type(self), self).step)
        finally:
            exchanged.end_step()

    def _stretto_estimates(self):
        if self._stretto_approximate == "none":
            return {}
        exchanged, workers = self._stretto_exchange, session.current().size
        own = exchanged.own()
        estimates = {}
        for parameter in exchanged.stale:
            estimate = _estimate(self._stretto_approximate, parameter.grad,
                                 *own.get(parameter, (None, None)), workers)
            estimate = None if estimate is None else exchanged.as_seen(parameter, estimate)
            if estimate is not None:
                estimates[parameter] = estimate
        return estimates

    def _stretto_decide(self):
        # The choice for "auto": once, after some steps, by rank 0's profile.
        exchanged = self._stretto_exchange
        profile = exchanged.profile
        if profile is None or profile.steps < PROFILED:
            return
        by_name = {name: parameter for parameter, name in exchanged.names.items()}
        order = profile.forward_order(exchanged.parameters)
        prefix = order[:windows.least_prefix(profile.windows(order, exchanged.sizes),
                                             profile.computing())]
        names = [exchanged.names[parameter] for parameter in prefix]
        names = broadcasting.broadcast_object(names, 0, f"Stale.{self._stretto_label}")
        exchanged.make_stale(by_name[name] for name in names)
        now = session.current()
        if not names and now.rank == 0 and not now.alone:
            print(f"stretto: mode 'delayed' chose no layers after {PROFILED} steps, since no step "
                  "waits for the link: it trains as mode 'sync' does; stale=N or 'all' makes "
                  "layers late in any case", file=sys.stderr, flush=True)


def make(optimizer, named, new_scope, late_ones, *, passes, compression, way):
    """The optimizer, wrapped for mode delayed; `late_ones` are the approximation and the stale
    prefix. ValueError for unsupported optimizers and jobs."""
    approximate, stale = late_ones
    _check(optimizer, stale, len(named))
    scope = new_scope()
    profile = windows.Profile() if stale == "auto" else None
    found = late.LateExchange(named, passes, compression, scope, way,
                              kept=_KEPT.get(approximate, 0), profile=profile)
    found.about |= {"mode": "delayed", "approximate": approximate, "stale": str(stale)}
    if profile is None:
        first = found.parameters if stale == "all" else found.parameters[:stale]
        found.make_stale(first)
        if stale != "all":
            found.about["stale"] += f" ({', '.join(sorted(found.names[one] for one in first))})"
    return synchronous.registered(synchronous.wrapped(
        optimizer, Delayed, _stretto_scope=scope.prefix, _stretto_exchange=found,
        _stretto_shadows=shadows.Shadows(optimizer), _stretto_approximate=approximate,
        _stretto_options={}, _stretto_label=f"{scope.kind}{scope.number}"))
