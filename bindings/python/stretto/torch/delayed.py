# SPDX-License-Identifier: Apache-2.0
"""Optimizers in mode delayed: the means of the gradients of a stale prefix of the model, its first
layers, come one step later, while the next step computes. A step

  - computes gradients by shadow weights v in the prefix, by committed weights w elsewhere;
  - sends them; means of the prefix that were sent a step before are here by now;
  - commits: (w, o) = U(w, o, means), where U is the optimizer and o its state;
  - casts shadows in the prefix: v = U(w, a copy of o, e), where e stands for the mean that is on
    its way. The copy is thrown away.

So each mean is applied once, to weights and a state that all workers have alike, and what e lacks
never adds up. A reconstruction, after what SAPipe (Chen et al., NeurIPS 2022) has published, which
calls these stale gradients of first layers and shadow steps; gradients that are a step late are
Pipe-SGD's (Li et al., NeurIPS 2018). All-reduce that is decoupled from the next step so, with "a
simple approximation for the parameters", is known to us from the abstract of a thesis (Jin).
"""

import torch

from stretto import leaving, session
from stretto.torch import broadcasting, exchange, late, shadows, synchronous, windows

APPROXIMATIONS = ("none", "local", "previous", "local_previous")
PROFILED = 10
"""Steps that are looked at before stale="auto" is decided."""

_KEPT = {"local": 1, "local_previous": 2}


def check_mode(mode, approximate, stale):
    """ValueError unless these are an approximation and what is stale: in other modes what they are
    if nothing is said."""
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
        raise ValueError("mode 'delayed' is for jobs of fixed size: what is on its way when a "
                         "worker is lost or comes would be applied at some only; use mode 'sync', "
                         "or start as many workers as there are to be (--workers N)")


def _estimate(approximate, mean, own, before, workers):
    # Of the mean that is on its way: None where there is nothing to go by.
    if approximate == "previous":
        return mean
    if approximate == "local" or own is None or mean is None or before is None:
        return own  # Of the first step there is nothing else.
    return (mean.to_dense() if mean.is_sparse else mean) + (own - before) / workers


class Delayed(synchronous.Synchronous):
    """What such an optimizer does otherwise."""

    def step(self, closure=None):
        """Applies means: those of this step, or where they are stale those of the step before, of
        which the first step has none."""
        if closure is not None:
            raise ValueError("mode 'delayed' takes no closure: the gradients of a step are not "
                             "applied in it; use mode 'sync'")
        synchronous.check_parameters(self, self._stretto_exchange)
        if not self._stretto_synchronized:
            if not self._stretto_should_synchronize:
                raise RuntimeError("step() within skip_synchronize(), and synchronize() was not "
                                   "called since the last step")
            self._stretto_exchange.synchronize()
        self._stretto_synchronized = False
        self._stretto_step()
        self._stretto_decide()
        leaving.leave_if_told()

    def synchronize(self):
        """Waits until every gradient is the mean that the next step() applies, for what is to be
        done with them before, such as clipping. Again before that step it does nothing."""
        if not self._stretto_synchronized:
            self._stretto_exchange.synchronize()
            self._stretto_synchronized = True

    def finish(self):
        """Applies the means that are on their way. When all workers have called it, all have the
        same parameters. Training may go on: the next step is like the first."""
        self._stretto_shadows.take_back()
        means = self._stretto_exchange.land()
        if not means:
            return
        gradients = {parameter: parameter.grad for parameter in means}
        for parameter, mean in means.items():
            parameter.grad = mean
        try:
            with shadows.narrowed(self._stretto_original, means, self._stretto_options):
                super(type(self), self).step()
        finally:
            for parameter, gradient in gradients.items():
                parameter.grad = gradient

    def committed(self):
        """`with optimizer.committed():` the parameters have their committed weights: the same at
        all workers, but without the means that are on their way. No step within it."""
        return self._stretto_shadows.committed()

    def stale(self):
        """The names of the parameters whose means come a step late: of "auto" none before that is
        decided."""
        exchanged, prefix = self._stretto_exchange, len(self._stretto_scope)
        return [exchanged.names[parameter][prefix:] for parameter in exchanged.parameters
                if parameter in exchanged.stale]

    def load_state_dict(self, state_dict):
        """As the optimizer's own, after the means that are on their way were applied."""
        self.finish()
        return super(type(self), self).load_state_dict(state_dict)

    def _stretto_settle(self):
        self.finish()

    def _stretto_own_step(self, *arguments):
        # Commits, and casts shadows.
        exchanged = self._stretto_exchange
        self._stretto_shadows.take_back()
        if exchanged.stale:
            with self._stretto_as_sent():
                super(type(self), self).step()
            self._stretto_options = {index: dict(group)
                                     for index, group in enumerate(self.param_groups)}
            self._stretto_shadows.cast_by(self._stretto_estimates(), super(type(self), self).step)
            exchanged.end_step()
        else:
            super(type(self), self).step()

    def _stretto_as_sent(self):
        # Each mean is applied by the options of the step that its gradient is of: a schedule may
        # have changed them since.
        return shadows.divided(self._stretto_original, self._stretto_exchange.stale,
                               self._stretto_options)

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
        # Which are stale, of "auto": once, after some steps; rank 0 has looked at its own.
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


def make(optimizer, named, new_scope, late_ones, *, passes, compression, way):
    """The optimizer, wrapped for mode delayed; `late_ones` are the approximation and what is
    stale. ValueError for optimizers and jobs that it is not for."""
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
