#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statistical experiments: trains small models through real processes in every mode, with and
without a straggler, and writes one line a run to DIR/runs.csv. Started again, it goes on where it
was.

  tools/bench/converge/converge.py --out DIR --tasks softmax,mlp --slow 1,6 --jobs 2
  tools/bench/converge/converge.py --out DIR --short
"""

import argparse
import pathlib
import sys

import cells
import protocol

ROOT = pathlib.Path(__file__).resolve().parents[3]
TASKS = {"softmax": 0.92, "mlp": 0.94, "conv": 0.95, "clusters": 0.93}  # And accuracies wanted.
MODES = ("sync", "eager", "bounded", "async", "eager_async")
RULES = ("constant", "inverse", "inverse_root", "relative", "compensated")
START = (0.05, 0.1, 0.2)  # Step sizes that every scheme is tried with.


def schemes_of(modes, rules, warm_up):
    """Rules count where gradients are stale; mode eager comes with and without warm-up."""
    found = []
    for mode in modes:
        if mode in protocol.STALE:
            found += [protocol.Scheme(mode, rule) for rule in rules]
        else:
            found.append(protocol.Scheme(mode))
        if mode == "eager" and warm_up > 0:
            found.append(protocol.Scheme(mode, warm_up=warm_up))
    return found


def with_underscores(name):
    """As the programs have it: "eager-async" is "eager_async"."""
    return name.replace("-", "_")


def arguments(words):
    """Of the command line."""
    def listed(kind):
        return lambda text: [kind(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "bin",
                        help="folder of stretto-launch and stretto-converge")
    parser.add_argument("--tasks", type=listed(str), default=list(TASKS))
    parser.add_argument("--modes", type=listed(with_underscores), default=list(MODES))
    parser.add_argument("--rules", type=listed(with_underscores), default=list(RULES))
    parser.add_argument("--slow", type=listed(float), default=[1.0, 3.0, 6.0],
                        help="times longer that the last worker takes")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell that is told")
    parser.add_argument("--warm_up", type=int, default=20, help="steps, for mode eager")
    parser.add_argument("--gradients", type=int, default=1200, help="of one run")
    parser.add_argument("--step_ms", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--most_cpu", type=float, default=0.7,
                        help="use of all processors, by whomever, above which a run does not count")
    parser.add_argument("--most_late", type=float, default=0.1,
                        help="of a step: mean lateness above which a run does not count")
    parser.add_argument("--rates", type=listed(float), default=[],
                        help="only these step sizes, none is looked for; each seed runs all "
                        "modes and stragglers by turns, so that a busy minute hits all alike")
    parser.add_argument("--short", action="store_true",
                        help="one small run of each mode, to see whether all works")
    found = parser.parse_args(words)
    for name, values, known in (("tasks", found.tasks, TASKS), ("modes", found.modes, MODES),
                                ("rules", found.rules, RULES)):
        unknown = [value for value in values if value not in known]
        if unknown:
            parser.error(f"--{name}: wanted some of {', '.join(known)}, found {unknown[0]}")
    if "sync" not in found.modes and not found.rates:
        parser.error("--modes: wanted sync among them, whose step size is the shared one")
    for program in ("stretto-launch", "stretto-converge"):
        if not (found.programs / program).exists():
            parser.error(f"--programs: there is no {program} in {found.programs}; build it first")
    return found


def short(grid, found):
    """One run of each mode in a second or two. Nothing is judged by it."""
    base = cells.Cell(found.tasks[0], "sync", slow=2, rate=0.1, gradients=160, step_ms=2,
                      target=0.5, workers=2, servers=1)
    schemes = schemes_of(found.modes, ["relative"], 0)
    rows = grid.measure(schemes, base, {scheme: [base.rate] for scheme in schemes}, [1])
    for row in rows:
        print(f"{row['mode']}: accuracy {row['final_accuracy']}")
    return 0 if len(rows) == len(schemes) else 1


def given_rates(grid, schemes, found):
    """Every cell with the step sizes of the command line."""
    for task in found.tasks:
        for seed in range(1, found.seeds + 1):
            for slow in found.slow:
                base = cells.Cell(task, "sync", slow=slow, gradients=found.gradients,
                                  step_ms=found.step_ms, target=TASKS[task])
                grid.measure(schemes, base, {scheme: found.rates for scheme in schemes}, [seed])


def main(words):
    """The whole grid; with --short, status 1 if a run could not be made."""
    found = arguments(words)
    runs = cells.Runs(found.out)
    machine = cells.Machine(found.programs, found.jobs, found.most_cpu, found.most_late)
    if found.short:
        machine.most_cpu = machine.most_late = float("inf")  # Whether it works, not how fast.
        return short(protocol.Grid(machine, runs), found)
    grid = protocol.Grid(machine, runs, lambda text: print(text, flush=True))
    schemes = schemes_of(found.modes, found.rules, found.warm_up)
    if found.rates:
        given_rates(grid, schemes, found)
        return 0
    for task in found.tasks:
        base = cells.Cell(task, "sync", gradients=found.gradients, step_ms=found.step_ms,
                          target=TASKS[task])
        grid.both_protocols(schemes, base, found.slow, range(1, found.seeds + 1), START)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
