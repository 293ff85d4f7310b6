# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos returns`: jobs of fixed size whose servers and scheduler are killed
or stopped at any moment, one or several at once, and come back alone; whether all workers go on,
with every element of every sum right, and how long they stand still. Workers meet at barriers and
declare tensors on their way."""

import dataclasses
import json
import os
import random
import re
import signal
import threading
import time

import cluster
from again import at

RETURNING = cluster.BUILD / "tests" / "returning"
PATIENCE = 60.0
DEAD_AFTER = 2.0
ALL_CAME = "all members have come again, or are lost"


@dataclasses.dataclass
class Standstills:
    """Of all jobs: seconds from a fault until every worker has ended a step begun since."""
    faults: int = 0
    hangs: int = 0
    wrong: int = 0
    killed: list = dataclasses.field(default_factory=list)
    stopped: list = dataclasses.field(default_factory=list)
    scheduler_killed: list = dataclasses.field(default_factory=list)  # Until all had come again.
    scheduler_stopped: list = dataclasses.field(default_factory=list)

    def fine(self):
        return not (self.hangs or self.wrong)


class Returns(cluster.ClusterTest):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    def strike(self, job, workers, dice, totals):
        """One fault, and how long it held the workers up."""
        members = job.members()
        may_return = sorted(name for name in members if not name.startswith("worker"))
        several = dice.random() < 0.25
        victims = dice.sample(may_return, 2 if several else 1)
        stops = dice.random() < 0.15
        back = rf"\[launcher\] {victims[0]} .* another is started in its place"
        before = sum(1 for line in list(job.lines) if re.search(back, line))
        came = sum(1 for line in list(job.lines) if ALL_CAME in line)
        struck = time.monotonic()
        for victim in victims:
            os.kill(members[victim], signal.SIGSTOP if stops else signal.SIGKILL)
        totals.faults += 1
        job.expect(back, PATIENCE, count=before + 1)
        if "scheduler" in victims:
            job.expect(ALL_CAME, PATIENCE, count=came + 1)
            (totals.scheduler_stopped if stops else totals.scheduler_killed).append(
                time.monotonic() - struck)
        for worker in range(workers):  # The first line may be of a step that had been done.
            step = rf"\[worker {worker}\] step="
            begun = sum(1 for line in job.lines if re.search(step, line))
            job.expect(step, PATIENCE, count=begun + 2)
        if "scheduler" not in victims:
            (totals.stopped if stops else totals.killed).append(time.monotonic() - struck)

    def one(self, number, faults, totals):
        dice = random.Random(number)
        servers, workers = dice.randrange(1, 4), dice.randrange(1, 4)
        job = self.launch(RETURNING, "--steps", 10**9, "--say_every", 2, "--meet_every", 5,
                          "--elements", dice.choice((100, 30_000, 300_000)), workers=workers,
                          servers=servers, flags=("--restarts", 1000),
                          STRETTO_DEAD_AFTER_S=DEAD_AFTER,
                          STRETTO_TRANSPORT=dice.choice(("auto", "zmq")))
        job.expect(r"\[worker 0\] step=", PATIENCE)
        try:
            for _ in range(faults):
                threading.Event().wait(dice.random() / 2)  # At any moment.
                self.strike(job, workers, dice, totals)
        finally:
            if "WRONG" in job.output():
                totals.wrong += 1
        self.kill_all(job)


def run(faults, seed, faults_a_job=8):
    """So many faults, in jobs of so many each."""
    totals = Standstills()
    for number in range(-(-faults // faults_a_job)):
        test = Returns()
        test.setUp()
        try:
            test.one(f"{seed}.{number}", faults_a_job, totals)
        except AssertionError as error:
            totals.hangs += 1
            print(f"job {number}: {error}", flush=True)
        finally:
            test.doCleanups()
    return totals


def campaign(options):
    """Prints what happened; the exit status."""
    totals = run(options.faults, options.seed)
    result = {"faults": totals.faults, "hangs": totals.hangs, "wrong": totals.wrong,
              "killed_p50_s": at(totals.killed, 0.5), "killed_p99_s": at(totals.killed, 0.99),
              "stopped_p50_s": at(totals.stopped, 0.5), "stopped_p99_s": at(totals.stopped, 0.99)}
    for name in ("scheduler_killed", "scheduler_stopped"):
        for share in (0.5, 0.99):
            result[f"{name}_p{share * 100:.0f}_s"] = at(getattr(totals, name), share)
        result[f"{name}_faults"] = len(getattr(totals, name))
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
