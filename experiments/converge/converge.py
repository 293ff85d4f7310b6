#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small models through real processes in every mode, with and without a straggler, at every
given step size and from several seeds, and writes one line a run to DIR/runs.csv. A later start
resumes the grid.

  experiments/converge/converge.py --out DIR --tasks softmax,mlp --slow 1,6 --jobs 2
  experiments/converge/converge.py --out DIR --short
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASKS = {"softmax": 0.92, "mlp": 0.94, "conv": 0.95, "clusters": 0.93}  # With target accuracies.
MODES = ("sync", "eager", "bounded", "async", "eager_async")
STALE = ("bounded", "async", "eager_async")  # Rules count where gradients are stale.
RULES = ("constant", "inverse", "inverse_root", "relative", "compensated")
SETTINGS = ("task", "mode", "rule", "warm_up", "slow", "rate", "seed", "gradients", "batch",
            "step_ms", "jitter", "target", "workers", "servers")
RESULTS = ("gradients_to_target", "seconds_to_target", "final_accuracy", "final_loss", "seconds",
           "job_cpu", "machine_cpu", "healthy_steps_per_s", "slow_steps_per_s", "exchange_ms",
           "late_ms", "late_p99_ms", "healthy_staleness", "slow_staleness", "healthy_factor",
           "slow_factor")
COLUMNS = SETTINGS + ("jobs", "status") + RESULTS
_INTEGERS = ("warm_up", "seed", "gradients", "batch", "workers", "servers")
_WORDS = ("task", "mode", "rule")
MOST_TRIES = 3
PATIENCE_S = 300


@dataclasses.dataclass(frozen=True)
class Cell:
    """The settings of one run."""
    task: str
    mode: str
    rule: str = "constant"
    warm_up: int = 0
    slow: float = 1
    rate: float = 0.05
    seed: int = 1
    gradients: int = 1200
    batch: int = 8
    step_ms: float = 10
    jitter: float = 0.1
    target: float = 0.9
    workers: int = 4
    servers: int = 2

    def command(self, folder):
        """The command that starts the run, with the programs in `folder`."""
        words = [str(folder / "stretto-launch"), "--workers", str(self.workers), "--servers",
                 str(self.servers), "--", str(folder / "stretto-converge")]
        for name in SETTINGS:
            if name not in ("workers", "servers"):
                words += [f"--{name}", str(getattr(self, name))]
        return words


def _middle(numbers):
    """The mean; None if there are no numbers or one is missing."""
    if not numbers or None in numbers:
        return None
    return sum(numbers) / len(numbers)


def results_of(told):
    """The columns of RESULTS from a run's line of JSON. The last worker is the straggler."""
    found = {name: told[name] for name in RESULTS if name in told and name not in (
        "exchange_ms", "late_ms", "late_p99_ms")}
    for name, source in (("steps_per_s", "steps_per_s"), ("staleness", "staleness"),
                         ("factor", "factor")):
        found[f"healthy_{name}"] = _middle(told[source][:-1] or told[source])
        found[f"slow_{name}"] = told[source][-1]
    found["exchange_ms"] = _middle(told["exchange_ms"][:-1] or told["exchange_ms"])
    found["late_ms"] = max(told["late_ms"])
    found["late_p99_ms"] = max(told["late_p99_ms"])
    return found


def judge(cell, found, most_cpu, most_late):
    """`ok`, or why a run is invalid: the processors were too busy, or steps took too long."""
    if found["machine_cpu"] > most_cpu:
        return "busy"
    if found["late_ms"] > most_late * cell.step_ms:
        return "late"
    return "ok"


class Runs:
    """The runs in DIR/runs.csv; the curves of valid runs are in DIR/curves.jsonl."""

    def __init__(self, folder):
        self._lock = threading.Lock()
        self._rows = {}
        self._tries = {}  # Of this start only: a run that failed before may succeed now.
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.folder / "runs.csv"
        if self._file.exists():
            for cell, row in read_runs(self._file):
                if row["status"] == "ok":
                    self._rows[cell] = row
        else:
            self._append(self._file, ",".join(COLUMNS) + "\n")

    @staticmethod
    def _append(path, text):
        with path.open("a", encoding="utf-8") as file:
            file.write(text)

    def get(self, cell):
        """The row of a valid run, or None."""
        with self._lock:
            return self._rows.get(cell)

    def wanted(self, cell):
        """True if the cell must be run, again or for the first time."""
        with self._lock:
            return cell not in self._rows and self._tries.get(cell, 0) < MOST_TRIES

    def add(self, cell, row, curve):
        """Appends a run, valid or not."""
        line = ",".join(_word(row.get(name)) for name in COLUMNS) + "\n"
        with self._lock:
            self._tries[cell] = self._tries.get(cell, 0) + 1
            self._append(self._file, line)
            if row["status"] == "ok":
                self._rows[cell] = row
                point = {**dataclasses.asdict(cell), "curve": curve}
                self._append(self.folder / "curves.jsonl", json.dumps(point) + "\n")


def _word(value):
    return "" if value is None else str(value)


def _parsed(name, word):
    if name in _WORDS or name == "status":
        return word
    if word == "":
        return None
    return int(word) if name in _INTEGERS else float(word)


def read_runs(path):
    """(Cell, row) of each line of a file of runs; numbers are parsed, missing values are None."""
    found = []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise SystemExit(f"{path}: wanted the columns {','.join(COLUMNS)}, found "
                             f"{','.join(reader.fieldnames or ())}; move the file away")
        for words in reader:
            row = {name: _parsed(name, word) for name, word in words.items()}
            found.append((Cell(**{name: row[name] for name in SETTINGS}), row))
    return found


@dataclasses.dataclass
class Machine:
    """The machine of the runs, and the limits for valid runs."""
    programs: pathlib.Path
    jobs: int = 1
    most_cpu: float = 0.7
    most_late: float = 0.1

    def run(self, cell, runs):
        """Runs the cell until a run is valid or MOST_TRIES is reached; returns its last row."""
        row = runs.get(cell)
        while runs.wanted(cell):
            row, curve = self._try(cell)
            runs.add(cell, row, curve)
        return row

    def _try(self, cell):
        settings = {**dataclasses.asdict(cell), "jobs": self.jobs}
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("STRETTO_", "DMLC_", "BYTEPS_"))}
        done = subprocess.run(cell.command(self.programs), env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE_S)
        for line in done.stdout.splitlines():
            if done.returncode == 0 and line.startswith("[worker 0] {"):
                told = json.loads(line[len("[worker 0] "):])
                found = results_of(told)
                status = judge(cell, found, self.most_cpu, self.most_late)
                return {**settings, **found, "status": status}, told["curve"]
        if done.returncode != 0:
            print(f"{' '.join(cell.command(self.programs))}\n{done.stdout}", flush=True)
        return {**settings, "status": "failed"}, None


def cells_of(found):
    """Every cell of the grid. A seed runs with all stragglers and modes before the next seed, so
    that a busy minute affects all equally. Mode eager runs with and without warm-up."""
    for task, seed, slow, mode in itertools.product(found.tasks, range(1, found.seeds + 1),
                                                    found.slow, found.modes):
        rules = found.rules if mode in STALE else ("constant",)
        warm_ups = sorted({0, found.warm_up}) if mode == "eager" else (0,)
        for rule, warm_up, rate in itertools.product(rules, warm_ups, found.rates):
            yield Cell(task, mode, rule, warm_up, slow, rate, seed, found.gradients,
                       step_ms=found.step_ms, target=TASKS[task])


def short_cells(found):
    """A small run of each mode, of a second or two. No result depends on it."""
    return [Cell(found.tasks[0], mode, "relative" if mode in STALE else "constant", slow=2,
                 rate=0.1, gradients=160, step_ms=2, target=0.5, workers=2, servers=1)
            for mode in found.modes]


def with_underscores(name):
    """The programs' spelling: "eager-async" is "eager_async"."""
    return name.replace("-", "_")


def arguments(words):
    """Parses the command line."""
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
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell")
    parser.add_argument("--warm_up", type=int, default=20, help="steps, for mode eager")
    parser.add_argument("--gradients", type=int, default=1200, help="of one run")
    parser.add_argument("--step_ms", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--most_cpu", type=float, default=0.7,
                        help="use of all processors, by whomever, above which a run does not count")
    parser.add_argument("--most_late", type=float, default=0.1,
                        help="of a step: mean lateness above which a run does not count")
    parser.add_argument("--rates", type=listed(float), default=[0.05, 0.1, 0.2],
                        help="step sizes: what one gradient weighs")
    parser.add_argument("--short", action="store_true",
                        help="one small run of each mode, to see whether all works")
    found = parser.parse_args(words)
    for name, values, known in (("tasks", found.tasks, TASKS), ("modes", found.modes, MODES),
                                ("rules", found.rules, RULES)):
        unknown = [value for value in values if value not in known]
        if unknown:
            parser.error(f"--{name}: wanted some of {', '.join(known)}, found {unknown[0]}")
    for program in ("stretto-launch", "stretto-converge"):
        if not (found.programs / program).exists():
            parser.error(f"--programs: there is no {program} in {found.programs}; build it first")
    return found


def main(words):
    """The whole grid; status 1 if a run of the short form failed."""
    found = arguments(words)
    runs = Runs(found.out)
    machine = Machine(found.programs, found.jobs, found.most_cpu, found.most_late)
    if found.short:
        machine.most_cpu = machine.most_late = float("inf")  # Tests function, not speed.
    with concurrent.futures.ThreadPoolExecutor(found.jobs) as pool:
        rows = list(pool.map(lambda cell: machine.run(cell, runs),
                             short_cells(found) if found.short else cells_of(found)))
    counted = sum(bool(row) and row["status"] == "ok" for row in rows)
    print(f"{counted} of {len(rows)} runs count")
    return 0 if counted == len(rows) or not found.short else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
