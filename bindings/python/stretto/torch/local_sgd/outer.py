# SPDX-License-Identifier: Apache-2.0
"""The local decisions of local steps: the outer rule, the step at which each fragment of a model is
exchanged, and the parameters of a fragment. Pure.

Averaging models after local steps is FedAvg (McMahan et al., AISTATS 2017) and local SGD (Stich,
ICLR 2019). To treat the difference as a gradient, of Nesterov's momentum, is DiLoCo (Douillard et
al., 2023, arXiv 2311.08105), and to send fragments in turn Streaming DiLoCo (Douillard et al.,
2025, arXiv 2501.18512).
"""

import math
from typing import NamedTuple

OUTERS = ("mean", "nesterov")
"""The outer rules that there are."""

_RATES = {"mean": 1.0, "nesterov": 0.7}
_MOMENTUM = 0.9


class Rule(NamedTuple):
    """The update of the values at an outer round's start by the mean progress of all workers.

    With the same arguments it makes the same bits at every worker: products and sums are rounded
    one by one, since where they are fused depends on the processor."""

    outer: str
    rate: float
    momentum: float

    @property
    def has_momentum(self):
        """True if it keeps one number for each element."""
        return self.outer == "nesterov"

    @property
    def is_plain(self):
        """True if the values become the mean of all workers'."""
        return self.outer == "mean" and self.rate == 1.0

    def apply(self, values, momentum, mean):
        """An outer step, in place. `mean` is the values at the start less the mean of all workers'
        parameters: an outer gradient. All have one shape; `mean` is overwritten. As
        torch.optim.SGD."""
        if self.has_momentum:
            momentum.mul_(self.momentum).add_(mean)
            mean.add_(momentum * self.momentum)
        if self.rate != 1.0:
            mean.mul_(self.rate)
        values.sub_(mean)


def rule_of(outer, rate, momentum):
    """The rule, with defaults for None: rate 1 for the mean, 0.7 and momentum 0.9 for Nesterov's.
    ValueError for invalid arguments."""
    if outer not in OUTERS:
        raise ValueError(f"outer is {outer!r}, wanted one of {', '.join(OUTERS)}")
    rate = _RATES[outer] if rate is None else rate
    if not _is_number(rate) or rate <= 0:
        raise ValueError(f"outer_rate is {rate!r}, wanted a number above 0")
    if outer == "mean" and momentum is not None:
        raise ValueError("momentum is for outer='nesterov'; the mean has none")
    momentum = _MOMENTUM if momentum is None else momentum
    if not _is_number(momentum) or not 0 <= momentum < 1:
        raise ValueError(f"momentum is {momentum!r}, wanted a number from 0, and below 1")
    return Rule(outer, float(rate), float(momentum))


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def weight_of(weight):
    """The weight of this worker's round; `weight` is a number, or a function that returns it.
    ValueError unless the result is a number from 0."""
    found = weight() if callable(weight) else weight
    try:
        number = float(found)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"weight is {found!r}, wanted a number from 0, such as the samples of "
                         "the round")
    return number


def due_after(every, fragments):
    """The local steps of a round after which each of `fragments` fragments is exchanged, in order.
    The last fragment's turn is the round's end."""
    return [(index + 1) * every // fragments for index in range(fragments)]


def split(sizes, parts):
    """The lengths of `parts` consecutive runs of these, none empty, of sizes as equal as possible.
    There are at least as many sizes as parts."""
    counts, total, done, count = [], sum(sizes), 0, 0
    for index, size in enumerate(sizes):
        done, count = done + size, count + 1
        left, wanted = len(sizes) - index - 1, parts - len(counts) - 1
        is_full = done * parts >= total * (len(counts) + 1)
        if wanted > 0 and left >= wanted and (is_full or left == wanted):
            counts.append(count)
            count = 0
    return [*counts, count]
