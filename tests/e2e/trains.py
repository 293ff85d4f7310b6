# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos trains`: the PyTorch examples in jobs whose servers (and scheduler,
if restartable) are killed or stopped repeatedly while they train, compared with the same program in
an undisturbed job: the same figures in every line, the same bits in the last checkpoint; memory,
files and threads of the surviving processes must not grow."""

import dataclasses
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import cluster
from again import TOLD, at, in_short, told_after

EXAMPLES = cluster.SOURCE / "examples" / "torch"
CHECKPOINTS = cluster.BIN / "stretto-checkpoint"
PATIENCE = 120.0
PROBED = 5.0  # Seconds by which the longest probe exceeds the first one.
SECONDS = re.compile(r" seconds=\S+")  # The only figure of its last line that differs.
WARM_UP = 0.25  # Fraction of the time: caches fill.


@dataclasses.dataclass(frozen=True)
class Program:
    """An example, and its duration."""
    script: str
    length: str  # The option for its length.
    probe: int  # The length for a probe.
    told: str  # A line of rank 0 with figures.
    keeps: bool  # Makes checkpoints, also at its end. Otherwise it takes --save FILE.


PROGRAMS = {
    "digits": Program("digits.py", "--epochs", 20, r"epoch |test_accuracy", True),
    "characters": Program("characters.py", "--steps", 100, r"bits_per_character", False)}


@dataclasses.dataclass
class Sizes:
    """Of a process."""
    resident: int
    files: int
    threads: int


@dataclasses.dataclass
class Trained:
    """The results of all jobs."""
    faults: int = 0
    hangs: int = 0
    other_figures: int = 0
    other_bits: int = 0
    seconds: float = 0.0
    detected: list = dataclasses.field(default_factory=list)
    grown: dict = dataclasses.field(default_factory=dict)  # By member: the most since warming up.

    def fine(self):
        return not (self.hangs or self.other_figures or self.other_bits)


def sizes_of(pid):
    """None if the process is gone."""
    try:
        folder = pathlib.Path(f"/proc/{pid}")
        return Sizes(cluster.resident_bytes(pid), len(list((folder / "fd").iterdir())),
                     len(list((folder / "task").iterdir())))
    except OSError:
        return None


def figures_of(job, program):
    """The figures of rank 0, except the time."""
    return [SECONDS.sub("", line) for line in job.lines_of("worker 0")
            if re.match(program.told, line)]


def model_of(folder):
    """Where a program without checkpoints writes its model."""
    return pathlib.Path(folder) / "model.pt"


def saved_by(program, folder, number):
    """Its model: the newest checkpoint's tensors, as safetensors, or its own file."""
    if not program.keeps:
        return model_of(folder).read_bytes()
    file = pathlib.Path(folder) / f"saved-{number}.safetensors"
    subprocess.run([str(CHECKPOINTS), "export", str(folder), "--to", str(file)], check=True,
                   capture_output=True, timeout=PATIENCE)
    return file.read_bytes()


class Trains(cluster.ClusterTest):
    """One program, undisturbed and disturbed."""

    def runTest(self):
        """Not run as a test."""

    def environment(self, **variables):
        usual = {"PYTHONPATH": cluster.BUILD / "python", "OMP_NUM_THREADS": 1,
                 "STRETTO_RENDEZVOUS_TIMEOUT_S": int(PATIENCE)}
        return super().environment(**usual | variables)

    def begin(self, program, length, folder, flags=(), **variables):
        keeps = ("--checkpoint", folder) if program.keeps else ()
        saves = () if program.keeps else ("--save", model_of(folder))
        pathlib.Path(folder).mkdir(exist_ok=True)
        # Not also by the clock: both jobs must have the same checkpoints.
        return self.launch(sys.executable, EXAMPLES / program.script, program.length, length,
                           *saves, workers=2, servers=2, flags=(*keeps, *flags), **variables)

    def undisturbed(self, program, length, folder):
        """(Seconds, figures, bits) of an undisturbed job."""
        began = time.monotonic()
        job = self.begin(program, length, folder)
        self.assertEqual(job.end(PATIENCE + 10 * 3600), 0, job.output())
        seconds = time.monotonic() - began
        return seconds, figures_of(job, program), saved_by(program, folder, 0)

    def length_for(self, program, seconds):
        """The length that takes about `seconds`. The start-up time, which varies, is excluded."""
        took, length = [], program.probe
        while len(took) < 2 or took[-1] - took[0] < PROBED:
            with tempfile.TemporaryDirectory() as folder:
                took.append(self.undisturbed(program, length, folder)[0])
            length *= 2
        each = (took[-1] - took[0]) / (length // 2 - program.probe)
        return max(program.probe, int(seconds / each))

    def strike(self, job, victim, stops, totals):
        members = job.members()
        if victim not in members:
            return
        since, struck = len(job.lines), time.monotonic()
        cluster.strike([members[victim]], signal.SIGSTOP if stops else signal.SIGKILL)
        totals.faults += 1
        job.expect(TOLD.pattern, PATIENCE, since=since)
        totals.detected.append(told_after(job, since, struck))

    def disturbed(self, program, length, folder, options, dice, totals):
        """(Figures, bits) of the disturbed job."""
        job = self.begin(program, length, folder,
                         flags=("--replicas", 2, "--restarts", 1000),
                         STRETTO_DEAD_AFTER_S=2)
        job.expect("all are here", PATIENCE)
        began, first = time.monotonic(), {}
        pace = threading.Event()  # Never set.
        while job.running():
            pace.wait(options.every)
            if not job.running():
                break
            victim = dice.choice(options.victims)
            if victim == "server":
                victim = f"server {dice.randrange(4)}"
            try:
                self.strike(job, victim, dice.random() < options.stops, totals)
            except AssertionError:
                if job.running():
                    raise  # Otherwise it was at its end.
            if time.monotonic() - began > WARM_UP * options.minutes * 60:
                self.look(job, first, totals)
        self.assertEqual(job.end(PATIENCE), 0, job.output())
        return figures_of(job, program), saved_by(program, folder, 0)

    def look(self, job, first, totals):
        """Updates the growth of processes that exist since the first measurement."""
        watched = job.members() | {"launcher": job.pid}
        for name, pid in watched.items():
            now = sizes_of(pid)
            if now is None:
                continue
            then = first.setdefault((name, pid), now)
            grown = totals.grown.setdefault(name, Sizes(0, 0, 0))
            for what in ("resident", "files", "threads"):
                more = getattr(now, what) - getattr(then, what)
                setattr(grown, what, max(getattr(grown, what), more))

    def one(self, name, options, totals):
        """Runs a program for some minutes."""
        program = PROGRAMS[name]
        dice = random.Random(f"{options.seed}.{name}")
        length = self.length_for(program, options.minutes * 60)
        with tempfile.TemporaryDirectory() as folders:
            plain = self.undisturbed(program, length, f"{folders}/plain")
            began = time.monotonic()
            figures, bits = self.disturbed(program, length, f"{folders}/disturbed", options, dice,
                                           totals)
            took = time.monotonic() - began
        totals.seconds += took
        print(f"{name}: {program.length} {length}, undisturbed {plain[0]:.0f} s, disturbed "
              f"{took:.0f} s", flush=True)
        if figures != plain[1] or not figures:
            totals.other_figures += 1
            print(f"{name}: {plain[1][-3:]} undisturbed, {figures[-3:]} disturbed", flush=True)
        if bits != plain[2] or not bits:
            totals.other_bits += 1
            print(f"{name}: another model", flush=True)


def run(options):
    """All programs, one after another."""
    totals = Trained()
    for name in options.programs:
        test = Trains()
        test.setUp()
        try:
            test.one(name, options, totals)
        except AssertionError as error:
            totals.hangs += 1
            print(f"{name}: {in_short(error)}", flush=True)
        finally:
            test.doCleanups()
    return totals


def campaign(options):
    """Prints the results; returns the exit status."""
    totals = run(options)
    result = {"faults": totals.faults, "hangs": totals.hangs,
              "other_figures": totals.other_figures, "other_bits": totals.other_bits,
              "seconds": round(totals.seconds, 1),
              "detected_p50_s": at(totals.detected, 0.5),
              "detected_p99_s": at(totals.detected, 0.99),
              "grown": {name: f"{sizes.resident / 2**20:.1f} MiB, {sizes.files} files, "
                              f"{sizes.threads} threads"
                        for name, sizes in sorted(totals.grown.items())}}
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
