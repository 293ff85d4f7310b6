# SPDX-License-Identifier: Apache-2.0
"""A killed job of PyTorch programs resumes from its checkpoint, with other numbers of servers and
workers, and its result is bit-identical to an undisturbed job's (checkpoints_worker.py)."""

import os
import re
import signal
import unittest

import jobs
import kept


class GoingOn(kept.KeptTest):

    def same_bits(self, *ways):
        """Resumes killed jobs of some of these ways, and compares them with undisturbed jobs."""
        gone_on = []
        for way, servers in jobs.some(*ways):
            with self.subTest(way, servers=servers):
                self.folder = self.folder.with_name(f"{way}-{servers}")
                wanted = self.ends(self.keep(way, 12, 6, servers=servers))
                self.folder = self.folder.with_name(f"{way}-{servers}-killed")
                job = self.keep(way, 1000, 6, servers=servers)
                job.expect(r"\[worker 1\] checkpoint 6 True$", seconds=jobs.TORCH_PATIENCE)
                self.kill_all(job)
                newest = int((self.folder / "LATEST").read_text().split("-")[1])
                for number in range(2, newest + 1):  # The job may have saved more.
                    (self.folder / f"ckpt-{number}" / "MANIFEST").unlink(missing_ok=True)
                job = self.keep(way, 12, 6, servers=servers and servers + 1)
                job.expect(r"the job goes on from checkpoint 1 of step 6", jobs.TORCH_PATIENCE)
                job.expect(r"\[worker 1\] from 6 of Restored\(number=1, step=6\)$",
                           jobs.TORCH_PATIENCE)
                self.assertEqual(self.ends(job), wanted)
                gone_on.append(job)
        return gone_on

    def test_a_killed_job_goes_on_to_the_same_bits(self):
        self.same_bits(("sync", 2), ("parallel", 1), ("layerwise", 2), ("delayed", 2), ("eager", 2),
                       ("sync", 0))

    def test_local_steps_go_on_to_the_same_bits(self):
        for job in self.same_bits(("local", 1), ("outer", 1), ("each", 1), ("outer", 0)):
            rounds = {line for line in job.lines if "] round " in line}
            self.assertEqual(len(rounds), 2, job.output())

    def test_local_steps_are_those_of_a_job_without_checkpoints(self):
        # A checkpoint at a round's end changes nothing.
        wanted = self.ends(self.python("checkpoints_worker.py", "local", 12, 0))
        self.assertEqual(self.ends(self.keep("local", 12, 6)), wanted)
        (self.folder / "ckpt-2" / "MANIFEST").unlink()
        job = self.keep("local", 12, 0)
        self.assertEqual(self.ends(job), wanted)
        self.assertIn("from 6 of", job.output())
        self.assertEqual(sum("] round 4" in line for line in job.lines), 2, job.output())

    def test_local_steps_go_on_with_more_workers_amid_a_round(self):
        self.ends(self.keep("outer", 6, 6))
        job = self.keep("outer", 12, 6, workers=3)
        ends = self.ends(job, 3)
        self.assertEqual(len(set(ends[1:])), 1, ends)
        self.assertIn("from 6 of", job.output())

    def test_pytorchs_own_modules_go_on_to_the_same_bits(self):
        self.same_bits(("torch", 0), ("torch", 1))

    def test_pytorchs_own_modules_go_on_from_checkpoints_of_ours(self):
        saved = self.ends(self.keep("parallel", 6, 6))
        job = self.keep("torch", 6, 0)
        self.assertEqual(self.ends(job), [saved[0]] * 2, "statistics are those of rank 0")
        self.assertIn("from 6 of", job.output())

    def test_a_script_of_pytorchs_own_begins_again_by_itself(self):
        wanted = self.ends(self.keep("torch", 40, 5, servers=0))
        self.folder = self.folder.with_name("again")
        job = self.keep("torch", 40, 5, servers=0, flags=("--restarts", 2))
        job.expect(r"\[worker 1\] checkpoint 5 True$", seconds=jobs.TORCH_PATIENCE)
        os.kill(job.member("worker 1"), signal.SIGKILL)
        job.expect(r"begins again from its checkpoint of step \d+ ", seconds=jobs.TORCH_PATIENCE)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        ends = [re.findall(r"^end (.*)$", "\n".join(job.lines_of(f"worker {rank}")), re.M)[-1]
                for rank in (0, 1)]
        self.assertEqual(ends, wanted)

    def test_goes_on_from_a_folder_that_it_does_not_save_to(self):
        self.ends(self.keep("sync", 6, 6))
        wanted = self.ends(self.keep("sync", 9, 0))
        job = self.python("checkpoints_worker.py", "sync", 9, 3, flags=("--resume", self.folder))
        self.assertEqual(self.ends(job), wanted)
        self.assertIn("checkpoint 9 False", job.output())
        job = self.python("checkpoints_worker.py", "sync", 9, 0, "lacking",
                          flags=("--resume", self.folder))
        self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0)
        self.assertIn("has not called stretto.torch.restore() before its first step", job.output())

    def test_another_number_of_workers_goes_on(self):
        saved = self.ends(self.keep("sync", 4, 4, workers=2))
        job = self.keep("sync", 4, 0, workers=3, servers=1)
        self.assertEqual(self.ends(job, 3), [*saved, saved[1]], "nothing was left to do")
        job = self.keep("sync", 6, 3, workers=3, servers=1)
        ends = self.ends(job, 3)
        self.assertEqual(len(set(ends[1:])), 1, ends)
        self.assertIn("from 4 of", job.output())
        job = self.keep("sync", 6, 6, workers=1, servers=1)
        self.assertIn("from 6 of", self.ends(job, 1) and job.output())

    def test_modes_without_rounds_go_on(self):
        saved = self.ends(self.keep("async", 6, 6))
        job = self.keep("async", 6, 0, workers=3, servers=1)
        self.assertEqual(self.ends(job, 3), [*saved, saved[1]], "nothing was left to do")
        job = self.keep("async", 9, 3, workers=3, servers=1)
        self.ends(job, 3)
        self.assertIn("from 6 of", job.output())
        self.assertIn("checkpoint 2 of step 9 is complete", job.output())


if __name__ == "__main__":
    unittest.main()
