# SPDX-License-Identifier: Apache-2.0
"""Which cells are run. Two protocols: one step size for all schemes, that of sync; and each scheme
with its own. Step sizes are chosen with some seeds, and what is told comes from others.
"""

import concurrent.futures
import dataclasses
import statistics

ORDER = ("sync", "eager", "bounded", "async", "eager_async")
ROUNDS = ("sync", "eager")  # What becomes of the values does not depend on who is how fast.
STALE = ("bounded", "async", "eager_async")
AGGRESSIVE = (2, 4)  # Times the shared step size.
TUNING_SEEDS = (101, 102, 103)
MOST_WIDENINGS = 6


@dataclasses.dataclass(frozen=True)
class Scheme:
    """How workers wait for one another, and what is made of stale gradients."""
    mode: str
    rule: str = "constant"
    warm_up: int = 0

    def __str__(self):
        name = self.mode + (f" {self.rule}" if self.mode in STALE else "")
        return name + (f" warm-up {self.warm_up}" if self.warm_up else "")


def score(rows):
    """How good a step size is, by its runs: the smaller the better. First of all the target must be
    reached with every seed."""
    reached = [row["gradients_to_target"] for row in rows if row["gradients_to_target"] is not None]
    if not reached:
        return (len(rows), 0.0)
    return (len(rows) - len(reached), statistics.mean(reached))


def best_rate(scores):
    """The step size with the best score; of equals the smaller. `scores` is by step size."""
    return min(sorted(scores), key=lambda rate: scores[rate])


def wider(scores):
    """The step sizes to try next: one beyond the edge that the best lies on; none if it lies
    within."""
    rates = sorted(scores)
    best = best_rate(scores)
    found = []
    if best == rates[0]:
        found.append(rates[0] / 2)
    if best == rates[-1]:
        found.append(rates[-1] * 2)
    return found


class Grid:
    """Runs cells, `machine.jobs` at a time, and remembers them in `runs`."""

    def __init__(self, machine, runs, say=print):
        self._machine = machine
        self._runs = runs
        self._say = say

    def rows(self, cells):
        """The rows of all cells that could be run so that they count."""
        with concurrent.futures.ThreadPoolExecutor(self._machine.jobs) as pool:
            rows = list(pool.map(lambda cell: self._machine.run(cell, self._runs), cells))
        return [row for row in rows if row and row["status"] == "ok"]

    def tune(self, schemes, base, start):
        """The best step size of each scheme at `base`, which is a cell. All begin with the step
        sizes of `start`; where the best lies on the edge the grid is widened. Returns the best by
        scheme, and the schemes whose best still lies on an edge."""
        wanted = {scheme: list(start) for scheme in schemes}
        scores = {scheme: {} for scheme in schemes}
        for _ in range(MOST_WIDENINGS):
            cells = [dataclasses.replace(base, mode=scheme.mode, rule=scheme.rule,
                                         warm_up=scheme.warm_up, rate=rate, seed=seed)
                     for scheme, rates in wanted.items() for rate in rates
                     for seed in TUNING_SEEDS]
            rows = self.rows(cells)
            for scheme, rates in wanted.items():
                for rate in rates:
                    scores[scheme][rate] = score([row for row in rows if of(row, scheme)
                                                  and row["rate"] == rate])
            wanted = {scheme: wider(scores[scheme]) for scheme in schemes}
            wanted = {scheme: rates for scheme, rates in wanted.items() if rates}
            if not wanted:
                break
        return {scheme: best_rate(scores[scheme]) for scheme in schemes}, list(wanted)

    def measure(self, schemes, base, rates, seeds):
        """Runs each scheme with each of its `rates` (by scheme) and seeds."""
        return self.rows([dataclasses.replace(base, mode=scheme.mode, rule=scheme.rule,
                                              warm_up=scheme.warm_up, rate=rate, seed=seed)
                          for seed in seeds for scheme in schemes for rate in rates[scheme]])

    def both_protocols(self, schemes, base, slows, seeds, start):
        """Tunes and measures a task, without a straggler first; the one shared step size is that
        which is best for sync without a straggler."""
        even = dataclasses.replace(base, slow=1)
        tuned, edges = self.tune(schemes, even, start)
        shared = tuned[Scheme("sync")]
        for slow in slows:
            here = dataclasses.replace(base, slow=slow)
            best = dict(tuned)
            if slow != 1:
                others = [scheme for scheme in schemes if scheme.mode not in ROUNDS + ("bounded",)]
                found, more = self.tune(others, here, start) if others else ({}, [])
                best.update(found)
                edges += more
            common = [shared] + [times * shared for times in AGGRESSIVE]
            rates = {scheme: sorted({best[scheme], *common}) for scheme in schemes}
            if slow != 1:  # With the others they would take long to tell what is known.
                rates.update({scheme: sorted({best[scheme], shared}) for scheme in schemes
                              if scheme.mode in ROUNDS})
            self.measure(schemes, here, rates, seeds)
            for scheme in schemes:
                note = " (on the edge of the grid)" if scheme in edges else ""
                self._say(f"{base.task} slow={slow:g} {scheme}: tuned {best[scheme]:g}{note}, "
                          f"shared {shared:g}")


def of(row, scheme):
    """True if the row is of a run of the scheme."""
    return (row["mode"], row["rule"], row["warm_up"]) == (scheme.mode, scheme.rule, scheme.warm_up)
