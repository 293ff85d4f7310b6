# SPDX-License-Identifier: Apache-2.0
"""A failed job restarts automatically, from its last checkpoint (--restarts with --checkpoint),
after the loss of any member but the scheduler, which restarts alone: real processes, killed in
turn; results are bit-identical to an undisturbed job."""

import os
import pathlib
import re
import shutil
import signal
import tempfile
import unittest

import cluster

KEEPING = cluster.BUILD / "tests" / "keeping"
AGAIN = r"\[launcher\] .*: the job begins again from its checkpoint of step (\d+) \((\d+) more "


class BeginningAgain(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def keep(self, *arguments, restarts=3, flags=(), **variables):
        return self.launch(KEEPING, *arguments, servers=2,
                           flags=("--checkpoint", self.folder / "run", "--restarts", restarts,
                                  *flags), **variables)

    def saved_once_more(self, job):
        """The step of the next checkpoint."""
        saved = r"\[worker 1\] checkpoint step=(\d+)$"
        before = sum(1 for line in job.lines if re.search(saved, line))
        return int(job.expect(saved, count=before + 1)[1])

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assert_nobody_left()
        return digests.pop()

    def test_members_killed_in_turn_and_the_bits_are_those_of_an_undisturbed_job(self):
        job = self.keep("--steps", 100_000, flags=("--log-dir", self.folder / "logs"))
        for attempt, name in enumerate(("server 1", "worker 1", "worker 0"), 1):
            reached = self.saved_once_more(job)
            os.kill(job.members()[name], signal.SIGKILL)
            found = job.expect(AGAIN, count=attempt)
            self.assertIn(f"{name} killed by SIGKILL", found[0])
            self.assertGreaterEqual(int(found[1]), reached)
            self.assertEqual(int(found[2]), 3 - attempt)
            goes_on = job.expect(r"goes on from checkpoint \d+ of step (\d+)", count=attempt)
            self.assertEqual(goes_on[1], found[1])
            job.expect(r"\[worker 0\] from checkpoint=\d+ step=" + found[1] + "$")
        reached = self.saved_once_more(job)
        os.kill(job.members()["server 0"], signal.SIGKILL)
        self.assertEqual(job.end(), 137, job.output())  # No restart is left.
        self.assertEqual(job.output().count("the job begins again"), 3)
        self.assert_nobody_left()
        log = (self.folder / "logs" / "worker-0.log").read_text(encoding="utf-8")
        self.assertEqual(log.count("from checkpoint="), 4, "of all four attempts")
        steps = reached + 100
        last = self.digest(self.keep("--steps", steps))
        whole = self.launch(KEEPING, "--steps", steps, "--every", 0, servers=2)
        self.assertEqual(last, self.digest(whole))

    def remove_checkpoints(self):
        for checkpoint in (self.folder / "run").glob("ckpt-*"):
            shutil.rmtree(checkpoint, ignore_errors=True)  # A checkpoint may be in progress.

    def test_checkpoints_that_a_user_removes(self):
        job = self.keep("--steps", 1_000_000, "--every", 500, "--elements", 1000)
        self.saved_once_more(job)
        worker = job.members()["worker 1"]
        self.remove_checkpoints()
        for _ in range(2):  # The first may have been complete before.
            self.saved_once_more(job)
        os.kill(worker, signal.SIGSTOP)  # Stopped, so that no further checkpoint starts.
        self.remove_checkpoints()
        (self.folder / "run" / "LATEST").unlink()
        os.kill(worker, signal.SIGKILL)
        job.expect(AGAIN)
        job.expect(r"\[launcher\] the job does not begin again: its scheduler refuses to begin$")
        self.assertEqual(job.end(), 1, job.output())
        self.assertIn("Malformed: this job has made checkpoint", job.output())
        self.assertEqual(job.output().count("[worker 0] from checkpoint="), 1, "it began once")
        self.assert_nobody_left()

    def test_an_interval_that_is_chosen_follows_the_failures_of_all_attempts(self):
        job = self.keep("--steps", 100_000, flags=("--checkpoint-every", "auto"))
        chosen = r"checkpoints are due every \d+ s: the last ones held .* one failure in (.*) h is"
        self.assertEqual(job.expect(chosen)[1], "4.00", "the prior")
        os.kill(job.members()["server 0"], signal.SIGKILL)
        self.assertEqual(job.expect(chosen, count=2)[1], "2.00", "and one more")
        self.kill_all(job)

    def test_a_notice_ends_the_job_for_good(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                job = self.keep("--steps", 100_000)
                job.expect(r"\[worker 1\] checkpoint step=\d+$")
                job.send(number)
                self.assertNotEqual(job.end(), 0)
                self.assertNotIn("begins again", job.output())
                self.assert_nobody_left()

    def test_a_program_that_fails_before_it_has_saved_anything_is_not_tried_again(self):
        job = self.launch("/bin/sh", "-c", "exit 3", servers=1,
                          flags=("--checkpoint", self.folder / "run", "--restarts", 2))
        self.assertEqual(job.end(), 3, job.output())
        job.expect(r"\[launcher\] the job does not begin again: it has not come together$")
        job = self.keep("--steps", 100_000, "--every", 0, "--fail-at", 20)
        self.assertEqual(job.end(), 7, job.output())
        job.expect(r"\[launcher\] the job does not begin again: its program failed before it had ")
        self.assert_nobody_left()

    def test_a_job_that_begins_anew_does_not_take_up_an_older_one(self):
        self.digest(self.keep("--steps", 30))
        job = self.keep("--steps", 100_000, "--every", 100, flags=("--resume", "no"))
        job.expect(r"\[worker 0\] from checkpoint=0 step=0$")
        os.kill(job.members()["server 0"], signal.SIGKILL)
        job.expect(r"the job begins again from the start, as it has made no checkpoint")
        job.expect(r"\[worker 0\] from checkpoint=0 step=0$", count=2)
        job.expect(r"\[worker 1\] checkpoint step=100$")
        os.kill(job.members()["server 0"], signal.SIGKILL)
        begun = int(job.expect(AGAIN)[1])
        job.expect(rf"\[worker 0\] from checkpoint=\d+ step={begun}$")
        self.kill_all(job)


if __name__ == "__main__":
    unittest.main()
