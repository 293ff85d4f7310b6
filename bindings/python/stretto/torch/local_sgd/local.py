# SPDX-License-Identifier: Apache-2.0
"""LocalSteps: any PyTorch optimizer, with local steps and an exchange after every N of them. For
slow or long links.
"""

import sys
from typing import Any, Callable, Iterable, Mapping, Optional, Tuple, Type, Union

import torch

from stretto import closing, errors, leaving, returning, session
from stretto.torch.core import compression as compressions
from stretto.torch.gradients import gradients
from stretto.torch.optim import optimizer as optimizers
from stretto.torch.local_sgd import outer as outers
from stretto.torch.core import replacing, ways
from stretto.torch.local_sgd import pieces, rounds
from stretto.torch.optim import synchronous


class EachStep(synchronous.Synchronous):
    """Rounds of one step whose outer rule is the mean: mode sync."""

    _stretto_kind = "LocalSteps"
    _stretto_rounds = 0

    def step(self, closure=None):
        """As in mode sync."""
        result = synchronous.Synchronous.step(self, closure)
        self._stretto_rounds += 1
        return result

    @property
    def outer_round(self):
        """Steps of this worker."""
        return self._stretto_rounds

    def state_dict(self):
        """As the optimizer's own, with the number of steps in "outer"."""
        state = super(type(self), self).state_dict()
        return {**state, "outer": {"round": self._stretto_rounds}}

    def load_state_dict(self, state_dict):
        """As the optimizer's own, which continues at that step."""
        own = {key: value for key, value in state_dict.items() if key != "outer"}
        super(type(self), self).load_state_dict(own)
        self._stretto_rounds = (state_dict.get("outer") or {}).get("round", 0)

    def outer_values(self):
        """Copies of the parameters, by name."""
        skipped = len(self._stretto_scope)
        return {name[skipped:]: parameter.detach().to("cpu", copy=True)
                for parameter, name in self._stretto_exchange.names.items()}


class Local(synchronous.Wrapped):
    """Additional methods of such an optimizer."""

    _stretto_kind = "LocalSteps"

    def step(self, closure=None):
        """A local step; the last step of a round makes the outer step with all workers. A worker
        that joins or rejoins an elastic job does so by this step, and makes none. In the first step
        its parameters become those of rank 0; if they differed, the step counts without a change,
        because the gradient is of the old parameters. With a closure it makes one then."""
        synchronous.check_parameters(self, self._stretto_exchange, "LocalSteps")
        arguments = () if closure is None else (closure,)
        result = None
        while True:
            try:
                if self._stretto_exchange.begin():
                    result = None if closure is None else closure()
                else:
                    if arguments or not self._stretto_exchange.starts_over:
                        result = super(type(self), self).step(*arguments)
                    self._stretto_exchange.after_step()
                break
            except errors.Error as error:
                if not returning.between_steps(error):
                    raise
                returning.come_again(error)
        original = self._stretto_original
        if hasattr(original, "_step_count"):
            original._step_count += 1  # For a schedule created for the inner optimizer.
        leaving.leave_if_told(amid_round=self._stretto_exchange.steps > 0)
        return result

    def finish(self):
        """Ends the outer round early; all workers call it: then all have the same parameters, with
        every local step in them. Call it at the end, and before evaluating or saving within a
        round. Raises Mismatch if others have made a different number of steps."""
        while True:
            try:
                if not self._stretto_exchange.begin() or not self._stretto_exchange.came_at_end:
                    self._stretto_exchange.finish()
                return
            except errors.Error as error:
                if not returning.between_steps(error):
                    raise
                returning.come_again(error)

    @property
    def outer_round(self):
        """Outer rounds that have ended."""
        return self._stretto_exchange.round

    def outer_values(self):
        """The outer values of the parameters, by name: copies, bit-identical at all workers after
        each round; empty before the first step. If exchanges overlap it waits for none: then
        parameters are these values plus this worker's progress since."""
        return self._stretto_exchange.pieces.by_name("values")

    def state_dict(self):
        """As the optimizer's own, and in "outer" the outer round's. Waits for means that
        were sent and not applied; what error feedback owes is not in it."""
        state = super(type(self), self).state_dict()
        return {**state, "outer": self._stretto_exchange.state()}

    def load_state_dict(self, state_dict):
        """As the optimizer's own, and the outer round's, unless it is of another optimizer: then
        rounds start from the model's values at the next step. All workers load at the same point of
        their programs."""
        own = {key: value for key, value in state_dict.items() if key != "outer"}
        super(type(self), self).load_state_dict(own)
        self._stretto_exchange.load(state_dict.get("outer"))

    def _stretto_settle(self):
        self._stretto_exchange.settle()

    def synchronize(self):
        """Not supported: RuntimeError."""
        raise RuntimeError("there is nothing to synchronize with LocalSteps: gradients stay with "
                           "their worker")

    def skip_synchronize(self):
        """Not supported: RuntimeError."""
        self.synchronize()


def _refuse_twice(pairs):
    # Parameters that another object would also exchange.
    modules = [each for each in (one() for one in session.current().modules) if each is not None]
    for name, parameter in pairs:
        if any(parameter in each for each in modules):
            raise ValueError(f"parameter '{name}' is of a DistributedDataParallel, which exchanges "
                             "its gradient at every step; give LocalSteps a module that is not "
                             "wrapped")


def _refuse(every, fragments, overlap):
    synchronous.whole("every", every)
    synchronous.whole("fragments", fragments)
    if fragments > every:
        raise ValueError(f"fragments is {fragments}, and a round has {every} steps; wanted at most "
                         "one fragment a step")
    if not isinstance(overlap, bool):
        raise ValueError(f"overlap is {overlap!r}, wanted True or False")


def LocalSteps(  # pylint: disable=invalid-name
        optimizer: torch.optim.Optimizer,
        named_parameters: Optional[Iterable[Tuple[str, torch.nn.Parameter]]] = None, *,
        every: int, outer: str = "mean", outer_rate: Optional[float] = None,
        momentum: Optional[float] = None,
        weight: Union[None, float, Callable[[], float]] = None,
        compression: Type[compressions.Compressor] = compressions.Compression.none,
        compression_params: Optional[Mapping[str, Any]] = None, fragments: int = 1,
        overlap: bool = False, exchange: Optional[str] = None) -> Any:
    """Wraps an optimizer so that each worker makes local steps, and all synchronise after `every`
    of them: the parameters are averaged, and an outer rule computes the next values from the mean,
    bit-identical at all workers. Parameters start as those of rank 0.

    named_parameters    as DistributedOptimizer's
    every               local steps of an outer round
    outer               "mean": all continue from the mean (FedAvg, McMahan et al. 2017).
                        "nesterov": the difference to the mean is a gradient, for Nesterov's
                        momentum (DiLoCo, Douillard et al. 2023)
    outer_rate          of the outer rule; None: 1 for "mean", 0.7 for "nesterov"
    momentum            of "nesterov"; None: 0.9
    weight              of this worker in the means: a number, such as its samples, or a function
                        that returns that of a round, called once in each as its first fragment is
                        sent (at its end, if there is one fragment); None: equal weights
    compression         Compression.fp16 halves the traffic
    compression_params  a codec instead, such as {"compressor": "int8", "ef": "vanilla"};
                        docs/COMPRESSION.md
    fragments           the model is sent in this number of parts, at different steps of a round
                        (Streaming DiLoCo, Douillard et al. 2025)
    overlap             a mean is waited for a round later, while the next one computes. Each worker
                        continues from the outer rule's result for its own steps
    exchange            a strategy, as in docs/COLLECTIVES.md; None: "servers" if any

    With every=1, outer="mean" and none of outer_rate, weight and overlap gradients are exchanged,
    as by DistributedOptimizer in mode sync: with the same bits, whatever the optimizer."""
    synchronous.check(optimizer)
    compression = compressions.from_params(compression_params, compression)
    optimizers.check_compression(compression)
    _refuse(every, fragments, overlap)
    rule = outers.rule_of(outer, outer_rate, momentum)
    if weight is not None and not callable(weight):
        outers.weight_of(weight)
    pairs = optimizers.named(optimizer, named_parameters)
    pieces.check(pairs)
    _refuse_twice(pairs)
    if closing.is_one(exchange):
        raise ValueError(f"exchange is {exchange!r}: local steps wait for all; name a way")
    by_gradients = every == 1 and rule.is_plain and weight is None and not overlap
    ways.check_gradients(exchange, pairs if by_gradients else [], compression)
    if by_gradients:
        # Gradients of any number of backward passes stay local until step().
        scope = session.current().new_scope("optimizer", first="")
        sums = gradients.GradientExchange(pairs, sys.maxsize, compression, scope, way=exchange)
        return synchronous.registered(synchronous.wrapped(
            optimizer, EachStep, _stretto_scope=scope.prefix, _stretto_exchange=sums))
    scope = session.current().new_scope("local", first="")
    how = pieces.Way(rule, overlap, compression, exchange)
    exchanged = rounds.Rounds(pieces.Pieces(pairs, fragments, compression, scope), how, every,
                              weight, scope, optimizer)
    made = synchronous.wrapped(optimizer, Local, _stretto_exchange=exchanged)
    now = session.current()
    replacing.enlist(now, now.apart, made)
    leaving.watch()
    return made
