# SPDX-License-Identifier: Apache-2.0
"""A scheduler that crashes or hangs restarts in jobs of fixed size (--restarts): real processes,
and the program checks every element of every sum."""

import os
import pathlib
import random
import resource
import shutil
import signal
import tempfile
import time
import unittest

import cluster

KEEPING = cluster.BUILD / "tests" / "keeping"
RETURNING = cluster.BUILD / "tests" / "returning"
REPLICATING = cluster.BUILD / "tests" / "replicating"
BACK = r"\[launcher\] scheduler .*; another is started in its place"
ALL_CAME = r"\[scheduler\] .*all members have come again, or are lost, after ([0-9.]+) s"
DEAD_AFTER = 2


def at(seconds, share):
    """The quantile of the values for this share."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class SchedulerReturnsBase(cluster.ClusterTest):
    def so_far(self, job, pattern):
        return sum(1 for line in list(job.lines) if pattern in line)

    def goes_on(self, job, word="step=", lines=2):
        """Waits for `lines` more such lines of each worker."""
        for worker in (0, 1):
            text = f"[worker {worker}] {word}"
            job.expect(text.replace("[", r"\[").replace("]", r"\]"),
                       count=self.so_far(job, text) + lines)

    def strike(self, job, number=signal.SIGKILL):
        """Kills the scheduler; returns how long it took until all had re-registered."""
        before = self.so_far(job, "all members have come again")
        struck = time.monotonic()
        os.kill(job.members()["scheduler"], number)
        job.expect(ALL_CAME, count=before + 1)
        return time.monotonic() - struck

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assert_nobody_left()
        return digests.pop()


class SchedulerReturns(SchedulerReturnsBase):
    def begin(self, *arguments, restarts=8, workers=2, servers=2, **more):
        return self.launch(RETURNING, *arguments, workers=workers, servers=servers,
                           flags=("--restarts", restarts, *more.pop("flags", ())), **more)

    def journal(self, job):
        variables = cluster.variables_of(job.members()["scheduler"])
        return pathlib.Path(variables["STRETTO_SCHEDULER_JOURNAL"])

    # ---- it comes back

    def test_it_is_killed_again_and_again_and_all_sums_are_right(self):
        draw = random.Random(11)
        took = []
        for transport in ("tcp", "auto"):
            with self.subTest(transport):
                job = self.begin("--steps", 10**6, "--meet_every", 10, "--elements", 30_000,
                                 restarts=50, STRETTO_TRANSPORT=transport)
                self.goes_on(job)
                for _ in range(12):
                    took.append(self.strike(job))
                    self.goes_on(job, word="met=", lines=1 + draw.randrange(3))
                self.assertNotIn("WRONG", job.output())
                self.assertEqual(self.so_far(job, "ERROR"), 0, job.output())
                self.kill_all(job)
        print(f"a killed scheduler served again after {at(took, 0.5):.2f} s (p50), "
              f"{at(took, 0.99):.2f} s (p99), of {len(took)}")
        self.assertLess(at(took, 0.99), 5)

    def test_the_job_ends_well_and_with_the_same_bits(self):
        steps = ("--steps", 600, "--meet_every", 50, "--elements", 100_000)
        whole = self.ends_well(self.launch(RETURNING, *steps))
        job = self.begin(*steps)
        self.goes_on(job, lines=1)
        folder = self.journal(job).parent
        self.assertTrue(folder.is_dir())
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        for _ in range(3):
            self.strike(job)
        self.assertEqual(self.ends_well(job), whole)
        self.assertFalse(folder.exists(), "the launcher removes what it has made")

    def test_one_that_stands_still_is_replaced_and_calls_wait_for_it(self):
        job = self.begin("--steps", 10**6, "--meet_every", 10, "--elements", 3000,
                         STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.goes_on(job)
        for _ in range(3):
            self.strike(job, signal.SIGSTOP)
            self.goes_on(job, word="met=", lines=2)
        job.expect(r"\[launcher\] scheduler was lost to the job and killed; another is started")
        self.kill_all(job)

    def test_data_goes_on_while_it_is_away(self):
        job = self.begin("--steps", 10**6, "--elements", 3000, STRETTO_DEAD_AFTER_S=4)
        self.goes_on(job)
        os.kill(job.members()["scheduler"], signal.SIGSTOP)
        self.goes_on(job, lines=3)
        self.assertEqual(self.so_far(job, "another is started"), 0, "it was away all the time")
        job.expect(ALL_CAME)
        self.goes_on(job)
        self.kill_all(job)

    def test_workers_that_leave_meanwhile_wait_for_it(self):
        job = self.begin("--steps", 101, "--elements", 100_000, STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.goes_on(job, lines=1)
        os.kill(job.members()["scheduler"], signal.SIGSTOP)
        self.ends_well(job)
        job.expect(BACK)

    def test_scheduler_that_is_done_is_not_restarted(self):
        """A program that saves for longer than the timeout of a silent scheduler."""
        program = f"{RETURNING} --steps 20 --elements 3000; [ $STRETTO_RANK != 0 ] || sleep 12"
        job = self.launch("/bin/sh", "-c", program, workers=2, servers=2,
                          flags=("--restarts", 8), STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.ends_well(job)
        self.assertEqual(self.so_far(job, "another is started"), 0, job.output())

    def test_who_is_under_a_shell_ends_with_a_launcher_that_is_killed(self):
        program = f"{RETURNING} --steps 1000000 --elements 3000; true"
        job = self.launch("/bin/sh", "-c", program, workers=2, servers=2,
                          flags=("--restarts", 8))
        self.goes_on(job)
        job.send(signal.SIGKILL)
        watch = cluster.Watch({str(pid): pid for pid in self.survivors()})
        self.addCleanup(watch.close)
        watch.ends(5)  # STRETTO_SCHEDULER_ABSENCE_S is 120.
        self.assert_nobody_left()

    def test_a_server_that_is_killed_with_it_comes_back_too(self):
        job = self.begin("--steps", 10**6, "--meet_every", 20, "--elements", 30_000)
        self.goes_on(job)
        for attempt, order in enumerate((("scheduler", "server 0"), ("server 1", "scheduler"))):
            members = job.members()
            for name in order:
                os.kill(members[name], signal.SIGKILL)
            job.expect(r"\[launcher\] server \d .*; another is started", count=attempt + 1)
            self.goes_on(job, word="met=")
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_checkpoints_that_are_being_made_are_completed(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--restarts", 20, "--checkpoint", pathlib.Path(folder) / "run")
            job = self.launch(KEEPING, "--steps", 10**6, "--every", 2, flags=flags)
            made = r"\[worker 1\] checkpoint step=\d+$"
            job.expect(made)
            for _ in range(10):
                self.strike(job)
                job.expect(made, count=self.so_far(job, "[worker 1] checkpoint step=") + 2)
            self.assertEqual(self.so_far(job, "ERROR"), 0, job.output())
            self.assertEqual(self.so_far(job, "begins again"), 0, job.output())
            self.kill_all(job)

    def test_one_that_is_lost_more_often_than_checkpoints_are_due_has_some_made(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--checkpoint", pathlib.Path(folder) / "run", "--checkpoint-every", "1h")
            job = self.launch(KEEPING, "--steps", 10**6, "--due",
                              flags=("--restarts", 20, *flags))
            job.expect("from checkpoint=0", count=2)  # All know that they are members.
            for count in range(1, 4):
                self.strike(job)
                job.expect(r"\[worker 1\] checkpoint step=\d+$", count=count)
            self.assertEqual(self.so_far(job, "ERROR"), 0, job.output())
            self.kill_all(job)

    def test_a_job_without_servers(self):
        job = self.launch(cluster.BUILD / "tests" / "grouping", workers=2, servers=0,
                          flags=("--restarts", 2))
        self.assertEqual(job.end(), 0, job.output())

    # ---- it does not

    def lost(self, job, *words):
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "SchedulerLost", "role=scheduler", *words)
        self.assert_nobody_left()

    def test_as_often_as_may_be(self):
        job = self.begin("--steps", 10**6, restarts=1)
        self.goes_on(job)
        self.strike(job)
        self.goes_on(job)  # By now they know that it is the last one.
        struck = time.monotonic()
        os.kill(job.members()["scheduler"], signal.SIGKILL)
        self.lost(job, "killed by SIGKILL")
        self.assertLess(time.monotonic() - struck, 10)
        for worker in ("worker 0", "worker 1"):
            self.assert_error(job.errors_of(worker)[0], "SchedulerLost", "peer=scheduler")

    def test_without_restarts_its_loss_is_the_end(self):
        job = self.launch(RETURNING, "--steps", 10**6)
        self.goes_on(job)
        os.kill(job.members()["scheduler"], signal.SIGKILL)
        self.lost(job, "killed by SIGKILL")
        self.assertEqual(self.so_far(job, "another is started"), 0)

    def test_a_worker_that_is_killed_with_it_ends_the_job_and_all_others_hear_why(self):
        for names in (("worker 1", "scheduler"), ("scheduler", "worker 1")):
            job = self.begin("--steps", 10**6)
            self.goes_on(job, lines=1)
            members = job.members()
            struck = time.monotonic()
            os.kill(members[names[0]], signal.SIGKILL)
            job.expect(rf"\[launcher\] {names[0]} killed by SIGKILL")  # It knows of only one.
            os.kill(members[names[1]], signal.SIGKILL)
            self.assertNotEqual(job.end(), 0)
            self.assertLess(time.monotonic() - struck, 3, "nobody had to be asked to end")
            for name in ("worker 0", "server 0", "server 1"):
                [error] = job.errors_of(name)
                self.assert_error(error, "PeerLost", "peer=worker 1")
            self.assertIn("role=worker rank=1", job.lines[-1])
            self.assert_nobody_left()

    def test_a_server_that_nobody_can_replace_is_killed_with_it(self):
        for names in (("server 1", "scheduler"), ("scheduler", "server 1")):
            job = self.launch(RETURNING, "--steps", 10**6,
                              flags=("--restarts", 3, "--shards", 2))
            self.goes_on(job, lines=1)
            members = job.members()
            for name in names:
                os.kill(members[name], signal.SIGKILL)
            self.assertNotEqual(job.end(), 0)
            for name in ("worker 0", "worker 1", "server 0"):
                self.assertEqual(job.errors_of(name)[0].code, "ServerLost", job.output())
            self.assert_nobody_left()

    def test_a_worker_that_dies_meanwhile_is_found_out(self):
        job = self.begin("--steps", 10**6, STRETTO_DEAD_AFTER_S=DEAD_AFTER)
        self.goes_on(job)
        members = job.members()
        os.kill(members["scheduler"], signal.SIGSTOP)
        os.kill(members["worker 1"], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0)
        self.one_error(job, "PeerLost", "role=worker rank=1", "killed by SIGKILL")
        self.assert_nobody_left()

    def test_a_journal_that_is_gone_or_damaged_is_an_error(self):
        for spoil in (lambda path: shutil.rmtree(path.parent), self.flip):
            job = self.begin("--steps", 10**6, "--meet_every", 10)
            self.goes_on(job)
            spoil(self.journal(job))
            os.kill(job.members()["scheduler"], signal.SIGKILL)
            job.expect(BACK)
            self.lost(job, "journal")

    @staticmethod
    def flip(path):
        """A bit of the first commit."""
        with open(path, "r+b") as file:
            file.seek(30)
            byte = file.read(1)[0]
            file.seek(30)
            file.write(bytes([byte ^ 1]))

    def test_a_disk_that_takes_no_more_costs_the_return_only(self):
        job = self.begin("--steps", 10**6, "--meet_every", 10)
        self.goes_on(job, word="met=")
        pid = job.members()["scheduler"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (self.journal(job).stat().st_size,) * 2)
        job.expect(r"\[scheduler\] .*from now on the job will not outlive its scheduler: ")
        self.goes_on(job, word="met=")
        os.kill(pid, signal.SIGKILL)
        job.expect(r"\[worker 0\] ERROR SchedulerLost", 5)
        self.lost(job)

    def test_no_folder_is_said_and_costs_the_return_only(self):
        job = self.begin("--steps", 200, "--elements", 1000, STRETTO_RUNTIME_DIR="/proc/nowhere")
        self.ends_well(job)
        job.expect(r"\[launcher\] warning: the job will not outlive its scheduler: ")


class WithStandbys(SchedulerReturnsBase):
    """Jobs of all state that servers can keep, each with a standby."""

    def begin(self, *arguments, restarts=20, **more):
        return self.launch(REPLICATING, "--steps", 600, "--say_every", 5, "--elements", 30_000,
                           *arguments, workers=2, servers=2,
                           flags=("--replicas", 2, "--restarts", restarts), **more)

    def whole(self):
        """The bits of an undisturbed job."""
        return self.ends_well(self.launch(REPLICATING, "--steps", 600, "--elements", 30_000))

    def kill(self, job, *names):
        members = job.members()
        for name in names:
            os.kill(members[name], signal.SIGKILL)

    def test_it_is_killed_and_with_it_servers_of_either_kind(self):
        whole = self.whole()
        draw = random.Random(5)
        for transport in ("auto", "tcp", "zmq"):
            with self.subTest(transport):
                job = self.begin(STRETTO_TRANSPORT=transport)
                self.goes_on(job, lines=1)
                self.strike(job)
                self.goes_on(job)
                for attempt in range(4):
                    names = ["scheduler", f"server {draw.randrange(4)}"]
                    draw.shuffle(names)
                    self.kill(job, *names)
                    job.expect(ALL_CAME, count=attempt + 2)
                    job.expect(r"\[launcher\] server \d .*; another is started", count=attempt + 1)
                    job.expect(r"has all that server \d has, and stands by", count=attempt + 1)
                    self.goes_on(job)
                self.assertEqual(self.ends_well(job), whole)

    def test_both_servers_that_serve_are_lost_with_it(self):
        job = self.begin("--steps", 10**6)
        self.goes_on(job, lines=1)
        self.kill(job, "server 0", "scheduler", "server 1")
        job.expect(r"server 0 is lost: .*; server 2, which stood by, has its place")
        job.expect(r"server 1 is lost: .*; server 3, which stood by, has its place")
        self.goes_on(job)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_it_is_killed_as_soon_as_another_is_started_to_stand_by(self):
        job = self.begin("--steps", 10**6)
        self.goes_on(job, lines=1)
        self.kill(job, "server 1")
        job.expect(r"\[launcher\] server 1 .*; another is started")
        self.strike(job)
        job.expect("server 1 has all that server 3 has, and stands by for it")
        self.goes_on(job)
        self.kill(job, "scheduler", "server 3")
        job.expect("server 3 is lost: .*; server 1, which stood by, has its place")
        self.goes_on(job)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_checkpoints_are_made_whoever_is_killed(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "run"
        job = self.launch(KEEPING, "--steps", 10**6, "--every", 2, flags=(
            "--replicas", 2, "--restarts", 50, "--checkpoint", folder))
        made = r"\[worker 1\] checkpoint step=\d+$"
        job.expect(made)
        serving = 0
        for attempt in range(5):
            self.kill(job, *(("scheduler", f"server {serving}") if attempt % 2 else ("scheduler",)))
            job.expect(ALL_CAME, count=attempt + 1)
            job.expect(made, count=self.so_far(job, "[worker 1] checkpoint step=") + 2)
            if attempt % 2:
                job.expect(f"server {serving} has all that server {2 - serving} has")
                serving = 2 - serving
        self.assertEqual(self.so_far(job, "ERROR"), 0, job.output())
        self.assertEqual(self.so_far(job, "begins again"), 0, job.output())
        self.kill_all(job)

    def test_who_has_a_place_alone_is_lost_with_it(self):
        job = self.begin("--steps", 10**6, restarts=1)
        self.goes_on(job, lines=1)
        self.kill(job, "server 2", "scheduler", "server 0")
        self.assertNotEqual(job.end(), 0)
        self.assertNotIn("WRONG", job.output())
        for worker in ("worker 0", "worker 1"):
            self.assertEqual(len(job.errors_of(worker)), 1, job.output())
        self.assert_nobody_left()


class Unlaunched(cluster.ClusterTest):
    def test_who_does_not_come_back_in_time_is_missed_by_all(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        job = cluster.ByHand(self, STRETTO_SCHEDULER_JOURNAL=folder / "journal",
                             STRETTO_SCHEDULER_RESTARTS=1, STRETTO_SCHEDULER_ABSENCE_S=2)
        others = [job.server(rank) for rank in (0, 1)]
        others += [job.worker(rank, ("--rounds", 10**7)) for rank in (0, 1)]
        for worker in others[2:]:  # Both servers have answered them.
            worker.expect("started")
        struck = time.monotonic()
        job.scheduler.send(signal.SIGKILL)
        for one in others:
            self.assertNotEqual(one.end(), 0)
            self.one_error(one, "SchedulerLost", "and it was not back within 2 s")
        self.assertLess(time.monotonic() - struck, 30)


if __name__ == "__main__":
    unittest.main()
