# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos again`: jobs with checkpoints and restarts (--restarts
--checkpoint), of which any processes are killed or stopped at random moments, also during a
checkpoint. Checks that each job restarts from a complete checkpoint, and ends bit-identical to an
undisturbed job."""

import dataclasses
import json
import pathlib
import random
import re
import signal
import tempfile
import threading
import time

import cluster

KEEPING = cluster.BUILD / "tests" / "keeping"
PATIENCE = 60.0
FROM = r"\[worker 0\] from checkpoint=\d+ step=(\d+)$"
SAVED = r"\[worker 0\] checkpoint step=(\d+)$"
DEAD_AFTER = 2.0
TOLD = re.compile(r"\[(launcher|scheduler)\] .*( (is|was) lost|killed by| sent SIGKILL)")


@dataclasses.dataclass
class Totals:
    """Totals of all jobs."""
    faults: int = 0
    attempts: int = 0
    hangs: int = 0
    gone_back: int = 0  # Beyond the last reported checkpoint.
    wrong_bits: int = 0
    killed: list = dataclasses.field(default_factory=list)  # Seconds until the restart.
    stopped: list = dataclasses.field(default_factory=list)
    detected: list = dataclasses.field(default_factory=list)  # Until it was reported.

    def fine(self):
        return not (self.hangs or self.gone_back or self.wrong_bits)


@dataclasses.dataclass(frozen=True)
class Chances:
    """Probabilities of the kinds of faults."""
    stops: float = 0.15  # SIGSTOP, instead of SIGKILL.
    several: float = 0.25  # Two at once.
    servers: bool = True  # Servers restart alone.
    scheduler: bool = True


def told_after(job, since, struck):
    """Seconds from `struck`, at line `since`, until the scheduler or the launcher had reported a
    loss."""
    return next((when - struck for line, when in zip(job.lines[since:], job.times[since:])
                 if TOLD.match(line)), None)


def in_short(error):
    """The output of a hanging job, without its many steps."""
    lines = [line for line in str(error).splitlines()
             if not re.search(r"\] (step=|round |checkpoint step=)", line)]
    return "\n".join([lines[0], *lines[1:][-40:]])


def at(values, share):
    """The quantile of the values for this share."""
    return round(sorted(values)[min(int(len(values) * share), len(values) - 1)], 3) \
        if values else None


class Again(cluster.ClusterTest):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    def start_job(self, folder, servers, workers, *arguments, restarts=0, **variables):
        flags = ("--checkpoint", folder, *(("--restarts", restarts) if restarts else ()))
        return self.launch(KEEPING, *arguments, workers=workers, servers=servers, flags=flags,
                           **variables)

    def strike(self, job, dice, totals, chances=Chances()):
        """Injects a fault; returns how long the restart of the job took."""
        members = job.members()
        others = sorted(members.keys() - {"scheduler"})  # It restarts alone.
        victims = dice.sample(others, 2 if dice.random() < chances.several else 1)
        stops = dice.random() < chances.stops
        told = [int(found[1]) for found in map(re.compile(SAVED).search, job.lines) if found]
        since, struck = len(job.lines), time.monotonic()
        cluster.strike([members[victim] for victim in victims],
                       signal.SIGSTOP if stops else signal.SIGKILL)
        totals.faults += 1
        found = job.expect(FROM, PATIENCE, since=since)
        (totals.stopped if stops else totals.killed).append(time.monotonic() - struck)
        totals.detected.append(told_after(job, since, struck))
        totals.attempts += 1
        if told and int(found[1]) < told[-1]:
            totals.gone_back += 1
            print(f"{victims}: told of step {told[-1]}, went on from {found[1]}", flush=True)

    def one(self, number, faults, totals, chances):
        dice = random.Random(number)
        servers, workers = dice.randrange(1, 4), dice.randrange(1, 4)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "run"
            job = self.start_job(folder, servers, workers, "--steps", 10**9, "--every",
                                 dice.choice((1, 5, 20)), restarts=1000,
                                 STRETTO_DEAD_AFTER_S=DEAD_AFTER)
            job.expect(FROM, PATIENCE)
            for _ in range(faults):
                threading.Event().wait(dice.random())  # At a random moment.
                self.strike(job, dice, totals, chances)
            self.kill_all(job)
            last = self.start_job(folder, dice.randrange(1, 4), workers, "--steps", 10**9,
                                  "--every", 1)
            steps = int(last.expect(FROM, PATIENCE)[1]) + 50
            self.kill_all(last)
            ends = [self.start_job(folder, servers, workers, "--steps", steps, "--every", 0),
                    self.launch(KEEPING, "--steps", steps, "--every", 0, workers=workers,
                                servers=servers)]
            digests = {line.split("digest=")[1] for end in ends if end.end(PATIENCE * 5) == 0
                       for line in end.lines if "digest=" in line}
            if len(digests) != 1:
                totals.wrong_bits += 1
                print(f"job {number}: {digests}", flush=True)


def run(faults, seed, faults_a_job=8, chances=Chances()):
    """Injects this number of faults, in jobs of `faults_a_job` each."""
    totals = Totals()
    for number in range(-(-faults // faults_a_job)):
        test = Again()
        test.setUp()
        try:
            here = min(faults_a_job, faults - number * faults_a_job)
            test.one(f"{seed}.{number}", here, totals, chances)
        except AssertionError as error:
            totals.hangs += 1
            print(f"job {number}: {in_short(error)}", flush=True)
        finally:
            test.doCleanups()
    return totals


def campaign(options):
    """Prints the results; returns the exit status."""
    totals = run(options.faults, options.seed)
    result = {"faults": totals.faults, "attempts": totals.attempts, "hangs": totals.hangs,
              "gone_back": totals.gone_back, "wrong_bits": totals.wrong_bits,
              "killed_p50_s": at(totals.killed, 0.5), "killed_p99_s": at(totals.killed, 0.99),
              "stopped_p50_s": at(totals.stopped, 0.5), "stopped_p99_s": at(totals.stopped, 0.99)}
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
