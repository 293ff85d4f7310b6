#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mode delayed costs in steps: several workers train a perceptron (64-32-10) on the digits, in
mode sync, in mode eager, and in mode delayed with each approximation. Every worker of a job runs
this; rank 0 adds a line for each run to the CSV, and runs that the CSV has are skipped.

  PYTHONPATH=build/python build/bin/stretto-launch -n 4 -s 2 -- \\
      python3 experiments/converge/delayed.py runs.csv --seeds 5
  python3 experiments/converge/delayed.py runs.csv --table

Accuracy is measured at rank 0 on the test digits, every 10 steps, in mode delayed with the
committed weights: after k steps these lack the k-th mean of the delayed tensors. A run ends at the
first such step that reaches the target; the table has the median of those runs, and their number.
"""

import argparse
import contextlib
import csv
import itertools
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))

import datasets  # pylint: disable=wrong-import-position
import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position

SCHEMES = {
    "sync": {},
    "eager": {"mode": "eager"},
    "none": {"mode": "delayed", "stale": "all", "approximate": "none"},
    "local": {"mode": "delayed", "stale": "all", "approximate": "local"},
    "previous": {"mode": "delayed", "stale": "all", "approximate": "previous"},
    "local_previous": {"mode": "delayed", "stale": "all", "approximate": "local_previous"},
    "local, first layer": {"mode": "delayed", "stale": 2, "approximate": "local"},
}
OPTIMIZERS = {
    "SGD": torch.optim.SGD,
    "momentum": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=0.9),
    "Adam": torch.optim.Adam,
}
RATES = {"SGD": (0.2, 0.4, 0.8), "momentum": (0.05, 0.1, 0.2), "Adam": (0.003, 0.01, 0.03)}
COLUMNS = ("optimizer", "rate", "data", "scheme", "seed", "workers", "batch", "steps", "target",
           "steps_to_target")
EVERY = 10


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=pathlib.Path, help="the CSV")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8, help="of each worker")
    parser.add_argument("--target", type=float, default=0.94)
    parser.add_argument("--data", default="alike,unlike",
                        help="alike: each worker draws from all digits; unlike: from classes of its"
                        " own")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--table", action="store_true", help="print what is there, in Markdown")
    return parser.parse_args()


def cells(arguments):
    """Yields (optimizer, rate, data, scheme, seed) of all runs."""
    for optimizer in arguments.optimizers.split(","):
        yield from itertools.product([optimizer], RATES[optimizer], arguments.data.split(","),
                                     SCHEMES, range(1, arguments.seeds + 1))


def read(path):
    """Returns the existing rows."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def reaches(model, optimizer, target, test):
    """Whether rank 0's weights reach the target; the same at all workers."""
    committed = getattr(optimizer, "committed", contextlib.nullcontext)
    right = torch.zeros(1)
    if st.rank() == 0:
        with torch.no_grad(), committed():
            right[0] = (model(test[0]).argmax(1) == test[1]).float().mean()
    return st.push_pull_(right, "right", average=False).item() >= target


def run(cell, arguments, train, test):
    """Runs one training; returns the step that reached the target, or None."""
    kind, rate, data, scheme, seed = cell
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    optimizer = st.DistributedOptimizer(OPTIMIZERS[kind](model.parameters(), lr=rate),
                                        model.named_parameters(), **SCHEMES[scheme])
    mine = torch.arange(len(train[1]))
    if data == "unlike":
        mine = mine[train[1] % st.size() == st.rank()]
    generator = torch.Generator().manual_seed(1000 * seed + st.rank())
    for step in range(1, arguments.steps + 1):
        chosen = mine[torch.randint(len(mine), (arguments.batch,), generator=generator)]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train[0][chosen]), train[1][chosen]).backward()
        optimizer.step()
        if step % EVERY == 0 and reaches(model, optimizer, arguments.target, test):
            return step
    return None


def main():
    """Runs what the CSV does not have yet."""
    arguments = parse()
    if arguments.table:
        table(read(arguments.runs))
        return
    torch.set_num_threads(1)
    st.init()
    train, test = datasets.digits()
    known = {(row["optimizer"], float(row["rate"]), row["data"], row["scheme"], int(row["seed"]))
             for row in read(arguments.runs)}
    wanted = st.broadcast_object([list(cell) for cell in cells(arguments) if cell not in known])
    if st.rank() == 0 and not arguments.runs.exists():
        arguments.runs.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for cell in wanted:
        reached = run(cell, arguments, train, test)
        if st.rank() == 0:
            with arguments.runs.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(
                    [*cell, st.size(), arguments.batch, arguments.steps, arguments.target,
                     reached or ""])
    st.shutdown()


def table(rows):
    """Prints steps to the target: the median of the seeds that reached it, and how many did not."""
    found = {}
    for row in rows:
        key = row["data"], row["optimizer"], float(row["rate"])
        found.setdefault(key, {}).setdefault(row["scheme"], []).append(row["steps_to_target"])
    print("| data | optimizer, rate | " + " | ".join(SCHEMES) + " |")
    print("|---" * (2 + len(SCHEMES)) + "|")
    for (data, optimizer, rate), schemes in sorted(found.items()):
        texts = [_cell(schemes.get(scheme, [])) for scheme in SCHEMES]
        print(f"| {data} | {optimizer} {rate:g} | " + " | ".join(texts) + " |")


def _cell(runs):
    reached = [int(steps) for steps in runs if steps]
    missing = f" ({len(reached)} of {len(runs)})" if len(reached) < len(runs) else ""
    return f"{statistics.median(reached):g}{missing}" if reached else missing.strip(" ()")


if __name__ == "__main__":
    main()
