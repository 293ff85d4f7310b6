# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs whose workers are killed one after another, for `tools/reliability`: the time until
the loss is reported, and until all others continue."""

import os
import random
import signal
import tempfile
import threading
import time

import cluster
import returns
from again import TOLD, in_short, told_after

LOSING = cluster.BUILD / "tests" / "losing"
WORKERS = 5  # The most that the program can tell apart; one is left.
PATIENCE = 60.0
ROUND = r"\[{}\] round (\d+)$"


class ElasticLosses(cluster.ClusterTest):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    def strike(self, job, victim, others, totals):
        members = job.members()
        since, struck = len(job.lines), time.monotonic()
        os.kill(members[victim], signal.SIGKILL)
        totals.faults += 1
        job.expect(TOLD.pattern, PATIENCE, since=since)
        told = len(job.lines)
        for name in others:  # The first line may be of a round that had been done.
            job.expect(ROUND.format(name), PATIENCE, count=2, since=told)
        totals.killed.append(time.monotonic() - struck)
        job.expect(rf"{victim} .*; the job goes on without it", PATIENCE, since=since)
        totals.detected.append(told_after(job, since, struck))

    def one(self, number, faults, totals):
        dice = random.Random(number)
        with tempfile.TemporaryDirectory() as folder:
            job = self.launch(LOSING, "--until", f"{folder}/until", "--elements",
                              dice.choice((100, 30_000, 300_000)), workers=f"1:{WORKERS}",
                              servers=dice.randrange(1, 3),
                              STRETTO_TRANSPORT=dice.choice(("auto", "tcp")))
            left = [f"worker {rank}" for rank in range(WORKERS)]
            for name in left:
                job.expect(ROUND.format(name), PATIENCE)
            try:
                for _ in range(faults):
                    threading.Event().wait(dice.random() / 2)  # At a random moment.
                    victim = left.pop(dice.randrange(len(left)))
                    self.strike(job, victim, left, totals)
            finally:
                if "wrong:" in job.output():
                    totals.wrong += 1
            self.kill_all(job)


def run(faults, seed):
    """Injects this number of losses, in jobs with as many as one can bear."""
    totals = returns.Standstills()
    for number in range(-(-faults // (WORKERS - 1))):
        test = ElasticLosses()
        test.setUp()
        try:
            here = min(WORKERS - 1, faults - number * (WORKERS - 1))
            test.one(f"{seed}.{number}", here, totals)
        except AssertionError as error:
            totals.hangs += 1
            print(f"job {number}: {in_short(error)}", flush=True)
        finally:
            test.doCleanups()
    return totals
