# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs of real processes with many faults of workers and links, for `tools/chaos`. A job is
drawn from a seed (endurance_plan.py) and started (endurance_job.py). Its workers compare every
value (enduring.cc); this module injects the faults, and checks the lost and the named workers, and
the durations.
"""

import collections
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

import cluster
import lab
import links
from endurance_job import HANG, Broken, Job
from endurance_plan import ALL_TRANSPORTS, TRANSPORTS, churning, drawn

ROUNDS = 40  # Rounds of survivors after the last fault.
PAUSES = threading.Event()  # Never set: polls everything after a moment.
PAUSE = 0.5  # Seconds for which a silenced member is heard before it is silenced again.


def effective(fault, acted, undo):
    """Ends a fault, and reports one without an effect so far: that tests nothing."""
    def end():
        try:
            fault.missed = not acted()
        finally:
            undo()
        if fault.missed and not fault.may_miss():
            raise AssertionError(f"no effect: {fault.text()}")
    return end


class Trial:
    """A job under its plan's faults, and its report."""

    def __init__(self, plan, log_level):
        self.plan = plan
        self.job = Job(plan, log_level)
        self.undo = []  # (Time, fault, function that ends it).
        self.free = collections.defaultdict(float)  # When a victim may be hit again.
        self.lost = []  # (Fault, worker), in order.
        self.died_on_their_way = set()  # Before they had joined.
        self.came = []  # Seconds from the start of joining workers to their first step.
        self.wrong = ""
        self.detected, self.recovered, self.stalls, self.told = [], [], [], []
        self.seconds = 0.0

    def run(self, network):
        """Judges the trial; no process is left after it."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="stretto-endurance-") as folder:
            self.job.setUp()
            try:
                self.job.begin(folder, network)
                self.disturb()
                self.finish()
                self.measure()
            except AssertionError as error:
                self.wrong = str(error).splitlines()[0]
            finally:
                self.seconds = time.monotonic() - began
                self.output = self.all_output()
                for _, _, what in self.undo:
                    with contextlib.suppress(Exception):
                        what()
                self.job.doCleanups()
        return self

    def all_output(self):
        """All lines in order, including faults, in seconds since the first."""
        told = [(at, f"{process.name}: {line}") for process in self.job.processes
                for at, line in zip(list(process.times), list(process.lines))
                if "digest=" not in line]
        told += [(fault.at, f"FAULT {fault.text()}") for fault in self.plan.faults
                 if fault.at is not None]
        told.sort()
        return "\n".join(f"{at - told[0][0]:8.3f} {line}" for at, line in told)

    # ---- faults

    def disturb(self):
        for fault in self.plan.faults:
            self.wait_until(lambda due=time.monotonic() + fault.gap: time.monotonic() >= due)
            for name in self.touched(fault):
                self.wait_until(lambda name=name: self.free[name] <= time.monotonic())
            self.apply(fault)
        self.wait_until(lambda: not self.undo)

    def wait_until(self, over):
        """Ends faults whose duration is over meanwhile."""
        while True:
            for entry in list(self.undo):
                due, fault, what = entry
                seen = fault.fatal and fault.early and self.all_are_left_behind()
                if time.monotonic() >= due or seen:
                    self.undo.remove(entry)
                    what()
                    for name in self.touched(fault):
                        self.free[name] = time.monotonic() + PAUSE
            if over():
                return
            PAUSES.wait(0.005)

    def all_are_left_behind(self):
        sizes = self.job.sizes(self.survivors())
        return bool(sizes) and sizes[-1][1] == self.plan.workers - len(self.lost)

    def touched(self, fault):
        """The members that a fault silences: none is silenced twice without a pause. Faults of all
        links come alone, and so do all faults of jobs whose scheduler has no launcher's reports."""
        if fault.kind in ("kill", "two"):
            return []
        return [fault.victim] if self.plan.place == "local" else ["all"]

    def apply(self, fault):
        victims = re.findall(r"\w+ \d+|scheduler", fault.victim)
        if any(self.job.ended(name) for name in victims):
            return  # It was stopped for too long, for example, and is gone.
        undo = getattr(self, f"_{fault.kind}")(fault, victims)
        fault.at = time.monotonic()
        if fault.fatal:
            self.lost += [(fault, name) for name in victims]
        if undo is not None:
            self.undo.append((fault.at + fault.seconds, fault, undo))
        for name in self.touched(fault):
            self.free[name] = fault.at + (PAUSE if undo is None else 1000.0)

    def _kill(self, _, victims):
        cluster.strike([self.job.pids[name] for name in victims], signal.SIGKILL)

    _two = _kill

    def _stop(self, fault, victims):
        pid = self.job.pids[victims[0]]
        cluster.strike([pid], signal.SIGSTOP)

        def go():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        return go

    _nap = _stop

    def _hush(self, fault, _):
        self.job.relay.hold(*fault.way)
        return effective(fault, self.job.relay.holds, self.job.relay.hold)

    def _corrupt(self, fault, _):
        relay, before = self.job.relay, self.job.relay.corrupted
        relay.corrupt(*fault.way)
        return effective(fault, lambda: relay.corrupted > before, lambda: relay.corrupt(0.0))

    def _delay(self, fault, _):
        relay, before = self.job.relay, self.job.relay.delayed
        relay.delay(*fault.way)
        return effective(fault, lambda: relay.delayed > before, lambda: relay.delay(0.0, 0.0))

    def _reset(self, fault, _):
        if self.plan.place == "relay":
            before = self.job.relay.resets
            self.job.relay.reset_some(fault.way[0], 0.05)
            effective(fault, lambda: self.job.relay.resets > before, lambda: None)()
            return None
        return self._cut(fault)

    def _drop(self, fault, _):
        return self._cut(fault)

    _large = _lossy = _drop

    def _cut(self, fault):
        far, direction = fault.way
        self.job.network.cut(fault.kind, direction, ("worker", far))
        return effective(fault, self.job.network.hits, self.job.network.mend)

    def _pull(self, _, __):
        self.job.network.pull("worker")
        return lambda: self.job.network.put_back("worker")

    # ---- the end

    def survivors(self):
        gone = {name for _, name in self.lost}
        return [name for name in self.names() if name not in gone]

    def names(self):
        return self.job.names

    def finish(self):
        job, gone = self.job, {name for _, name in self.lost}
        left = self.survivors()
        for name in left:
            job.await_rounds(name, job.rounds(name) + ROUNDS // 20)
        if self.plan.below:
            return self.finish_below(left)
        (job.folder / "until").touch()
        for process in job.processes:
            if process.name not in [*left, "job", "scheduler"] and "worker" in process.name:
                continue
            try:
                status = process.end(HANG)
            except AssertionError as error:
                raise Broken(f"hang: {process.name} does not end") from error
            job.check_words(left)
            if status != 0:
                raise Broken(f"{process.name} ended with {status}: {process.lines[-1:]}")
        by_hand = gone & {process.name for process in job.processes}
        for name in by_hand:
            self.check_lost(name)
        if job.launcher is not None:
            told = {name for line in job.launcher.lines if "the job was done without" in line
                    for name in re.findall(r"worker \d+", line)}
            if told & set(self.names()) - self.died_on_their_way != gone - by_hand:
                raise Broken(f"wrong name: lost {sorted(gone)}, told {sorted(told)}")
        self.check_done(left)

    def check_lost(self, name):
        """It ended by a signal, or with a line about its own loss."""
        process = next(one for one in self.job.processes if one.name == name)
        try:
            status = process.end(HANG)
        except AssertionError as error:
            raise Broken(f"hang: {name}, which is lost, does not end") from error
        if status == 128 + signal.SIGKILL:
            return
        errors = process.errors()
        if status == 0 or len(errors) != 1:
            raise Broken(f"{name} was lost, ended with {status} and said {process.lines[-1:]}")
        if not re.search(rf"{name}|scheduler", errors[0].text):
            raise Broken(f"wrong name: {errors[0].text}")

    def check_done(self, left):
        sums, ranks = {}, []
        for name in left:
            done = [line for _, line in self.job.said(name) if line.startswith("done ")]
            match = re.match(rf"done rank=(\d+) size={len(left)} ", done[0] if done else "")
            if len(done) != 1 or not match:
                raise Broken(f"{name} said {done}, a rank of {len(left)} is due")
            ranks.append(int(match[1]))
        first = [rank for name, rank in zip(left, ranks) if name in self.job.first_names]
        if sorted(ranks) != list(range(len(left))) or first != sorted(first):
            raise Broken(f"ranks {ranks} of {left}")
        for name in self.names():
            for _, line in self.job.said(name):
                if line.startswith("round ") and "partial" not in line:
                    number = line.split()[1]
                    if sums.setdefault(number, line) != line:
                        raise Broken(f"{name} has another sum: {line}, {sums[number]}")

    def finish_below(self, left):
        """Too many are killed: all others end, and name one of these."""
        job, last = self.job, left[:len(left) - self.plan.least + 1]
        self._kill(None, last)
        others = [one for one in job.processes if one.name not in last]
        for process in others:
            if process.name in {name for _, name in self.lost}:
                continue
            try:
                status = process.end(HANG)
            except AssertionError as error:
                raise Broken(f"hang: {process.name} does not end with too few") from error
            job.check_words([])
            errors = process.errors()
            if status == 0:
                raise Broken(f"{process.name} ended with 0 below the least")
            told = errors[-1].text if errors else str(process.lines[-1:])
            if not any(name in told.replace("role=worker rank=", "worker ") for name in last):
                raise Broken(f"wrong name: {process.name} says {told}")

    # ---- times

    def measure(self):
        if self.plan.below:
            return
        all_commits = [self.job.commits(name.split()[1]) for name in self.survivors()]
        for fault, name in self.lost:
            commits = [own for own in all_commits if own and own[0] < fault.at]
            said = [at for at, line in self.job.said("scheduler")
                    if re.search(rf"\b{name} is lost", line)]
            if not said:
                raise Broken(f"the scheduler does not say that {name} is lost")
            after = [next((at for at in own if at >= said[0]), None) for own in commits]
            if None in after or not after:
                continue
            self.told.append(f"{fault.kind} of {name} told after {said[0] - fault.at:.3f} s, over "
                             f"after {max(after) - fault.at:.3f} s")
            if self.is_alone(fault, max(after)):
                died = "died" if fault.kind in ("kill", "two") else "silent"
                self.detected.append((died, said[0] - fault.at))
                self.recovered.append((died, max(after) - fault.at))
        for fault in self.plan.faults:
            if fault.at is None or fault.fatal:
                continue
            until = fault.at + fault.seconds + 1.0
            gaps = [later - before for own in all_commits for before, later in zip(own, own[1:])
                    if later > fault.at and before < until]
            if self.is_alone(fault, until):
                self.stalls.append((fault.kind, max(gaps, default=0.0) - fault.seconds))

    def is_alone(self, fault, until):
        """True if no other lasting fault interferes with the effects of this one."""
        return not any(other is not fault and other.at is not None and other.seconds > 0 and
                       other.at < until and other.at + other.seconds + PAUSE > fault.at
                       for other in self.plan.faults)


def percentile(values, share):
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3) if ordered else None


def summary(trials, seconds):
    done = [fault for trial in trials for fault in trial.plan.faults
            if fault.at is not None and not fault.missed]
    missed = sum(fault.missed for trial in trials for fault in trial.plan.faults)
    kinds = collections.Counter(fault.kind for fault in done)
    told = [trial.wrong for trial in trials if trial.wrong]

    def times(which, kind=None):
        return [value for trial in trials for name, value in getattr(trial, which)
                if kind in (None, name)]

    def said(word):
        return sum(word in wrong for wrong in told)

    result = {"faults": len(done), "without_effect": missed, "hangs": said("hang:"),
              "lost": said("wrong: lost"),
              "doubled": said("wrong: doubled"), "wrong_blame": said("wrong name:"),
              "otherwise_wrong": 0}
    result["otherwise_wrong"] = len(told) - sum(result[name] for name in (
        "hangs", "lost", "doubled", "wrong_blame"))
    for name, which in (("detect", "detected"), ("recover", "recovered")):
        for share in (50, 99):
            result[f"{name}_p{share}_s"] = percentile(times(which, "died"), share / 100)
        for share in (50, 99):
            result[f"{name}_silent_p{share}_s"] = percentile(times(which, "silent"), share / 100)
    result |= {"stall_p50_s": percentile(times("stalls"), 0.5),
               "stall_p99_s": percentile(times("stalls"), 0.99),
               "losses": sum(len(trial.lost) for trial in trials),
               "joins": sum(len(trial.came) for trial in trials),
               "join_p50_s": percentile([at for trial in trials for at in trial.came], 0.5),
               "join_p99_s": percentile([at for trial in trials for at in trial.came], 0.99),
               "losses_timed": len(times("detected")), "jobs": len(trials),
               "seconds": round(seconds, 1), "kinds": dict(sorted(kinds.items()))}
    return result


def campaign(options):
    """`tools/chaos`; the exit status."""
    transports = options.transports or ALL_TRANSPORTS
    possible = [name for name in options.places if set(TRANSPORTS[name]) & set(transports)]
    places = [name for name in possible if name != "net" or not lab.why_no_lab()]
    for name in set(possible) - set(places):
        print(f"chaos: no jobs of {name}: {lab.why_no_lab()}", file=sys.stderr)
    plans, count = [], 0
    while count < options.faults:
        churns = random.Random(f"{options.seed} {len(plans)} which").random() < options.churn
        plans.append(churning(len(plans), options.seed, places, options.pace, transports)
                     if churns else drawn(len(plans), options.seed, places, transports))
        count += len(plans[-1].faults)
    if options.only is not None:
        plans = plans[options.only:options.only + 1]
    elif count > options.faults:
        del plans[-1].faults[len(plans[-1].faults) - (count - options.faults):]
    import endurance_churn  # pylint: disable=import-outside-toplevel,cyclic-import
    trials, began = [], time.monotonic()
    network = links.Network() if any(plan.place == "net" for plan in plans) else None
    try:
        for plan in plans:
            if network is not None:
                network.mend()
            kind = endurance_churn.ChurnTrial if plan.churn else Trial
            trials.append(kind(plan, options.log_level).run(network))
            trial = trials[-1]
            if trial.wrong or options.verbose:
                print(f"{plan.text()}: {trial.seconds:.1f} s, {trial.wrong or 'fine'}; "
                      f"{', '.join(trial.told)}",
                      file=sys.stderr, flush=True)
            if trial.wrong:
                print(f"{trial.output}\nagain: tools/chaos --seed {options.seed} --faults "
                      f"{options.faults} --only {plan.number}", file=sys.stderr, flush=True)
    finally:
        if network is not None:
            network.close()
    result = summary(trials, time.monotonic() - began)
    print(json.dumps(result) if options.json else
          "\n".join(f"{name:24} {value}" for name, value in result.items()))
    return int(any(trial.wrong for trial in trials))
