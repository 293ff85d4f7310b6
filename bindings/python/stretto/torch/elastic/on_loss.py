# SPDX-License-Identifier: Apache-2.0
"""Effect of a worker's loss on the samples of a step, and its announcement."""

import sys

from stretto import session
from stretto.torch.core import keeping
from stretto.torch.elastic import newcomers
from stretto.torch.elastic import sampler

_CHOICES = ("redistribute", "shrink")
_MEANING = {
    "shrink": "a step has fewer samples, and what the lost ones had left of their data is not "
              "used in this epoch; stretto.torch.elastic.ElasticSampler would divide it among the "
              "others",
    "redistribute": "what the lost ones had not processed is divided among the others at the next "
                    "commit() or check_host_updates()",
}


class OnLoss:
    """The policy of one optimizer or module.

    choice    "redistribute" or "shrink"; None: the first if the program has an ElasticSampler
    sampler   whose batches() the gradients are of; None: all batches have one size
    """

    def __init__(self, choice=None, weighted_by=None):
        if choice is not None and choice not in _CHOICES:
            raise ValueError(f"on_loss is {choice!r}, wanted 'redistribute' or 'shrink'")
        if weighted_by is not None and not isinstance(weighted_by, sampler.ElasticSampler):
            raise TypeError(f"the sampler is a {type(weighted_by).__name__}, wanted an "
                            "ElasticSampler")
        self.choice = choice
        self._sampler = weighted_by
        self._present = None

    def begin_step(self, scope):
        """Before an exchange in this scope sends its first data of a step: workers join."""
        if not session.is_initialized():
            return
        keeping.check_restored(session.current())
        if newcomers.makes_steps(session.current(), scope):
            newcomers.begin_step(session.current())

    def scale(self, gradients, rule):
        """For rule "mean", multiplies this worker's gradients by the sampler's weight (samples of
        this worker / mean samples per worker). No effect for other rules."""
        if self._sampler is None or rule != "mean":
            return
        weight = self._sampler.weight()
        for gradient in gradients:
            if weight != 1.0:
                gradient.mul_(weight)

    def look(self, now):
        """Once a step: at the first loss, rank 0 logs its consequence."""
        if not now.elastic:
            return
        before, self._present = self._present, now.present
        if before is None or now.present >= before or now.told_of_loss:
            return
        now.told_of_loss = True
        if now.rank == 0:
            chosen = self.choice or ("redistribute" if sampler.divides_anew() else "shrink")
            print(f"stretto: the job goes on with {now.present} of {now.seats} workers "
                  f"(on_loss={chosen!r}): {_MEANING[chosen]}", file=sys.stderr, flush=True)
