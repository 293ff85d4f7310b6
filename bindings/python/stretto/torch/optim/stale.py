# SPDX-License-Identifier: Apache-2.0
"""Optimizers in the modes other than sync: each worker's optimizer makes updates of its own
gradients, and the updates are exchanged (see stretto/parameters.h for the guarantees of each mode).
"""

import torch

from stretto import _core, errors, leaving, returning, session, unfinished
from stretto.torch.core import agreement, exchange, keeping, replacing
from stretto.torch.elastic import newcomers
from stretto.torch.optim import synchronous


class Exchange:
    """The weights of a model at the servers. The parameters of the model are copies: step() makes
    an update of the optimizer's changes, and stores the values for the next step in them."""

    def __init__(self, named, scope, options):
        self._named = agreement.in_order(named)
        self._known = {parameter for _, parameter in named}
        self._scope = scope
        self._options = options
        self._session = session.current()
        self._agreed = False
        self._parameters = None
        self.opening = None  # The attempt that loaded values into the servers, known to all,
        self._is_late = False  # and to workers that joined later.
        self._values = []
        wrong = [(name, tensor.dtype) for name, tensor in named if tensor.dtype != torch.float32]
        if wrong:
            raise ValueError(f"mode {options['mode']!r} takes float32 parameters, '{wrong[0][0]}' "
                             f"is {wrong[0][1]}; use mode 'sync'")
        replacing.replace(self)

    def __contains__(self, parameter):
        return parameter in self._known

    @property
    def names(self):
        """The names of the parameters at all workers, by parameter."""
        return {parameter: name for name, parameter in self._named}

    @property
    def mode(self):
        """The mode of the optimizer."""
        return self._options["mode"]

    @property
    def compensates(self):
        """True if gradients are corrected for their delay."""
        return self._options["rate_rule"] == "compensated"

    def _follow(self):
        # Into the job that resume() has joined.
        replacing.refuse_replaced(self)
        now = session.current() if session.is_initialized() else self._session
        if now is not self._session:
            now.keep_scope(self._scope)
            self._session, self._agreed, self._parameters = now, False, None
            self.opening, self._is_late = None, False

    def forget_step(self):
        """Drops the values: their job has lost this worker."""
        self._parameters = None

    def follow_others(self, opening):
        """The values are at the servers since the others' attempt `opening`, from 0, and this
        worker, which has joined their job, must take those; None: no worker has any yet."""
        self.opening, self._is_late = opening, opening is not None

    @unfinished.whole("the exchange of updates", always=True)
    def begin(self):
        """Before a step: the first time in a job, all workers get the values of rank 0; a worker
        that joins later gets those of the servers. True if this worker has just joined, so that its
        gradients are of other values."""
        self._follow()
        now = self._session
        keeping.check_restored(now)
        comes_in = newcomers.makes_steps(now, self._scope) and newcomers.begin_apart(now)
        if self._agreed or now.alone:
            return comes_in
        if not self._is_late:
            self._agree()
        if self._named:  # Without parameters there is no exchange.
            self._open()
        self._agreed = True
        return comes_in

    def _open(self):
        initial = [tensor.detach().to("cpu").contiguous() for _, tensor in self._named]
        attempt = self.opening or 0
        while self._parameters is None:
            self._parameters = self._opened(initial, f"@{attempt}" if attempt else "")
            self.opening = attempt
            attempt += 1
        self._load()

    def _opened(self, initial, suffix):
        # None at all workers if the root of the values was lost: parts of the tensors then have no
        # value, and never will.
        names = [f"Weight.{self._scope.prefix}{name}{suffix}" for name, _ in self._named]
        opened, failed = None, None
        try:
            opened = _core.Parameters(
                self._session.worker(), names,
                [(tensor.data_ptr(), tensor.numel()) for tensor in initial],
                # Otherwise the order of updates is that of their arrival.
                deterministic=self._options["mode"] == "eager" and
                torch.are_deterministic_algorithms_enabled(), late=self._is_late, **self._options)
        except errors.PeerLost as error:
            failed = error
        if not self._session.elastic or self._is_late:
            if failed is not None:
                raise failed
            return opened
        here = exchange.attendance(f"{self._scope.kind}{self._scope.number}{suffix}",
                                   [failed is None])
        return opened if all(is_open for [is_open] in here.values()) else None

    def _agree(self):
        label = f"{self._scope.kind} {self._scope.number}"
        facts = {f"parameter '{name}'": agreement.fact_of(tensor) for name, tensor in self._named}
        facts |= {"mode": self._options["mode"]}
        if self._options["mode"] == "bounded":
            facts |= {"staleness": str(self._options["bound"])}
        agreement.Agreement(label, f"gradients in {label}", facts, "push_pull").wait()

    @unfinished.whole("the exchange of updates", always=True)
    def compensate(self):
        """Before the optimizer's own step: corrects the gradients for the others' updates since the
        values that they were computed from, if the rate rule does that."""
        if self._parameters is None or not self.compensates:
            return
        gradients = [tensor.grad for _, tensor in self._named]
        if any(gradient is not None and gradient.is_sparse for gradient in gradients):
            raise ValueError("lr_rule 'compensated' is for dense gradients; choose another one")
        flat = [None if gradient is None else
                gradient.detach().to("cpu", torch.float32).contiguous() for gradient in gradients]
        self._parameters.compensate([(0, 0) if values is None else
                                     (values.data_ptr(), values.numel()) for values in flat])
        with torch.no_grad():
            for gradient, values in zip(gradients, flat):
                if values is not None and values.data_ptr() != gradient.data_ptr():
                    gradient.copy_(values)

    @unfinished.whole("the exchange of updates", always=True)
    def end(self):
        """After the optimizer's own step."""
        if self._parameters is None:
            return
        updates = [tensor.detach().to("cpu").reshape(-1) - before
                   for (_, tensor), before in zip(self._named, self._values)]
        self._parameters.step([(update.data_ptr(), update.numel()) for update in updates])
        self._load()

    @unfinished.whole("the exchange of updates", always=True)
    def finish(self):
        """Afterwards all workers' updates are in all workers' values. All must call it."""
        self._follow()
        if self._parameters is not None:
            self._parameters.finish()
            self._load()

    def info(self):
        """Information on the last step; None before it."""
        return self._parameters.info() if self._parameters is not None else None

    def _load(self):
        self._values = []
        with torch.no_grad():
            for index, (_, tensor) in enumerate(self._named):
                view = self._parameters.values(index)
                values = torch.frombuffer(view, dtype=torch.float32) if len(
                    view) else torch.empty(0)
                tensor.copy_(values.view(tensor.shape))
                self._values.append(values)


class Stale(synchronous.Wrapped):
    """Additional methods of such an optimizer."""

    def step(self, closure=None):
        """A step of this worker: by its own gradients, on the others' updates so far. If an elastic
        job has lost this worker, it rejoins by the step."""
        synchronous.check_parameters(self, self._stretto_exchange)
        while True:
            try:
                return self._stretto_step(closure)
            except errors.Error as error:
                if not returning.between_steps(error):
                    raise
                returning.come_again(error)

    @unfinished.whole("an optimizer's step", always=True)
    def _stretto_step(self, closure):
        comes_in = self._stretto_exchange.begin()
        if closure is not None and self._stretto_exchange.compensates:
            raise ValueError("lr_rule 'compensated' takes no closure: it corrects gradients that "
                             "are there before step()")
        self._stretto_exchange.compensate()
        if closure is not None:
            closure = unfinished.of_program(closure)
        if comes_in:  # Its first update is empty.
            result = None if closure is None else closure()
        else:
            result = super(type(self), self).step(*(() if closure is None else (closure,)))
        self._stretto_exchange.end()
        original = self._stretto_original
        if hasattr(original, "_step_count"):
            original._step_count += 1
        leaving.leave_if_told()
        return result

    def finish(self):
        """Waits until all workers have called it: then all have the same parameters, with every
        update in them. Call it before evaluating or saving."""
        self._stretto_exchange.finish()

    def staleness(self):
        """Others' updates between the values that the last gradient was computed from and its push,
        as far as known then."""
        info = self._stretto_exchange.info()
        return info.staleness if info is not None else 0.0

    def synchronize(self):
        """Not supported in this mode: RuntimeError."""
        raise RuntimeError("there is nothing to synchronize in this mode: gradients stay with "
                           "their worker, and updates travel in step()")

    def skip_synchronize(self):
        """Not supported in this mode: RuntimeError."""
        self.synchronize()

    def set_backward_passes_per_step(self, passes):
        """Does nothing: gradients add up until step() is called."""


def make(optimizer, named, scope, *, mode, bound, rate_rule, warm_up):
    """The optimizer, wrapped for a mode other than sync."""
    options = {"mode": mode, "bound": bound, "rate_rule": rate_rule, "warm_up": warm_up}
    leaving.watch()
    made = synchronous.wrapped(optimizer, Stale, _stretto_exchange=Exchange(named, scope, options))
    now = session.current()
    replacing.enlist(now, now.apart, made)
    return made
