# SPDX-License-Identifier: Apache-2.0
"""The contract of mode delayed, in plain PyTorch: all workers of a job in one process, which has
the data of each. Used by delayed_worker.py.
"""

import copy

import torch
from torch import nn


def data(step, rank):
    """Inputs and targets: a different batch for each step and rank."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 12, generator=generator)
    return inputs, inputs[:, :3] * 2 - 1


def loss_of(model, step, rank):
    """The loss on that batch."""
    inputs, targets = data(step, rank)
    return nn.functional.mse_loss(model(inputs), targets)


class Reference:
    """Some workers that train copies of a model with a copy of an optimizer.

    model, optimizer  committed weights, and the optimizer with its state
    count             number of stale parameters, from the first
    """

    def __init__(self, model, optimizer, workers, approximate, count):
        self.model, self.optimizer = copy.deepcopy((model, optimizer))
        self._approximate = approximate
        self._count = count
        self._late = [None] * count  # Pending means.
        self._rates = None  # The rates of their step.
        self._own = [None] * workers  # Each worker's gradients of the previous step.
        self.copies = [copy.deepcopy(model) for _ in range(workers)]  # Each worker's parameters.

    def step(self, number):
        """One step of all workers."""
        own = [torch.autograd.grad(loss_of(one, number, rank), list(one.parameters()))
               for rank, one in enumerate(self.copies)]
        means = [sum(gradients[1:], gradients[0]) / len(own) for gradients in zip(*own)]
        rates = [group["lr"] for group in self.optimizer.param_groups]
        arrived, self._late = self._late, means[:self._count]
        before, self._own = self._own, own
        if self._rates is not None:
            self._commit(arrived, self._rates)
        self._commit([None] * self._count + means[self._count:], rates)
        self._rates = rates
        self.copies = [self._shadow(arrived, *pair) for pair in zip(own, before)]

    def finish(self):
        """Applies pending means."""
        self._commit(self._late, self._rates)
        self._late, self._own = [None] * self._count, [None] * len(self._own)
        self._rates = None
        self.copies = [copy.deepcopy(self.model) for _ in self.copies]

    def _commit(self, gradients, rates):
        now = [group["lr"] for group in self.optimizer.param_groups]
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        _apply(self.model, self.optimizer, gradients)
        for group, rate in zip(self.optimizer.param_groups, now):
            group["lr"] = rate

    def _shadow(self, means, own, before):
        model, optimizer = copy.deepcopy((self.model, self.optimizer))
        _apply(model, optimizer, [self._estimate(*each) for each in zip(
            means, own, before or [None] * self._count)])
        return model

    def _estimate(self, mean, own, before):
        if self._approximate == "none":
            return None
        if self._approximate == "previous":
            return mean
        if self._approximate == "local" or mean is None or before is None:
            return own
        return mean + (own - before) / len(self.copies)


def _apply(model, optimizer, gradients):
    # Only the first parameters have gradients.
    for parameter in model.parameters():
        parameter.grad = None
    for parameter, gradient in zip(model.parameters(), gradients):
        parameter.grad = None if gradient is None else gradient.clone()  # Some write to it.
    optimizer.step()


def flat(model):
    """All parameters as one vector."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
