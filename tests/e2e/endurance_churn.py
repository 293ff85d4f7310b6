# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs with continuous joins and losses (endurance.py): a worker is killed, or another one
joins, every few seconds, while links break and processes are stopped. The victim of a fault is
chosen when it happens, among the members at that time.
"""

import time

import endurance
from endurance_job import HANG, Broken

TOLD = 10.0  # Seconds until all remaining workers must know of a loss.
LATE = 20.0  # Seconds until a joining worker must be admitted; its disturbances end before.


class ChurnTrial(endurance.Trial):
    """A job whose plan says `churn`."""

    def __init__(self, plan, log_level):
        super().__init__(plan, log_level)
        self.on_their_way = {}  # Joining workers, and the time of their start or discovery.
        self.came = []  # Seconds from start to first step of admitted workers.
        self.died_on_their_way = set()

    def apply(self, fault):
        self.look_for_newcomers()
        if fault.kind in ("kill", "two", "join"):
            self.choose(fault)
        elif fault.kind != "nap" and fault.victim and fault.victim not in self.living():
            return  # Its link has no user any more.
        if fault.kind != "join" and fault.fatal and not fault.victim:
            return
        super().apply(fault)
        early = [lost for lost in self.lost if lost[1] in self.on_their_way]
        for lost in early:
            self.lost.remove(lost)
            self.died_on_their_way.add(lost[1])
            del self.on_their_way[lost[1]]

    # A join without free ranks is a death, and a death that would leave too few a join.
    def choose(self, fault):
        count = 2 if fault.kind == "two" else 1
        members, left = self.members(), self.living()
        own = [name for name in left if name in self.job.first_names]
        if self.job.launcher is not None and not self.plan.restarts and len(own) == 1:
            left.remove(own[0])  # Without own workers a launcher would have no process to wait for.
        spare = len(members) - self.plan.least
        joins = not self.plan.restarts
        if joins and (fault.kind == "join" or spare < count) and self.room() > 0:
            fault.kind, fault.fatal, fault.victim = "join", False, ""
            return
        if spare < count or len(left) < count:
            fault.kind, fault.fatal, fault.victim = "kill", True, ""
            return
        fault.kind, fault.fatal = ("two" if count == 2 else "kill"), True
        chosen = []
        for share in fault.way[:count]:
            chosen.append(left.pop(int(share * len(left))))
        fault.victim = " ".join(chosen)

    def room(self):
        """How many may join now; first all losses must be known to all."""
        until = time.monotonic() + TOLD
        while time.monotonic() < until and self.size() != len(self.members()):
            self.wait_until(lambda due=time.monotonic() + 0.02: time.monotonic() >= due)
            self.look_for_newcomers()
        return self.plan.workers - self.size() - len(self.on_their_way)

    def size(self):
        sizes = self.job.sizes(self.members())
        return sizes[-1][1] if sizes else self.plan.workers

    def living(self):
        return [name for name in self.survivors() if not self.job.ended(name)]

    def members(self):
        """The known members."""
        return [name for name in self.living() if name not in self.on_their_way]

    def survivors(self):
        return [name for name in super().survivors() if name not in self.died_on_their_way]

    def _join(self, *_):
        self.on_their_way[self.job.start_newcomer()] = time.monotonic()

    def look_for_newcomers(self):
        now = time.monotonic()
        self.job.check_words([])
        for name in self.job.find_newcomers():
            self.on_their_way[name] = now
        for name, began in list(self.on_their_way.items()):
            if any(line.startswith("came before") for _, line in self.job.said(name)):
                own = self.job.commits(name.split()[1])
                if own:
                    self.came.append(own[0] - began)
                    del self.on_their_way[name]
            elif self.job.ended(name):
                said = [line for _, line in self.job.said(name)]
                raise Broken(f"{name}, which was to join, has ended: {said[-1:]}")
            elif now - began > LATE:
                raise Broken(f"hang: {name} has not joined for {LATE} s")

    def finish(self):
        until = time.monotonic() + HANG
        while self.on_their_way or (self.plan.restarts and len(self.job.names) < self.plan.workers +
                                    len(self.lost) + len(self.died_on_their_way)):
            self.wait_until(lambda due=time.monotonic() + 0.05: time.monotonic() >= due)
            self.look_for_newcomers()
            if time.monotonic() > until:
                raise Broken(f"hang: {self.size()} workers are in, {self.on_their_way} not yet")
        super().finish()
