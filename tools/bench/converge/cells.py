# SPDX-License-Identifier: Apache-2.0
"""One run of stretto-converge in a job of real processes, and the file of all runs, which is also
what a grid that was cut off goes on from.
"""

import csv
import dataclasses
import json
import os
import pathlib
import subprocess
import threading

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
        """What starts it, with the programs in `folder`."""
        words = [str(folder / "stretto-launch"), "--workers", str(self.workers), "--servers",
                 str(self.servers), "--", str(folder / "stretto-converge")]
        for name in SETTINGS:
            if name not in ("workers", "servers"):
                words += [f"--{name}", str(getattr(self, name))]
        return words


def _middle(numbers):
    """The mean; of none, or if one is missing: None."""
    if not numbers or None in numbers:
        return None
    return sum(numbers) / len(numbers)


def results_of(told):
    """The columns of RESULTS from a run's line of JSON. The last worker is the slow one."""
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
    """`ok`, or why a run does not count: the processors had too much to do, by this job or by
    whatever else ran, or steps took longer than they should."""
    if found["machine_cpu"] > most_cpu:
        return "busy"
    if found["late_ms"] > most_late * cell.step_ms:
        return "late"
    return "ok"


class Runs:
    """The runs that there are, in DIR/runs.csv; the curves of those that count are in
    DIR/curves.jsonl."""

    def __init__(self, folder):
        self._lock = threading.Lock()
        self._rows = {}
        self._tries = {}  # Of this time; what failed yesterday may go well today.
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
        """The run's row, None if there is none that counts."""
        with self._lock:
            return self._rows.get(cell)

    def wanted(self, cell):
        """True if it has to be run, again or for the first time."""
        with self._lock:
            return cell not in self._rows and self._tries.get(cell, 0) < MOST_TRIES

    def add(self, cell, row, curve):
        """Appends a run, whether it counts or not."""
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
    """(Cell, row) of each line of a file of runs; numbers are numbers, what is missing None."""
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
    """Where runs are made, and what makes one not count."""
    programs: pathlib.Path
    jobs: int = 1
    most_cpu: float = 0.7
    most_late: float = 0.1

    def run(self, cell, runs):
        """Runs the cell, until it counts or has been tried often enough; returns its last row."""
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
