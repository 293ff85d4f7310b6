# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of PyTorch programs: their contents, their times, and errors for impossible or
mismatched ones (checkpoints_worker.py, checkpoints_misuse_worker.py)."""

import json
import os
import re
import signal
import sys
import unittest

import jobs
import kept
from jobs import cluster


class Checkpoints(kept.KeptTest):

    def test_what_of_pytorchs_own_cannot_be_saved_is_told(self):
        for way, words in (("zero", "another part of what a ZeroRedundancyOptimizer remembers"),
                           ("twins", "cannot be told apart"), ("groups_of_one", "of 2 workers")):
            with self.subTest(way):
                lines = self.misuse(way, servers=0)
                for rank in (0, 1):
                    self.assertIn("Unsupported", lines[rank][-2], lines[rank])
                    self.assertIn(words, lines[rank][-2])

    def test_a_script_of_pytorchs_own_that_does_not_restore_is_stopped(self):
        self.ends(self.keep("torch", 2, 2))
        job = self.keep("torch", 4, 2, "lacking")
        self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0)
        self.assertIn("has not called stretto.torch.restore() before its first step", job.output())
        self.assertEqual((self.folder / "LATEST").read_text().strip(), "ckpt-1")

    def test_what_is_in_it_is_a_state_dict(self):
        self.ends(self.keep("sync", 2, 2))
        self.assertIn("checkpoint 1 is complete: step 2", self.tool("inspect", self.folder))
        self.tool("verify", self.folder)
        found = json.loads(self.tool("inspect", "--json", self.folder))
        names = {each["name"] for each in found["checkpoints"][0]["attached"]}
        for name in ("0.weight", "1.running_mean", "seen", "attached/schedule",
                     "optimizer/0.weight/exp_avg"):
            self.assertIn(name, names)

    def test_the_program_of_the_page(self):
        page = (cluster.SOURCE / "docs" / "CHECKPOINTS.md").read_text(encoding="utf-8")
        program = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
        path = self.folder.with_name("program.py")
        path.write_text(program + '\nprint("done", flush=True)\n', encoding="utf-8")
        for newest, workers in ((3, 2), (4, 3)):
            job = self.launch(sys.executable, path, flags=("--checkpoint", self.folder),
                              workers=workers)
            self.assert_done(job, workers)
            self.assertEqual((self.folder / "LATEST").read_text().strip(), f"ckpt-{newest}")
            path.write_text(path.read_text(encoding="utf-8").replace("300", "400"),
                            encoding="utf-8")
        self.assertIn("from checkpoint 3 of step 300", job.output())

    def test_all_of_several_models_is_in_it(self):
        for way in ("gan", "state"):
            with self.subTest(way):
                self.folder = self.folder.with_name(way)
                saved = self.misuse(way)
                again = self.misuse(f"{way}_again")
                for rank in (0, 1):
                    self.assertIn("returned True", saved[rank])
                    self.assertIn("from 3", again[rank])
                    self.assertEqual([line for line in saved[rank] if line.startswith("sums")],
                                     [line for line in again[rank] if line.startswith("sums")])
                if way == "gan":
                    self.assertIn("restore() is called once", "".join(again[0]))

    def test_twins_are_told_apart_by_names(self):
        job = self.python("checkpoints_misuse_worker.py", "gan",
                          flags=("--checkpoint", self.folder))
        self.assert_done(job)
        self.assertIn("optimizers 1 and 2 have parameters of equal names", job.output())
        self.folder = self.folder.with_name("named")
        self.assertIn("returned True", self.misuse("named")[0])
        self.assertIn("restore: checkpoint 1 is of a program that trains something else",
                      self.misuse("named_swapped")[0][0])

    def test_no_second_copy_of_a_model_is_needed(self):
        saved = self.misuse("memory")
        again = self.misuse("memory_again")
        for rank in (0, 1):
            self.assertEqual(saved[rank][-2], again[rank][-2], "the sums")
            # The existing model has 64 MiB, and the optimizer's state 128.
            more = [int(line.split()[1]) for line in again[rank] if line.startswith("more ")]
            self.assertLess(more[0], 128 + 32, again[rank])

    def test_what_comes_after_the_cut_is_not_in_it(self):
        """The checkpoint is written later; a job waits for it at its end."""
        wanted = self.ends(self.keep("sync", 12, 6, "later"))
        self.assertEqual((self.folder / "LATEST").read_text().strip(), "ckpt-2")
        self.tool("verify", self.folder)
        self.assertEqual(self.ends(self.keep("sync", 12, 6, servers=1)), wanted)
        for path in (self.folder / "ckpt-2").iterdir():
            path.unlink()
        job = self.keep("sync", 12, 6, "later", servers=3)
        job.expect(r"\[worker 1\] from 6 of", jobs.TORCH_PATIENCE)
        self.assertEqual(self.ends(job), wanted)

    def test_by_the_clock_all_make_it_at_the_same_step(self):
        job = self.python("checkpoints_misuse_worker.py", "due", flags=(
            "--checkpoint", self.folder, "--checkpoint-every", "0.2s"))
        self.assert_done(job)
        made = [[line for line in job.lines_of(f"worker {rank}") if line.startswith("made")]
                for rank in (0, 1)]
        self.assertEqual(made[0], made[1])
        self.assertIn(f"checkpoint 3 of step {made[0][0].split()[-1][:-1]} is complete",
                      job.output())

    def test_another_program_is_refused_before_anything_is_changed(self):
        self.misuse("gan")
        self.folder = self.folder.with_name("one")
        self.misuse("state")
        for way, words in (("kind", "['SGD', "), ("groups", "optimizers and their groups are"),
                           ("width", "is float32[5] here and float32[4] there")):
            with self.subTest(way):
                lines = self.misuse(way)
                for rank in (0, 1):
                    self.assertIn("Mismatch", lines[rank][0])
                    self.assertIn("checkpoint 1 is of a program that trains something else",
                                  lines[rank][0])
                    self.assertIn(words, lines[rank][0])
        lines = self.misuse("first")
        self.assertIn("has not called stretto.torch.restore()", lines[0][0])
        self.assertEqual((self.folder / "LATEST").read_text().strip(), "ckpt-1")

    def test_what_cannot_be_saved_is_told(self):
        lines = self.misuse("names")[0]
        for line, words in zip(lines, ("TypeError: what is attached as 'x' is a int",
                                       "ValueError: the name is ''",
                                       "TypeError: what is attached as 'x' is a type",
                                       "something else is attached",
                                       "ValueError: step is -1",
                                       "TypeError: what is attached as 'x' cannot be saved")):
            self.assertIn(words, line)
        self.assertIn("there is nothing to save", self.misuse("nothing")[0][0])

    def test_a_folder_that_cannot_be_written_is_told_and_the_third_time_raises(self):
        job = self.python("checkpoints_misuse_worker.py", "full",
                          flags=("--checkpoint", self.folder))
        self.assert_done(job)
        said = job.lines_of("worker 1")
        self.assertIn("1 returned False", said)
        self.assertIn("2 returned False", said)
        self.assertTrue(any(line.startswith("3 InvalidArgument") for line in said), said)
        self.assertIn("no checkpoint of step 1 was made", job.output())

    def test_a_program_that_does_not_restore_is_stopped_before_it_trains(self):
        self.ends(self.keep("sync", 2, 2))
        job = self.keep("sync", 4, 2, "lacking")
        self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0)
        self.assertIn("has not called stretto.torch.restore() before its first step", job.output())
        self.assertEqual((self.folder / "LATEST").read_text().strip(), "ckpt-1")
        self.ends(self.keep("sync", 4, 2, "lacking", flags=("--resume", "no")))

    def test_who_comes_later_hears_that_it_cannot_know_the_step(self):
        stop = self.folder.with_name("stop")
        job = self.python("checkpoints_misuse_worker.py", "newcomer", stop, workers="1:2",
                          flags=("--checkpoint", self.folder, "--restarts", 1))
        for rank in (0, 1):
            job.expect(rf"\[worker {rank}\] begins at 0$", jobs.TORCH_PATIENCE)
        os.kill(job.member("worker 1"), signal.SIGKILL)
        job.expect(r"\[worker 2\] stretto.errors.InvalidArgument: .*TorchState\(step=0\)",
                   jobs.TORCH_PATIENCE)
        stop.touch()
        job.end(jobs.TORCH_PATIENCE)

    def test_a_job_without_a_folder_trains_without_checkpoints(self):
        job = self.python("checkpoints_worker.py", "sync", 4, 2)
        self.ends(job)
        self.assertEqual(job.output().count("checkpoint 2 False"), 2, job.output())
        self.assertIn("this job has no folder for them", job.output())


if __name__ == "__main__":
    unittest.main()
