# SPDX-License-Identifier: Apache-2.0
"""Choice of the gradients that may come a step later, so that no step waits for the link: the
window model. A gradient's window starts when backward has computed it, and ends when its mean is
needed. Pure: a function of times and sizes, with a number of tensors as its result.

Caramel (Hashemi et al.) is about such windows; this model of them, and the choice of the shortest
prefix by it, are a reconstruction.
"""

import statistics
from typing import Dict, Hashable, Iterable, List, Mapping, NamedTuple, Sequence

_STEPS = 100  # Simulated: a slightly slower link shows only after some steps.
_COUNTED = 20  # The last, which are steady.
SLACK = 0.02
"""A step that takes so much longer than the least is as good."""


class Window(NamedTuple):
    """The window of one gradient. Seconds."""

    ready: float  # Since the step's start: backward has computed the gradient.
    link: float  # The time that its exchange occupies the link.


def step_seconds(windows: Sequence[Window], stale: int, computing: float) -> float:
    """The duration of a step if the first `stale` of these, in the order of the forward, are
    awaited by the end of the next step's computing, and the others by the end of their own step's.
    The link carries one after another, in order of arrival."""
    order = sorted(range(len(windows)), key=lambda index: (windows[index].ready, -index))
    begin = link_free = before = 0.0
    begins = []
    for _ in range(_STEPS):
        begins.append(begin)
        end, later = begin + computing, 0.0
        for index in order:
            link_free = max(link_free, begin + windows[index].ready) + windows[index].link
            if index < stale:
                later = max(later, link_free)
            else:
                end = max(end, link_free)
        begin, before = max(end, before), later
    return (begins[-1] - begins[-1 - _COUNTED]) / _COUNTED


def least_prefix(windows: Sequence[Window], computing: float) -> int:
    """The shortest prefix to make stale, so that a step takes no longer than the maximum of
    computing and link. 0 if every gradient can be in time."""
    wanted = (1 + SLACK) * max(computing, sum(window.link for window in windows))
    least, most = 0, len(windows)
    while least < most:  # The longer the prefix, the shorter the wait.
        middle = (least + most) // 2
        if step_seconds(windows, middle, computing) <= wanted:
            most = middle
        else:
            least = middle + 1
    return least


class Profile:
    """Measured times of some steps at one worker, each of which exchanged nothing before its
    backward had ended. Seconds, on one clock; medians of all steps but the first."""

    def __init__(self):
        self._began = None
        self._ready: Dict[Hashable, Dict[int, float]] = {}  # By step.
        self._computing: List[float] = []
        self._exchange: List[float] = []

    @property
    def steps(self) -> int:
        """The number of recorded steps."""
        return len(self._exchange)

    def gradient(self, key: Hashable, now: float) -> None:
        """Backward has computed a gradient; the last time in a step counts."""
        if self._began is not None:
            self._ready.setdefault(key, {})[self.steps] = now - self._began

    def computed(self, now: float) -> None:
        """Backward has ended."""
        if self._began is not None:
            self._computing.append(now - self._began)

    def exchanged(self, seconds: float, now: float) -> None:
        """The exchange of all gradients alone took `seconds`; the next step starts."""
        self._exchange.append(seconds)
        self._began = now

    def computing(self) -> float:
        """Seconds of computing in a step; 0 if unknown."""
        return statistics.median(self._computing or [0.0])

    def forward_order(self, keys: Iterable[Hashable]) -> List[Hashable]:
        """The keys in reverse order of arrival of their gradients; those without gradients last.
        Ties keep their order."""
        return sorted(keys, key=lambda key: -self._ready_at(key))

    def windows(self, keys: Iterable[Hashable], sizes: Mapping[Hashable, int]) -> List[Window]:
        """The windows of these; `sizes` has the bytes of each exchanged gradient."""
        total = sum(sizes.values()) or 1
        link = statistics.median(self._exchange[1:] or self._exchange or [0.0])
        return [Window(self._ready_at(key), link * sizes[key] / total) for key in keys]

    def _ready_at(self, key):
        return statistics.median(self._ready[key].values()) if key in self._ready else 0.0
