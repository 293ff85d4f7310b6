#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown of the runs that converge.py made: tables.py DIR/runs.csv

Every number is of the seeds that no step size was chosen with. A run that does not count is not in
any of them; how many those are is said at the end.
"""

import collections
import math
import statistics
import sys

import cells
import protocol

NEVER = math.inf


class Results:
    """The runs of a file that count, and the step sizes that follow from them."""

    def __init__(self, pairs):
        self.statuses = collections.Counter(row["status"] for _, row in pairs)
        self.rows = [row for _, row in pairs if row["status"] == "ok"]
        self._rates = {}

    def places(self):
        """(task, slow) that there are runs of."""
        return sorted({(row["task"], row["slow"]) for row in self.rows})

    def schemes(self, task, slow):
        """Those with runs that are told, by mode, and then as in the file."""
        found = [protocol.Scheme(row["mode"], row["rule"], row["warm_up"])
                 for row in self.of(task, slow) if row["seed"] not in protocol.TUNING_SEEDS]
        return sorted(dict.fromkeys(found), key=lambda scheme: protocol.ORDER.index(scheme.mode))

    def of(self, task, slow, scheme=None, rate=None):
        """The rows of all that is given."""
        return [row for row in self.rows if row["task"] == task and row["slow"] == slow
                and (scheme is None or protocol.of(row, scheme))
                and (rate is None or row["rate"] == rate)]

    def told(self, task, slow, scheme, rate):
        """The same without the seeds for choosing, one a seed."""
        rows = self.of(task, slow, scheme, rate)
        by_seed = {row["seed"]: row for row in rows if row["seed"] not in protocol.TUNING_SEEDS}
        return [by_seed[seed] for seed in sorted(by_seed)]

    def scores(self, task, slow, scheme):
        """By step size, with the seeds for choosing."""
        found = collections.defaultdict(list)
        for row in self.of(task, slow, scheme):
            if row["seed"] in protocol.TUNING_SEEDS:
                found[row["rate"]].append(row)
        return {rate: protocol.score(rows) for rate, rows in found.items()}

    def tuned(self, task, slow, scheme):
        """The scheme's own best step size, and whether it lies on the edge of the grid. None where
        it was not looked for."""
        if scheme.mode in protocol.ROUNDS + ("bounded",):
            slow = 1
        scores = self.scores(task, slow, scheme)
        if not scores:
            return None, False
        return protocol.best_rate(scores), bool(protocol.wider(scores))

    def shared(self, task):
        """The one step size for all."""
        return self.tuned(task, 1, protocol.Scheme("sync"))[0]


def spread(numbers, digits):
    """`median (least to most)`. What was never reached counts as more than all, and then there is
    also said how many did."""
    if not numbers:
        return ""
    middle = statistics.median_low(sorted(numbers))

    def word(number):
        return "–" if number == NEVER else f"{number:.{digits}f}"

    done = sum(number != NEVER for number in numbers)
    if done == 0:
        return f"0/{len(numbers)}"
    said = f"{word(middle)} ({word(min(numbers))} to {word(max(numbers))})"
    return said if done == len(numbers) else f"{done}/{len(numbers)}: {said}"


def reached(rows, name):
    """Numbers of gradients or seconds; NEVER where the target was not reached."""
    return [NEVER if row[name] is None else row[name] for row in rows]


def line(results, task, slow, scheme):
    """One row of a table."""
    own, edge = results.tuned(task, slow, scheme)
    rows = results.told(task, slow, scheme, own)
    accuracies = [row["final_accuracy"] for row in rows]
    end = "" if len(rows) < 2 else (f"{statistics.mean(accuracies):.3f} ± "
                                    f"{statistics.stdev(accuracies):.3f}")
    words = [str(scheme), f"{own:g}{'*' if edge else ''}",
             spread(reached(rows, "gradients_to_target"), 0),
             spread(reached(rows, "seconds_to_target"), 2), end]
    for times in (1, *protocol.AGGRESSIVE):
        common = results.told(task, slow, scheme, times * results.shared(task))
        words.append(spread(reached(common, "gradients_to_target"), 0))
    return f"| {' | '.join(words)} |"


def table(results, task, slow):
    """All schemes of one place: each with its own step size, and all with the shared one, and with
    that some times."""
    shared = results.shared(task)
    heads = ["scheme", "own step size", "gradients", "seconds", "accuracy at the end"]
    heads += [f"gradients with {times * shared:g}" for times in (1, *protocol.AGGRESSIVE)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [line(results, task, slow, scheme) for scheme in results.schemes(task, slow)
              if results.tuned(task, slow, scheme)[0]]
    return "\n".join(lines)


def healthy(results):
    """Steps a second of the workers beside the straggler."""
    lines = ["| task | slow | scheme | healthy steps/s, median (least to most) | "
             "of those without |", "|---|---|---|---|---|"]
    for task, slow in results.places():
        for scheme in results.schemes(task, slow):
            rates = [row["healthy_steps_per_s"] for row in results.of(task, slow, scheme)]
            even = [row["healthy_steps_per_s"] for row in results.of(task, 1, scheme)]
            if slow == 1 or not rates or not even:
                continue
            share = statistics.median(rates) / statistics.median(even)
            lines.append(f"| {task} | {slow:g} | {scheme} | {spread(rates, 1)} | {share:.3f} |")
    return "\n".join(lines)


def against_sync(results):
    """What rounds that are used late cost at the end, seed by seed."""
    lines = ["| task | slow | scheme | step size | seeds | accuracy at the end, minus that of sync "
             "with the same seed: mean ± standard error |", "|---|---|---|---|---|---|"]
    for task, slow in results.places():
        for rate in sorted({row["rate"] for row in results.of(task, slow)}):
            theirs = results.told(task, slow, protocol.Scheme("sync"), rate)
            sync = {row["seed"]: row["final_accuracy"] for row in theirs}
            for scheme in (s for s in results.schemes(task, slow) if s.mode == "eager"):
                found = [row["final_accuracy"] - sync[row["seed"]]
                         for row in results.told(task, slow, scheme, rate) if row["seed"] in sync]
                if len(found) > 1:
                    error = statistics.stdev(found) / math.sqrt(len(found))
                    lines.append(f"| {task} | {slow:g} | {scheme} | {rate:g} | {len(found)} | "
                                 f"{statistics.mean(found):+.4f} ± {error:.4f} |")
    return "\n".join(lines)


def main(words):
    """Prints all tables of the file."""
    if len(words) != 1:
        raise SystemExit("usage: tables.py DIR/runs.csv")
    results = Results(cells.read_runs(words[0]))
    for task, slow in results.places():
        if results.shared(task) is None:
            continue
        print(f"\n## {task}, " + (f"one worker {slow:g}x slower" if slow > 1 else "no straggler"))
        print()
        print(table(results, task, slow))
    print("\n## Steps of healthy workers\n")
    print(healthy(results))
    print("\n## Eager rounds against sync\n")
    print(against_sync(results))
    print("\nRuns: " + ", ".join(f"{count} {status}" for status, count in
                                 sorted(results.statuses.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
