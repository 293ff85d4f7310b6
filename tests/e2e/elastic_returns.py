# SPDX-License-Identifier: Apache-2.0
"""The campaign of `tools/chaos returns --replicas 2 --elastic`: elastic jobs whose servers have
standbys. Workers, servers and the scheduler are killed or stopped at random moments, one or some of
them at once, and the launcher starts replacements. Checks that all remaining workers continue, with
every element of every value right by a ledger (enduring.cc), and measures the stalls."""

import json
import random
import re
import signal
import tempfile
import threading
import time

import cluster
import endurance_job
import endurance_plan
import returns
from again import at, in_short

PATIENCE = 60.0
DEAD_AFTER = 2.0
CAME = r"\[worker {}\] came before round \d+$"
ALL_CAME = "all members have come again, or are lost, after"
HAS_ALL = r"server {} has all that server {} has"


class ElasticReturns(cluster.ClusterTest):
    """Jobs one after another."""

    def runTest(self):
        """Not run as a test."""

    flags = ("--restarts", 50, "--replicas", 2)
    variables = {"STRETTO_DEAD_AFTER_S": DEAD_AFTER}
    pause_ms = 0
    kinds = ("server", "server", "worker", "worker", "both", "scheduler")

    def begin(self, dice, folder):
        """A job of two or three workers, in random modes; its standbys are in sync."""
        self.folder, self.servers = folder, dice.randrange(1, 3)
        with open(f"{folder}/ledger", "wb") as ledger:
            ledger.write(bytes(endurance_job.LEDGER_BYTES))
        workers = dice.randrange(2, 4)
        modes = endurance_plan.draw_modes(dice, 0.4)
        program = ["/bin/sh", "-c", f'exec "$@" --commits {folder}/commits-$STRETTO_RANK', "-",
                   endurance_job.ENDURING, "--until", f"{folder}/until", "--ledger",
                   f"{folder}/ledger", "--modes", ",".join(modes), "--elements",
                   64 * dice.choice((10, 300, 3000)), "--pause_ms", self.pause_ms]
        job = self.launch(*program, workers=f"1:{workers}", servers=self.servers,
                          flags=self.flags, STRETTO_TRANSPORT=dice.choice(("auto", "tcp")),
                          **self.variables)
        self.came = 0  # Schedulers to which all have re-registered.
        self.workers = list(range(workers))
        self.serving = list(range(self.servers))  # The primary's number, by server rank.
        self.seen = dict.fromkeys(range(2 * self.servers), 0)  # How often each was in sync.
        for worker in self.workers:
            job.expect(rf"\[worker {worker}\] round ", PATIENCE)
        return job

    def other(self, server):
        return (server + self.servers) % (2 * self.servers)

    def await_steps(self, job, worker, struck):
        """Seconds until this worker had ended a step that it had started since."""
        while time.monotonic() - struck < PATIENCE:
            with open(f"{self.folder}/commits-{worker}", encoding="ascii") as file:
                since = [float(line) for line in file.read().split("\n")[:-1]
                         if float(line) > struck]
            if len(since) > 1:
                return since[1] - struck
            if not job.running():
                break
            threading.Event().wait(0.005)
        raise AssertionError(f"hang: worker {worker} makes no steps\n{job.output()}")

    def strike(self, job, dice, totals):
        """Injects a fault of a worker, a server, or one of each, and checks its effects."""
        kind = dice.choice(self.kinds)
        with_scheduler = kind == "scheduler" or dice.random() < 0.3
        place, lost = dice.randrange(self.servers), dice.choice(self.workers)
        stops = dice.random() < 0.15
        victims = [f"server {self.serving[place]}"] * (kind in ("server", "both"))
        victims += [f"worker {lost}"] * (kind in ("worker", "both"))
        victims += ["scheduler"] * with_scheduler
        dice.shuffle(victims)
        members, struck = job.members(), time.monotonic()
        cluster.strike([members[victim] for victim in victims],
                       signal.SIGSTOP if stops else signal.SIGKILL)
        totals.faults += 1
        if kind in ("worker", "both"):
            self.workers.remove(lost)
        took = max(self.await_steps(job, worker, struck) for worker in self.workers)
        (totals.stopped if stops else totals.killed).append(took)
        self.came += with_scheduler
        if with_scheduler:
            job.expect(ALL_CAME, PATIENCE, count=self.came)
        if kind in ("worker", "both"):
            text = job.expect(rf"worker {lost} .*; worker (\d+) is started for it", PATIENCE)
            job.expect(CAME.format(text[1]), PATIENCE)
            self.workers.append(int(text[1]))
            self.await_steps(job, int(text[1]), time.monotonic())
        if kind in ("server", "both"):
            was = self.serving[place]
            self.serving[place] = self.other(was)
            self.seen[was] += 1
            job.expect(HAS_ALL.format(was, self.other(was)), PATIENCE, count=self.seen[was])

    def one(self, number, faults, totals):
        dice = random.Random(number)
        with tempfile.TemporaryDirectory() as folder:
            job = self.begin(dice, folder)
            try:
                for _ in range(faults):
                    threading.Event().wait(dice.random() / 2)  # At a random moment.
                    self.strike(job, dice, totals)
                with open(f"{folder}/until", "w", encoding="ascii"):
                    pass
                if job.end() != 0:
                    raise AssertionError(f"the job did not end well\n{job.output()}")
            finally:
                if re.search(r"^\[worker \d+\] wrong:", job.output(), re.MULTILINE):
                    totals.wrong += 1
            self.assert_nobody_left()


def run(faults, seed, faults_a_job=8):
    """Injects this number of faults, in jobs of `faults_a_job` each."""
    totals = returns.Standstills()
    for number in range(-(-faults // faults_a_job)):
        test = ElasticReturns()
        test.setUp()
        try:
            test.one(f"{seed}.{number}", min(faults_a_job, faults - number * faults_a_job), totals)
        except AssertionError as error:
            totals.hangs += 1
            print(f"job {number}: {in_short(error)}", flush=True)
        finally:
            test.doCleanups()
    return totals


def campaign(options):
    """Prints the results; returns the exit status."""
    totals = run(options.faults, options.seed)
    result = {"faults": totals.faults, "hangs": totals.hangs, "wrong": totals.wrong,
              "killed": len(totals.killed), "killed_p50_s": at(totals.killed, 0.5),
              "killed_p99_s": at(totals.killed, 0.99), "stopped": len(totals.stopped),
              "stopped_p50_s": at(totals.stopped, 0.5), "stopped_p99_s": at(totals.stopped, 0.99)}
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:20} {value}" for name, value in result.items()))
    return 0 if totals.fine() else 1
