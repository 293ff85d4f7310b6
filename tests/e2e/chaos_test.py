# SPDX-License-Identifier: Apache-2.0
"""Short runs of tools/chaos: a few random faults on one host, of jobs that survive and of jobs that
end, without hangs or blame of innocent members; and that it would notice.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import again
import cluster
import elastic_losses
import elastic_returns
import endurance
import endurance_plan
import fault_kinds
import mixtures
import moves
import returns
import soak
import storm

HERE = ("--starters", "local", "--parallel", "3")
CHAOS = cluster.SOURCE / "tools" / "chaos"


def chaos(*flags, **variables):
    """The exit status and the summary."""
    command = [sys.executable, CHAOS, *flags, "--json"]
    done = subprocess.run([str(word) for word in command], env=os.environ | variables, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


def plan(*faults):
    """A job of three workers, under the launcher."""
    return endurance_plan.Plan(0, "local", "tcp", ("sync", "async"), 3, 1, 1, 640, 0,
                               list(faults), False)


class BeginAgain(unittest.TestCase):
    """Jobs with checkpoints."""

    def test_a_few_faults_of_any_process(self):
        totals = again.run(6, 5, faults_a_job=6)
        self.assertEqual(totals.attempts, 6)
        self.assertTrue(totals.fine(), totals)


class Mixtures(unittest.TestCase):
    """Two faults in one job, at default settings."""

    def test_jobs_survive_two_faults(self):
        for number in range(2):
            text, error = mixtures.local(5, number, False)
            self.assertEqual(error, "", text)


class Kinds(unittest.TestCase):
    """One fault a job, by kinds."""

    def one(self, kind, number):
        return fault_kinds.judged(fault_kinds.Trial(), kind, random.Random(f"5.{number}"),
                                  lambda test: getattr(test, kind)())

    def test_each_outcome_is_judged(self):
        for number, kind in enumerate(("kill", "plain_kill", "launcher_ends", "few_files")):
            result = self.one(kind, number)
            self.assertEqual(result.error, "", f"{kind}: {result.faults}")

    def test_another_outcome_is_an_error(self):
        with unittest.mock.patch.object(fault_kinds.Plain, "victims", ("worker 0",)), \
                unittest.mock.patch.object(fault_kinds.Trial, "named", return_value=False):
            self.assertIn("names none of ('worker 0',)", self.one("plain_kill", 0).error)


class Soak(unittest.TestCase):
    """One job with a fault every few seconds."""

    def test_only_living_processes_have_open_logs(self):
        test, totals = soak.Soak(), returns.Standstills()
        test.setUp()
        self.addCleanup(test.doCleanups)
        test.one(types.SimpleNamespace(minutes=0.05, every=0.5, seed=5), totals)
        self.assertTrue(totals.fine() and totals.faults, totals)
        self.assertEqual(set(test.inherited), {0})
        self.assertLessEqual(max(test.stale), 0)


class ComeBack(unittest.TestCase):
    """Servers and a scheduler that restart alone, and servers with standbys."""

    def assert_all_held(self, totals, faults):
        over = (*totals.killed, *totals.stopped, *totals.scheduler_killed,
                *totals.scheduler_stopped)
        self.assertEqual(len(over), faults, totals)
        self.assertTrue(totals.fine(), totals)

    def test_a_few_faults_of_servers_and_the_scheduler(self):
        self.assert_all_held(returns.run(6, 5, faults_a_job=6), 6)

    def test_a_few_places_that_move(self):
        job = moves.Moves()
        job.setUp()
        self.addCleanup(job.doCleanups)
        with tempfile.TemporaryDirectory() as folder:
            spans = job.run_moves(2, f"{folder}/times")
            result = moves.figures(spans, moves.steps_in(f"{folder}/times.0"))
        self.assertEqual(result["moves"], 2, result)
        self.assertGreater(min(result.values()), 0, result)

    def test_a_few_faults_of_servers_that_others_stand_by_for_and_the_scheduler(self):
        totals = returns.run(6, 5, faults_a_job=6, replicas=2)
        self.assert_all_held(totals, 6)
        self.assertTrue(totals.scheduler_killed or totals.scheduler_stopped, totals)

    def test_a_few_faults_of_servers_and_workers_of_elastic_jobs(self):
        totals = elastic_returns.run(4, 5, faults_a_job=4)
        self.assertEqual(len(totals.killed) + len(totals.stopped), 4, totals)
        self.assertTrue(totals.fine(), totals)


class Elastic(unittest.TestCase):
    """Jobs that survive."""

    def test_workers_are_killed_one_after_another(self):
        totals = elastic_losses.run(4, 5)
        self.assertEqual(len(totals.killed), 4, totals)
        self.assertTrue(totals.fine(), totals)

    def test_all_links_of_a_scheduler_break_at_once(self):
        found, said = storm.run(types.SimpleNamespace(members=40, storms=2, calm=0.5))
        self.assertEqual([found[name] for name in ("in", "left", "lost", "failed")],
                         [40, 40, 0, 0], said)
        self.assertEqual([(one["back"], one["lost"]) for one in found["storms"]],
                         [(40, 0), (40, 0)], said)

    def test_a_few_faults(self):
        status, result, told = chaos("--faults", 8, "--seed", 5, "--places", "local,relay",
                                     "--churn", 0)
        self.assertEqual(status, 0, told)
        self.assertEqual(result["faults"] + result["without_effect"], 8, told)
        for name in ("hangs", "lost", "doubled", "wrong_blame", "otherwise_wrong"):
            self.assertEqual(result[name], 0, told)

    def test_workers_come_and_go(self):
        status, result, told = chaos("--faults", 8, "--seed", 5, "--places", "local",
                                     "--churn", 1, "--pace", 0.1)
        self.assertEqual(status, 0, told)
        self.assertGreater(result["joins"], 0, told)
        for name in ("hangs", "lost", "doubled", "wrong_blame", "otherwise_wrong"):
            self.assertEqual(result[name], 0, told)

    def test_fault_without_effect_is_an_error(self):
        undone = []
        cut = endurance_plan.Fault("drop", 0.0, "worker 1")
        end = endurance.effective(cut, lambda: 0, lambda: undone.append(cut))
        self.assertRaisesRegex(AssertionError, "no effect: drop worker 1", end)
        self.assertEqual(undone, [cut])
        lossy = endurance_plan.Fault("lossy", 0.0, "worker 1")
        endurance.effective(lossy, lambda: 0, lambda: undone.append(lossy))()
        self.assertTrue(lossy.missed)
        endurance.effective(lossy, lambda: 3, lambda: undone.append(lossy))()
        self.assertFalse(lossy.missed)

    def test_a_seed_says_what_happens(self):
        drawn = [endurance_plan.drawn(3, 1, endurance_plan.PLACES).text() for _ in range(2)]
        self.assertEqual(*drawn)
        self.assertNotEqual(drawn[0], endurance_plan.drawn(3, 2, endurance_plan.PLACES).text())

    def test_a_loss_that_nobody_may_have_is_noticed(self):
        kill = endurance_plan.Fault("kill", 0.1, "worker 1")
        self.assertRegex(endurance.Trial(plan(kill), "info").run(None).wrong, "worker 1")

    def test_a_member_that_outlives_its_loss_is_noticed(self):
        spared = endurance_plan.Fault("stop", 0.1, "worker 1", seconds=0.1, fatal=True)
        self.assertRegex(endurance.Trial(plan(spared), "info").run(None).wrong, "wrong name")


class Chaos(unittest.TestCase):

    def test_a_few_faults(self):
        status, result, told = chaos("ends", *HERE, "--faults", 6, "--seed", 157)
        self.assertEqual(status, 0, told)
        self.assertEqual(result["faults"], 6, told)
        for name in ("hangs", "lost", "doubled", "wrong_blame", "without_fault"):
            self.assertEqual(result[name], 0, told)
        self.assertLess(result["launcher_longest_s"], 15.0)
        self.assertIsNone(result["recover_p50_s"])

    def test_a_launcher_that_blames_somebody_else_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/bin")
            os.symlink(cluster.BUILD / "tests", f"{folder}/tests")
            launcher = f"{folder}/bin/stretto-launch"
            with open(launcher, "w", encoding="ascii") as script:
                script.write(f"#!/bin/sh\n{cluster.LAUNCH} \"$@\"\n"
                             "echo 'ERROR ServerLost role=server rank=7 peer=- op=run cause=x'\n"
                             "exit 1\n")
            os.chmod(launcher, 0o755)
            status, result, told = chaos("ends", *HERE, "--faults", 2, "--seed", 157,
                                         "--build", folder)
        self.assertEqual(status, 1, told)
        self.assertEqual((result["faults"], result["wrong_blame"]), (2, 2), told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
