# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of real processes: after any kill, another job restarts from a complete checkpoint,
with another number of servers, and ends bit-identical to an undisturbed job."""

import os
import pathlib
import random
import resource
import signal
import tempfile
import unittest

import cluster

KEEPING = cluster.BUILD / "tests" / "keeping"
KILLS = int(os.environ.get("STRETTO_CHECKPOINT_KILLS", "6"))


class Checkpoints(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "run"

    def keep(self, *arguments, servers=2, flags=(), **variables):
        return self.launch(KEEPING, *arguments, servers=servers,
                           flags=("--checkpoint", self.folder, *flags), **variables)

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line for line in job.lines if "digest=" in line}
        digests = {line.split("digest=")[1] for line in digests}
        self.assertEqual(len(digests), 1, job.output())
        self.assert_nobody_left()
        return digests.pop()

    def undisturbed(self, *arguments):
        job = self.launch(KEEPING, *arguments, "--every", 0)
        job.expect(r"\[worker 0\] from checkpoint=0 step=0$")
        return self.digest(job)

    def latest(self):
        return (self.folder / "LATEST").read_text(encoding="ascii").strip()

    def test_another_job_on_more_servers_ends_with_the_same_bits(self):
        wanted = self.undisturbed("--steps", 60)
        job = self.keep("--steps", 60)
        job.expect(r"checkpoint \d+ of step 20 is complete$")
        job.expect(r"\[worker 1\] checkpoint step=20$")
        self.kill_all(job)
        job = self.keep("--steps", 60, servers=3)
        found = job.expect(r"the job goes on from checkpoint \d+ of step (\d+), made at .* by 2 "
                           r"workers$")
        self.assertGreaterEqual(int(found[1]), 20)
        self.assertEqual(self.digest(job), wanted)
        # The last was of step 50: no step remains, and the results are equal.
        self.assertEqual(self.digest(self.keep("--steps", 50, servers=1)),
                         self.undisturbed("--steps", 50))

    def test_what_nobody_has_used_since_stays(self):
        arguments = ("--steps", 40, "--untouched")
        wanted = self.undisturbed(*arguments)
        job = self.keep("--steps", 12, "--untouched")
        self.digest(job)
        job = self.keep("--steps", 35, "--untouched")
        job.expect(r"\[worker 0\] from checkpoint=1 step=10$")
        self.digest(job)
        self.assertEqual(self.latest(), "ckpt-3")
        self.assertTrue((self.folder / "ckpt-3").exists())
        job = self.keep(*arguments, servers=3)
        job.expect(r"\[worker 0\] from checkpoint=3 step=30$")
        self.assertEqual(self.digest(job), wanted)

    def test_killed_again_and_again_while_it_writes(self):
        dice = random.Random(7)
        reached = 0
        for kill in range(KILLS):
            job = self.keep("--steps", 100_000, "--every", 1, servers=1 + kill % 3)
            begun = int(job.expect(r"\[worker 0\] from checkpoint=\d+ step=(\d+)$")[1])
            self.assertGreaterEqual(begun, reached, "a complete one has gone")
            found = job.expect(r"\[worker 0\] checkpoint step=(\d+)$", count=dice.randrange(1, 4))
            self.kill_all(job)
            reached = int(found[1])
        job = self.keep("--steps", 100_000, "--every", 1)
        begun = int(job.expect(r"\[worker 0\] from checkpoint=\d+ step=(\d+)$")[1])
        self.kill_all(job)
        steps = begun + 100
        print(f"{KILLS} kills, and step {begun} was reached")
        self.assertEqual(self.digest(self.keep("--steps", steps)),
                         self.undisturbed("--steps", steps))

    def test_a_file_that_cannot_be_written_costs_the_checkpoint_only(self):
        wanted = self.undisturbed("--steps", 400)
        job = self.keep("--steps", 400, STRETTO_TRANSPORT="tcp")
        job.expect(r"\[worker 0\] checkpoint step=10$")
        for name, pid in job.members().items():
            if name.startswith("server"):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, 50_000))
        job.expect(r"no checkpoint was made: .*File too large.*ulimit -f")
        job.expect(r"\[worker 0\] Resource.*File too large")
        self.assertEqual(self.digest(job), wanted)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir())[-1],
                         self.latest(), "what was written of those that failed has gone")

    def test_a_folder_that_cannot_be_made_is_told_at_the_start(self):
        file = self.folder.parent / "file"
        file.touch()
        job = self.launch(KEEPING, flags=("--checkpoint", file / "in" / "none"))
        self.assertNotEqual(job.end(), 0)
        job.expect(r"\[scheduler\] ERROR InvalidArgument .*file.*a file is where a folder should "
                   "be")
        self.one_error(job, "InvalidArgument", "role=scheduler", "op=start")

    def test_a_folder_is_made_with_its_parents(self):
        job = self.keep("--steps", 12, flags=("--checkpoint", self.folder / "runs" / "exp1"))
        self.digest(job)
        self.assertTrue((self.folder / "runs" / "exp1" / "ckpt-1" / "MANIFEST").exists())

    def test_a_job_with_checkpoints_can_begin_anew(self):
        self.digest(self.keep("--steps", 12))
        job = self.keep("--steps", 12, flags=("--resume", "no"))
        job.expect(r"\[worker 0\] from checkpoint=0 step=0$")
        self.digest(job)
        for wrong in ("0", "-1", "5x", "1e9h", "m"):
            job = self.keep("--steps", 12, flags=("--checkpoint-every", wrong))
            self.assertEqual(job.end(), 2, job.output())
            self.one_error(job, "InvalidArgument", f"--checkpoint-every is '{wrong}'",
                           "auto, or a time such as 30s, 10m or 2h")

    def resume(self, path, *arguments, to="new", **keywords):
        """A job that restarts from there, and saves to another folder, or to none."""
        flags = ("--checkpoint", self.folder.parent / to) if to else ()
        return self.launch(KEEPING, *arguments, flags=("--resume", path, *flags), **keywords)

    def test_goes_on_from_another_folder_which_stays_as_it_is(self):
        wanted = self.undisturbed("--steps", 60)
        self.digest(self.keep("--steps", 35))
        before = {path: path.stat() for path in self.folder.rglob("*")}
        for path, step in ((self.folder, 30), (self.folder / "ckpt-2", 20)):
            job = self.resume(path, "--steps", 60, to=f"from-{step}", servers=3)
            job.expect(rf"goes on from checkpoint \d of step {step}, .*, in '.*run'$")
            job.expect(rf"\[worker 0\] from checkpoint=\d step={step}$")
            self.assertEqual(self.digest(job), wanted)
        self.assertEqual(before.keys(), set(self.folder.rglob("*")))
        for path, stat in before.items():
            self.assertEqual(stat.st_mtime_ns, path.stat().st_mtime_ns, path)
        # No folder: nothing is saved, which is reported.
        job = self.resume(self.folder, "--steps", 60, to=None)
        job.expect(r"\[worker 0\] Unsupported: .*--checkpoint DIR")
        self.assertEqual(self.digest(job), wanted)

    def test_goes_on_from_an_older_one_and_begins_again_from_its_own(self):
        self.digest(self.keep("--steps", 35))
        job = self.keep("--steps", 100_000, "--every", 5,
                        flags=("--resume", self.folder / "ckpt-2", "--restarts", 2))
        job.expect(r"\[worker 0\] from checkpoint=2 step=20$")
        job.expect(r"\[worker 1\] checkpoint step=25$")
        os.kill(job.members()["server 0"], signal.SIGKILL)
        begun = int(job.expect(r"begins again from its checkpoint of step (\d+)")[1])
        number = int(job.expect(rf"\[worker 0\] from checkpoint=(\d+) step={begun}$")[1])
        self.assertGreater(number, 3, "its own, and not that which was there")
        self.kill_all(job)
        self.assertEqual(self.digest(self.keep("--steps", begun + 100)),
                         self.undisturbed("--steps", begun + 100))

    def test_what_another_job_saves_to_can_be_read_meanwhile(self):
        self.digest(self.keep("--steps", 35))
        writer = self.keep("--steps", 100_000, "--every", 0)
        writer.expect(r"\[worker 0\] from checkpoint=3 step=30$")
        job = self.resume(self.folder, "--steps", 31)
        job.expect(r"\[worker 0\] from checkpoint=3 step=30$")
        self.assertEqual(job.end(), 0, job.output())
        self.kill_all(writer)

    def test_a_path_that_leads_nowhere_is_told_at_the_start(self):
        self.digest(self.keep("--steps", 12))
        (self.folder.parent / "file").write_text("x", encoding="ascii")
        (self.folder.parent / "empty").mkdir()
        for path, why in (("yes", "nothing is there"), (self.folder / "ckpt-7", "nothing is there"),
                          (self.folder.parent / "empty", "no complete checkpoint is in it"),
                          (self.folder.parent / "file", "it cannot be read: .*file")):
            with self.subTest(path):
                job = self.resume(path, "--steps", 12)
                self.assertNotEqual(job.end(), 0)
                job.expect(r"\[scheduler\] ERROR InvalidArgument .*is to go on from '.*"
                           rf"{path}' .*{why}.*wanted auto, no, a folder of checkpoints, or one")
                self.assertNotIn("[worker", job.output(), "nothing else has started")
        data = bytearray((self.folder / "ckpt-1" / "server-0.0.parts").read_bytes())
        data[100] ^= 1
        (self.folder / "ckpt-1" / "server-0.0.parts").write_bytes(data)
        job = self.resume(self.folder / "ckpt-1", "--steps", 12)
        self.assertNotEqual(job.end(), 0)
        job.expect(r"\[scheduler\] ERROR InvalidArgument .*it cannot be used: .*in '.*run' are "
                   r"complete: 1")

    def test_how_without_where_is_refused(self):
        for flags in (("--checkpoint-every", "5s"), ("--resume", "auto")):
            job = self.launch(KEEPING, flags=flags)
            self.assertEqual(job.end(), 2, job.output())
            self.one_error(job, "InvalidArgument", f"{flags[0]} is for jobs that keep checkpoints",
                           "--checkpoint DIR")

    def test_one_job_at_a_time_writes_to_a_folder(self):
        job = self.keep("--steps", 100_000)
        job.expect(r"\[worker 0\] checkpoint step=10$")
        other = self.keep("--steps", 12)
        self.assertNotEqual(other.end(), 0)
        scheduler = job.members()["scheduler"]
        other.expect(r"\[scheduler\] ERROR InvalidArgument .*run' is in use by the job whose "
                     rf"scheduler is process {scheduler} on .*; wait until")
        tool = self.start("prune", [cluster.BIN / "stretto-checkpoint", "prune", self.folder])
        self.assertEqual(tool.end(), 1)
        tool.expect(r"ERROR InvalidArgument .* is in use by the job whose scheduler")
        self.kill_all(job)
        self.digest(self.keep("--steps", 12))

    def test_a_job_that_makes_none_says_so(self):
        job = self.keep("--steps", 12, "--every", 0)
        self.digest(job)
        job.expect(r"\[scheduler\] .*warning.* the job has made no checkpoint in '.*run': its ")

    def test_a_job_without_a_folder_says_so(self):
        job = self.launch(KEEPING, "--steps", 15)
        job.expect(r"\[worker 0\] Unsupported: .*--checkpoint DIR")
        self.digest(job)


if __name__ == "__main__":
    unittest.main()
