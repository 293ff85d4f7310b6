# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos hosts`: jobs over ssh whose servers are standbys for each other on
different hosts, and lose these hosts: the launcher's agent there is killed, or all its links go
silent at once. Checks that all workers continue with right values, and measures the stalls."""

import contextlib
import dataclasses
import json
import os
import random
import signal
import tempfile
import threading
import time

import cluster
import hosts
from again import TOLD, at, in_short, told_after

REPLICATING = cluster.BUILD / "tests" / "replicating"
PATIENCE = 60.0
PLACES = ("a", "b", "c")  # A primary each, and a standby for another.
HAS_ALL = r"server \d+ has all that server \d+ has"
KINDS = ("agent", "power")


@dataclasses.dataclass
class Losses:
    """Of all jobs: seconds from a loss until every worker has ended a step started since."""
    faults: int = 0
    hangs: int = 0
    wrong: int = 0
    agent: list = dataclasses.field(default_factory=list)
    power: list = dataclasses.field(default_factory=list)
    detected: list = dataclasses.field(default_factory=list)  # Until it was reported.

    def fine(self):
        return not (self.hangs or self.wrong)


class HostsLost(hosts.FarTest):
    """Jobs of two workers on a separate host; servers are on the others."""

    names = ("work", *PLACES)
    lab = None

    @classmethod
    def setUpClass(cls):
        cls.lab = hosts.Lab(cls.names)
        cls.addClassCleanup(cls.lab.close)

    def begin(self, *arguments, **variables):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        servers = f"{folder.name}/servers"
        with open(servers, "w", encoding="ascii") as file:
            file.writelines(f"{name}\n" for name in PLACES)
        job = self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh,
                              "-H", "work:2", "--server-hostfile", servers, "--replicas", 2,
                              "--restarts", 100, "--", REPLICATING, *arguments], **variables)
        job.expect(r"\[worker 0\] step=", PATIENCE)
        return job

    def agent_with(self, member):
        """The agent that started this member."""
        pid = self.members()[member]
        return next(agent for agent in hosts.agents() if pid in cluster.children_of(agent))

    def lose(self, job, name, kind, power):
        """Injects the loss of this host; returns the number of lines before, and the time."""
        server = f"server {PLACES.index(name)}"
        since, struck = len(job.lines), time.monotonic()
        if kind == "agent":
            cluster.strike([self.agent_with(server)], signal.SIGKILL)
        else:
            self.lose_host_of(job, server, name, power)
        return since, struck

    def lose_host_of(self, job, member, name, power):
        """Silences the host of this name, on which this member runs. Returns the number of lines
        before."""
        agent = self.agent_with(member)
        below = [agent, *cluster.children_of(agent)]
        since = len(job.lines)
        power.enter_context(self.lab.without_power(name, below))
        power.callback(self.let_go, below)
        return since

    def let_go(self, pids):
        """Resumes the stopped processes, which find their launcher gone."""
        cluster.kill(pids)

    def goes_on(self, job, since):
        """Waits until all workers have ended a step that was started after these lines."""
        for worker in range(2):
            job.expect(rf"\[worker {worker}\] step=", PATIENCE, count=2, since=since)

    def replaced(self, job, since):
        """Both servers of that host have new standbys that are in sync."""
        job.expect(HAS_ALL, PATIENCE, count=2, since=since)


class Campaign(HostsLost):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    def one(self, dice, faults, totals):
        job = self.begin("--steps", 10**9, "--say_every", 2, "--elements",
                         dice.choice((100, 30_000)))
        try:
            with contextlib.ExitStack() as power:
                for name in dice.sample(PLACES, faults):
                    threading.Event().wait(dice.random())  # At a random moment.
                    kind = dice.choice(KINDS)
                    since, struck = self.lose(job, name, kind, power)
                    totals.faults += 1
                    job.expect(TOLD.pattern, PATIENCE, since=since)
                    self.goes_on(job, len(job.lines))
                    getattr(totals, kind).append(time.monotonic() - struck)
                    totals.detected.append(told_after(job, since, struck))
                    self.replaced(job, since)
                self.kill_all(job)
        finally:
            totals.wrong += "WRONG" in job.output()


def run(faults, seed):
    """Injects this number of faults, two a job: a third would put both replicas on one host."""
    totals = Losses()
    Campaign.setUpClass()
    try:
        for number in range(-(-faults // 2)):
            test = Campaign()
            test.setUp()
            try:
                test.one(random.Random(f"{seed}.{number}"), min(2, faults - 2 * number), totals)
            except AssertionError as error:
                totals.hangs += 1
                print(f"job {number}: {in_short(error)}", flush=True)
            finally:
                test.doCleanups()
    finally:
        Campaign.doClassCleanups()
    return totals


def campaign(options):
    """Prints the results; returns the exit status."""
    totals = run(options.faults, options.seed)
    result = {"faults": totals.faults, "hangs": totals.hangs, "wrong": totals.wrong}
    for kind in KINDS:
        times = getattr(totals, kind)
        result[f"{kind}_faults"] = len(times)
        result |= {f"{kind}_p50_s": at(times, 0.5), f"{kind}_p99_s": at(times, 0.99)}
    result["detected_p99_s"] = at([told for told in totals.detected if told is not None], 0.99)
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
