# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: a module whose backward leaves the mean of all workers' gradients."""

import contextlib
from typing import Any, Iterator, Optional, Sequence, Type

import torch

from stretto import errors, leaving, notices, returning, session, unfinished
from stretto.closing import Exchange
from stretto.torch.core import agreement, broadcasting, replacing, ways
from stretto.torch.gradients import gradients
from stretto.torch.core import compression as compressions


class DistributedDataParallel(torch.nn.Module):
    """Wraps a module. Its parameters and buffers become those of rank 0; after each backward the
    gradients are the mean over all workers, including those of unused layers.

    device_ids          None, or one device: here a module lives on one
    A copy, or a saved and loaded module, exchanges nothing: it is for averages of the weights (EMA)
    and the like. To train it, wrap its module.

    broadcast_buffers   before each forward in training, buffers (such as the running means of
                        batch normalisation) become those of rank 0
    compression         see stretto.torch.Compression
    exchange            strategy for gradients, as for DistributedOptimizer
    """

    def __init__(self, module: torch.nn.Module, device_ids: Optional[Sequence[Any]] = None,
                 broadcast_buffers: bool = True,
                 compression: Type[compressions.Compressor] = compressions.Compression.none,
                 exchange: Exchange = None) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) != 1:
            raise AssertionError("device_ids should be None or contain exactly one entry, but got "
                                 f"{device_ids}")
        self.module = module
        self.device_ids = device_ids
        self.broadcast_buffers = broadcast_buffers
        scope = session.current().new_scope("module")
        self._scope = scope.prefix
        named = [(name, parameter) for name, parameter in module.named_parameters()
                 if parameter.requires_grad]
        if not named:
            raise AssertionError("DistributedDataParallel is not needed for a module that has no "
                                 "parameter with requires_grad=True")
        ways.check_gradients(exchange, named, compression)
        # Some buffers are in no state_dict.
        state = {**dict(module.named_buffers()), **broadcasting.tensors_in(module.state_dict())}
        broadcasting.broadcast_alike(state, 0, f"Parameter.{self._scope}",
                                     {"broadcast_buffers": str(bool(broadcast_buffers))},
                                     label="Parameter.module/")
        self._exchange = gradients.GradientExchange(named, 1, compression, scope,
                                                    waits_in_backward=True, way=exchange)
        self._is_first = scope.number == 1
        now = session.current()
        replacing.enlist(now, now.modules, self._exchange)
        leaving.watch()

    def __getstate__(self):
        return dict(self.__dict__, _exchange=None)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """The module's own forward. ValueError if a parameter is trained now that was not when it
        was wrapped."""
        if self._exchange is None:
            if self.training and torch.is_grad_enabled():
                notices.warn("this copy of a DistributedDataParallel exchanges no gradients; to "
                             "train it, wrap its module")
            return self.module(*inputs, **options)
        if torch.is_grad_enabled():
            replacing.refuse_replaced(self._exchange)
            self._check_parameters()
            if self._is_first and self.training:
                leaving.leave_if_told()  # The step before has ended.
        if self.broadcast_buffers and self.training and not session.current().alone:
            self._broadcast_buffers(agreement.in_order(self.module.named_buffers()))
        return self.module(*inputs, **options)

    @unfinished.whole("the broadcast of buffers")
    def _broadcast_buffers(self, named):
        if not named:
            return
        names = self._exchange.wire
        try:
            if not session.current().elastic:
                self._exchange.agree()
            prefix = names.prefix
            names.begin_round()
            broadcasting.begin_together(named, 0, f"Buffer.{prefix}")()
            names.end_round()
        except errors.Error as error:
            if not returning.between_steps(error):
                raise
            returning.come_again(error)  # Its next gradient gets them.

    def _check_parameters(self):
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad and parameter not in self._exchange:
                raise ValueError(
                    f"parameter '{name}' is trained now, and was not when "
                    "DistributedDataParallel was called: it had requires_grad=False or was not in "
                    "the module yet. Wrap the module again, in the place of this one")

    def synchronize(self) -> None:
        """Waits for the gradients. Backward calls it automatically when it ends."""
        if self._exchange is not None and self._exchange.enabled:
            self._exchange.synchronize()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients stay local and add up, until a backward outside of it."""
        if self._exchange is None:
            yield
            return
        before, self._exchange.enabled = self._exchange.enabled, False
        try:
            yield
        finally:
            self._exchange.enabled = before
