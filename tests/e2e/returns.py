# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos returns`: jobs of fixed size whose servers and scheduler are killed
or stopped at random moments, one or several at once, and restart alone, or whose servers have
standbys. Checks that all workers continue, with every element of every sum right, and measures the
stalls. Workers meet at barriers and declare tensors during the run."""

import dataclasses
import json
import random
import signal
import threading
import time

import cluster
from again import TOLD, Chances, at, in_short, told_after

RETURNING = cluster.BUILD / "tests" / "returning"
REPLICATING = cluster.BUILD / "tests" / "replicating"
PATIENCE = 60.0
DEAD_AFTER = 2.0
ALL_CAME = "all members have come again, or are lost"


@dataclasses.dataclass
class Standstills:
    """Of all jobs: seconds from a fault until every worker has ended a step started since."""
    faults: int = 0
    hangs: int = 0
    wrong: int = 0
    killed: list = dataclasses.field(default_factory=list)
    stopped: list = dataclasses.field(default_factory=list)
    scheduler_killed: list = dataclasses.field(default_factory=list)  # Until all had re-registered.
    scheduler_stopped: list = dataclasses.field(default_factory=list)
    with_scheduler: list = dataclasses.field(default_factory=list)  # Killed: until steps continue.
    detected: list = dataclasses.field(default_factory=list)  # Until it was reported.

    def fine(self):
        return not (self.hangs or self.wrong)


class Returns(cluster.ClusterTest):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    def strike(self, job, workers, victims, stops, totals):
        """Injects a fault, and measures the workers' stall. Returns the number of lines before."""
        members = job.members()
        since, struck = len(job.lines), time.monotonic()
        cluster.strike([members[victim] for victim in victims],
                       signal.SIGSTOP if stops else signal.SIGKILL)
        totals.faults += 1
        job.expect(TOLD.pattern, PATIENCE, since=since)
        if "scheduler" in victims:
            job.expect(ALL_CAME, PATIENCE, since=since)
            (totals.scheduler_stopped if stops else totals.scheduler_killed).append(
                time.monotonic() - struck)
        told = len(job.lines)
        for worker in range(workers):  # The first line may be of a step that had been done.
            job.expect(rf"\[worker {worker}\] step=", PATIENCE, count=2, since=told)
        took = time.monotonic() - struck
        if "scheduler" not in victims:
            (totals.stopped if stops else totals.killed).append(took)
        elif len(victims) > 1 and not stops:
            totals.with_scheduler.append(took)
        for victim in victims:
            back = rf"\[launcher\] {victim} .* another is started in its place"
            job.expect(back, PATIENCE, since=since)
        totals.detected.append(told_after(job, since, struck))
        return since

    def begin(self, dice, servers, workers, replicas):
        """A job, of sums or, with standbys, of all state that servers can keep."""
        elements = dice.choice((100, 30_000, 300_000) if replicas == 1 else (100, 30_000))
        every = 20 if elements == 100 else 2  # Fewer than thousands of lines a second.
        program = ((RETURNING, "--meet_every", 5) if replicas == 1 else (REPLICATING,))
        job = self.launch(*program, "--steps", 10**9, "--say_every", every, "--elements", elements,
                          workers=workers, servers=servers,
                          flags=("--restarts", 1000, "--replicas", replicas),
                          STRETTO_DEAD_AFTER_S=DEAD_AFTER,
                          STRETTO_TRANSPORT=dice.choice(("auto", "tcp")))
        job.expect(r"\[worker 0\] step=", PATIENCE)
        return job

    def one(self, number, faults, totals, chances, replicas):
        dice = random.Random(number)
        servers, workers = dice.randrange(1, 4), dice.randrange(1, 4)
        job = self.begin(dice, servers, workers, replicas)
        serving = list(range(servers))  # The primary's number, by server rank.
        started = {}  # Servers that are no standbys yet, and the line since which they are awaited.
        try:
            for _ in range(faults):
                threading.Event().wait(dice.random() / 2)  # At a random moment.
                victims = [f"server {number}" for number in serving] * chances.servers
                victims += ["scheduler"] * chances.scheduler
                several = dice.random() < chances.several
                victims = dice.sample(victims, min(len(victims), 2 if several else 1))
                if victims != ["scheduler"]:  # It may be lost while standbys start.
                    for name, since in started.items():
                        job.expect(rf"{name} has all that server \d+ has", PATIENCE, since=since)
                    started.clear()
                since = self.strike(job, workers, victims, dice.random() < chances.stops, totals)
                for place in range(servers * (replicas - 1)):
                    if f"server {serving[place]}" in victims:
                        started[f"server {serving[place]}"] = since
                        serving[place] = (serving[place] + servers) % (2 * servers)
        finally:
            if "WRONG" in job.output():
                totals.wrong += 1
        self.kill_all(job)


def run(faults, seed, faults_a_job=8, chances=Chances(), replicas=1):
    """Injects this number of faults, in jobs of `faults_a_job` each."""
    totals = Standstills()
    for number in range(-(-faults // faults_a_job)):
        test = Returns()
        test.setUp()
        try:
            here = min(faults_a_job, faults - number * faults_a_job)
            test.one(f"{seed}.{number}", here, totals, chances, replicas)
        except AssertionError as error:
            totals.hangs += 1
            print(f"job {number}: {in_short(error)}", flush=True)
        finally:
            test.doCleanups()
    return totals


def campaign(options):
    """Prints the results; returns the exit status."""
    totals = run(options.faults, options.seed, replicas=options.replicas)
    result = {"faults": totals.faults, "hangs": totals.hangs, "wrong": totals.wrong,
              "killed_p50_s": at(totals.killed, 0.5), "killed_p99_s": at(totals.killed, 0.99),
              "stopped_p50_s": at(totals.stopped, 0.5), "stopped_p99_s": at(totals.stopped, 0.99)}
    for name in ("scheduler_killed", "scheduler_stopped", "with_scheduler"):
        for share in (0.5, 0.99):
            result[f"{name}_p{share * 100:.0f}_s"] = at(getattr(totals, name), share)
        result[f"{name}_faults"] = len(getattr(totals, name))
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
