# SPDX-License-Identifier: Apache-2.0
"""Run by the workers of suspend_test.py: leaves a job, and joins another of another size on
SIGUSR1. Training continues in the second job.
"""

import signal
import sys

import torch

import byteps.torch as bps
import stretto.torch as st


class Scale(torch.nn.Module):
    """Its gradient is its input; it starts at 0."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(5))
        self.frozen = torch.nn.Parameter(torch.zeros(5), requires_grad=False)

    def forward(self, gradient):
        """A loss."""
        return (self.weight * gradient).sum()


class Trained:
    """A model wrapped in the first job."""

    def __init__(self, way):
        self.way = way
        self.model = Scale()
        self.optimizer = torch.optim.SGD([self.model.weight], lr=1.0)
        if way == "module":
            self.model = st.DistributedDataParallel(self.model)
            return
        options = {"model": self.model} if way == "model" else {"mode": way}
        self.optimizer = st.DistributedOptimizer(
            self.optimizer, self.model.named_parameters(), lr_rule="constant", **options)

    def begin(self):
        """Starts a step by a gradient of this rank plus 1."""
        self.optimizer.zero_grad()
        self.model(float(st.rank() + 1)).backward()
        self.optimizer.step()

    def step(self):
        """Makes a step; returns its weight."""
        self.begin()
        if self.way != "module":
            self.optimizer.finish()
        return next(self.model.parameters())[4].item()


class Local:
    """A model trained by local steps with overlapping means."""

    def __init__(self):
        self.model = Scale()
        self.optimizer = st.LocalSteps(torch.optim.SGD([self.model.weight], lr=1.0),
                                       every=2, overlap=True)

    def steps(self, count):
        """`count` steps, by gradients of this rank plus 1."""
        for _ in range(count):
            self.optimizer.zero_grad()
            self.model(float(st.rank() + 1)).backward()
            self.optimizer.step()


def main():
    """Two jobs, one after another; the arguments are the second's workers and servers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    bps.init()
    print("sum", bps.push_pull(torch.ones(1000), average=False, name="x")[999].item(), flush=True)
    trained = [Trained(way) for way in ("sync", "model", "module", "eager", "async")]
    print("trained", *(one.step() for one in trained), flush=True)
    trained[1].begin()  # It ends in the next job.
    local = Local()
    local.steps(3)  # The mean of two was sent, and not awaited.
    rank = bps.rank()
    bps.suspend()
    print("suspended", bps.rank(), "of", bps.size(), "local", bps.local_rank(), "of",
          bps.local_size(), flush=True)
    if rank >= int(sys.argv[1]):
        return
    signal.sigwait([signal.SIGUSR1])
    bps.resume(int(sys.argv[1]), int(sys.argv[2]), rank)
    print("again", bps.push_pull(torch.ones(1000), average=False, name="x")[999].item(),
          f"as {bps.rank()} of {bps.size()}", flush=True)
    another = Trained("sync")  # Created before the old one of the same names was used again.
    print("trained", *(one.step() for one in (*trained[1:], another)), flush=True)
    local.steps(1)
    local.optimizer.finish()
    print("local", local.model.weight[4].item(), "round", local.optimizer.outer_round, flush=True)
    try:
        trained[0].step()
    except ValueError as error:
        print("refused", error, flush=True)
    bps.shutdown()
    print("done", flush=True)


if __name__ == "__main__":
    main()
