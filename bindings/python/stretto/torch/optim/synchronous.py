# SPDX-License-Identifier: Apache-2.0
"""Optimizers in mode sync: every step is by the mean of all workers' gradients."""

import contextlib
import copy

import torch

from stretto import errors, leaving, notices, returning, session, unfinished
from stretto.torch.core import repeated, replacing


def whole(name, value):
    """The value, if it is a whole number from 1; else ValueError."""
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}, wanted a whole number from 1")
    return value


def check(optimizer):
    """TypeError unless it is an optimizer of PyTorch, ValueError if it was wrapped before."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"the optimizer is a {type(optimizer).__name__}, wanted one of torch.optim")
    if hasattr(optimizer, "_stretto_original"):
        kind = getattr(optimizer, "_stretto_kind", "DistributedOptimizer")
        raise ValueError(f"this optimizer is a {kind} already; wrap the one of torch.optim, once")


def check_parameters(optimizer, known, kind="DistributedOptimizer"):
    """ValueError if it now trains a parameter outside `known`, those at the time of wrapping, by
    that name: its values would silently diverge between workers."""
    for index, group in enumerate(optimizer.param_groups):
        for place, parameter in enumerate(group["params"]):
            if parameter.requires_grad and parameter not in known:
                raise ValueError(
                    f"parameter {place} of group {index}, of shape {list(parameter.shape)}, is "
                    f"trained now, and was not when {kind} was called: it had "
                    "requires_grad=False or was not in the optimizer yet. Make a new optimizer "
                    "and wrap that")


def wrapped(optimizer, methods, **attributes):
    """The optimizer again, as an object of a class of the same name that derives from its own, with
    these methods first. It permanently shares groups and state with the argument."""
    own = {name: value for part in reversed(methods.__mro__[:-1])
           for name, value in vars(part).items() if name not in ("__dict__", "__weakref__")}
    kind = type(type(optimizer).__name__, (type(optimizer),), own)
    result = kind.__new__(kind)
    result.__dict__.update({name: value for name, value in vars(optimizer).items()
                            if name not in ("step", "state", "param_groups")})
    result.__dict__.update(attributes, _stretto_original=optimizer)
    return result


def registered(optimizer):
    """The optimizer, registered for transfer to workers that join later."""
    now = session.current()
    replacing.enlist(now, now.optimizers, optimizer)
    leaving.watch()
    return optimizer


class Wrapped:
    """Common methods of all wrapped optimizers: groups and state are those of the inner one, also
    after either has loaded others. A schedule created for the inner one changes them, and may have
    replaced its step() by a counter."""

    @property
    def param_groups(self):
        """The inner optimizer's groups."""
        return self._stretto_original.param_groups

    @param_groups.setter
    def param_groups(self, groups):
        self._stretto_original.param_groups = groups

    @property
    def state(self):
        """The inner optimizer's state."""
        return self._stretto_original.state

    @state.setter
    def state(self, state):
        self._stretto_original.state = state

    def __setstate__(self, state):
        # The argument of load_state_dict().
        others = dict(state)
        for name in ("state", "param_groups"):
            if name in others:
                setattr(self, name, others.pop(name))
        super(type(self), self).__setstate__(others)

    def __deepcopy__(self, memo):
        # It has copies of the parameters, which no other code owns.
        self._stretto_settle()
        return copy.deepcopy(self._stretto_original, memo)

    def __reduce_ex__(self, protocol):
        # The same holds for a saved and loaded optimizer; by a function of Python's own, so that
        # loading it needs no Stretto.
        del protocol
        self._stretto_settle()
        return copy.copy, (self._stretto_original,)

    def _stretto_settle(self):
        # Before a copy: completes operations in progress.
        pass


class Synchronous(Wrapped):
    """Additional methods of a wrapped optimizer, put into a class that derives from the class of
    the user's optimizer, so that isinstance() holds."""

    _stretto_should_synchronize = True
    _stretto_synchronized = False  # By the program, since the last step.
    _stretto_reads_means = False  # The program reads the means before a step, e.g. to clip.
    _stretto_watch = None  # Checks that all have the same parameters.

    def set_backward_passes_per_step(self, passes):
        """Sets the number of backward passes that add up before each step."""
        self._stretto_exchange.set_passes(whole("backward_passes_per_step", passes))

    def synchronize(self):
        """Waits until every gradient is the mean over all workers, so that the program can modify
        it before step(), such as by clipping. See skip_synchronize()."""
        self._stretto_exchange.synchronize()
        self._stretto_synchronized = self._stretto_reads_means = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Within it step() does not synchronize, because synchronize() was called before."""
        self._stretto_should_synchronize = False
        try:
            yield
        finally:
            self._stretto_should_synchronize = True

    def finish(self):
        """For loops written for every mode: here all workers are equal after each step."""

    def step(self, closure=None):
        """A step by the means of the gradients. A closure's loss is averaged too."""
        check_parameters(self, self._stretto_exchange)
        if closure is not None:
            self._stretto_reads_means = True
            result = self._stretto_step(self._stretto_wrapped(closure))
        else:
            self._stretto_end_synchronized()
            if self._stretto_should_synchronize:
                self._stretto_exchange.synchronize()
            result = self._stretto_step()
        leaving.leave_if_told()
        return result

    def zero_grad(self, *arguments, **options):
        """As the optimizer's own; AssertionError while gradients are in flight."""
        if self._stretto_exchange.in_flight:
            session.current().check_usable()
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before "
                "optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause "
                f"a race condition. {repeated.AFTER_EXCEPTION}")
        self._stretto_synchronized = False
        return super(type(self), self).zero_grad(*arguments, **options)

    def _stretto_end_synchronized(self):
        # As a step begins.
        if self._stretto_synchronized and self._stretto_should_synchronize:
            notices.warn(
                "optimizer.step() called without optimizer.skip_synchronize() context after "
                "optimizer.synchronize(). This exchanges every gradient a second time, as it is "
                "now: means of clipped ones, for example. Call step() inside of "
                "optimizer.skip_synchronize()", UserWarning)
        self._stretto_synchronized = False

    @unfinished.whole("an optimizer's step", always=True)
    def _stretto_step(self, *arguments):
        original = self._stretto_original
        if hasattr(original, "_step_count"):
            original._step_count += 1  # For a schedule created for the inner optimizer.
        healing = self._stretto_exchange.healing
        try:
            if healing is None:
                result = self._stretto_own_step(*arguments)
            else:
                result = healing.step(self, arguments)
            if self._stretto_watch is not None:
                self._stretto_watch.after_step(self)
        except errors.Error as error:
            if not returning.between_steps(error):
                raise
            returning.come_again(error)
            result = None
        return result

    def _stretto_own_step(self, *arguments):
        return super(type(self), self).step(*arguments)

    def _stretto_wrapped(self, closure):
        def evaluate():
            with torch.enable_grad():
                loss = unfinished.of_program(closure)()
            self._stretto_exchange.synchronize()
            if loss is None:
                return None
            is_number = not isinstance(loss, torch.Tensor)
            mean = torch.tensor(loss, dtype=torch.float64) if is_number else loss.detach().clone()
            try:
                self._stretto_exchange.begin_sum(
                    mean, f"Closure.{self._stretto_scope}loss", mean=True).wait()
            except errors.Error as error:
                if not returning.between_steps(error):
                    raise
                returning.come_again(error)  # The next gradient gets the others' state.
            return mean.item() if is_number else mean

        return evaluate


def make(optimizer, gradients, scope):
    """The optimizer, wrapped so that it steps by these gradients."""
    return registered(wrapped(optimizer, Synchronous, _stretto_scope=scope,
                              _stretto_exchange=gradients))
