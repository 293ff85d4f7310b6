# SPDX-License-Identifier: Apache-2.0
"""Server migration (--restarts K): servers move to other processes during exchanges of all modes,
rules and codecs, and each contribution counts once."""

import os
import signal
import threading
import time
import unittest

import cluster
import losses_test

REPLICATING = cluster.BUILD / "tests" / "replicating"
RETURNING = cluster.BUILD / "tests" / "returning"
TOKEN = "the token of a test of servers that move"
STARTED = r"\[launcher\] server (\d+) is started, to have the place of server (\d+)"
FOREVER = 600  # Seconds; more than any test waits.
HAS_PLACE = r"server (\d+) has given its place to server (\d+)"


class ServersMove(cluster.ClusterTest):
    def begin(self, *arguments, restarts=3, workers=2, servers=2, **more):
        flags = (("--restarts", restarts) if restarts else ()) + more.pop("flags", ())
        return self.launch(REPLICATING, *arguments, workers=workers, servers=servers, flags=flags,
                           **more)

    def goes_on(self, job, lines=2):
        """Waits for that many more lines of worker 0."""
        before = sum(1 for line in job.lines if line.startswith("[worker 0] step="))
        job.expect(r"\[worker 0\] step=(\d+)$", count=before + lines)

    def digest(self, job):
        self.assertEqual(job.end(), 0, job.output())
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()
        return digests.pop()

    def end_of(self, job, name):
        """Sends SIGTERM to the process of this member, which has ended when this returns."""
        watch = cluster.Watch({name: job.members()[name]})
        os.kill(job.members()[name], signal.SIGTERM)
        self.addCleanup(watch.close)
        return watch

    def started(self, job, name, count=1):
        """The process of this member, once the launcher has reported its start."""
        job.expect(STARTED, count=count)
        deadline = time.monotonic() + cluster.PATIENCE
        while name not in job.members():
            self.assertLess(time.monotonic(), deadline, job.output())
        return job.members()[name]

    def move(self, job, name, moves):
        watch = self.end_of(job, name)
        has = job.expect(HAS_PLACE, count=moves)
        self.assertEqual(f"server {has[1]}", name)
        self.assertEqual(set(watch.ends(cluster.PATIENCE)), {name}, job.output())
        return f"server {has[2]}"

    def test_servers_move_and_the_bits_are_those_of_an_undisturbed_job(self):
        whole = self.digest(self.begin("--steps", 300, restarts=0))
        for more in ({}, {"STRETTO_TRANSPORT": "tcp"}, {"flags": ("--encrypt",)},
                     {"flags": ("--shards", 2)}, {"workers": "2:2"}):
            with self.subTest(more=more):
                job = self.begin("--steps", 300, "--say_every", 5, **more)
                self.goes_on(job, lines=1)
                names = ["server 0", "server 1"]
                for turn in range(6):
                    names[turn % 2] = self.move(job, names[turn % 2], turn + 1)
                    self.goes_on(job)
                self.assertEqual(names, ["server 2", "server 3"])
                self.assertEqual(self.digest(job), whole)
                self.assertNotIn("is lost", job.output())

    def tool(self, job, *arguments):
        """Starts stretto-top for this job; returns its process."""
        scheduler = job.expect(r"\[scheduler\] .*listening at (\S+)")[1]
        process = self.start("stretto-top", [cluster.BIN / "stretto-top", "--job", scheduler,
                                             *arguments], STRETTO_JOB_TOKEN=TOKEN)
        process.status = process.end()
        return process

    def test_who_was_to_have_a_place_is_killed_and_another_gets_it(self):
        whole = self.digest(self.begin("--steps", 300, restarts=0))
        job = self.begin("--steps", 300, "--say_every", 5, STRETTO_LOG_LEVEL="debug",
                         STRETTO_DEAD_AFTER_S=30)
        self.goes_on(job, lines=1)
        source = job.members()["server 0"]
        watch = self.end_of(job, "server 0")
        job.expect(STARTED)
        os.kill(source, signal.SIGSTOP)  # So nothing is copied yet.
        job.expect(r"\[scheduler\] .*server 2 came from")
        os.kill(job.members()["server 2"], signal.SIGKILL)
        job.expect(r"server 2 is lost: .*")
        os.kill(source, signal.SIGCONT)
        job.expect(STARTED, count=2)
        job.expect(HAS_PLACE)
        self.assertEqual(set(watch.ends(cluster.PATIENCE)), {"server 0"})
        self.assertEqual(self.digest(job), whole)

    def test_whoever_comes_is_killed_again_and_again_and_the_server_goes_on(self):
        job = self.begin("--steps", 100_000, STRETTO_JOB_TOKEN=TOKEN, STRETTO_DEAD_AFTER_S=30)
        self.goes_on(job, lines=1)
        os.kill(job.members()["server 1"], signal.SIGSTOP)  # So nothing is copied.
        killer = threading.Thread(target=self.kill_thrice, args=(job, "server 3"))
        killer.start()
        tool = self.tool(job, "--move", 1)
        killer.join()
        os.kill(job.members()["server 1"], signal.SIGCONT)
        self.assertNotEqual(tool.status, 0, tool.output())
        self.assertIn("was lost before it had all, 3 times", tool.output())
        self.goes_on(job)
        self.assertNotIn("has given its place", job.output())
        self.kill_all(job)

    def kill_thrice(self, job, name):
        for attempt in range(3):
            os.kill(self.started(job, name, attempt + 1), signal.SIGKILL)

    def test_a_command_moves_a_server_and_says_so(self):
        job = self.begin("--steps", 100_000, STRETTO_JOB_TOKEN=TOKEN)
        self.goes_on(job, lines=1)
        tool = self.tool(job, "--move", 1)
        self.assertEqual(tool.status, 0, tool.output())
        self.assertIn("server 3 has the place of server 1 now", tool.output())
        self.goes_on(job)
        for arguments, says in ((("--move", 1, "--to", "nowhere"), "there is no host 'nowhere'"),
                                (("--move", 9), "there is no server 9: the job has 2 places"),
                                (("--move", 2), "server 2 does not serve: server 0 has that place"),
                                (("--to", "here"), "say which by --move SERVER")):
            with self.subTest(arguments=arguments):
                tool = self.tool(job, *arguments)
                self.assertNotEqual(tool.status, 0, tool.output())
                self.assertIn(says, tool.output())
        self.goes_on(job)
        self.kill_all(job)

    def test_jobs_in_which_no_server_moves_say_why_and_go_on(self):
        for flags, says in (((), "in jobs that were started with --restarts K"),
                            (("--restarts", 1, "--replicas", 2), "end it with SIGTERM")):
            with self.subTest(flags=flags):
                job = self.begin("--steps", 100_000, restarts=0, flags=flags,
                                 STRETTO_JOB_TOKEN=TOKEN)
                self.goes_on(job, lines=1)
                tool = self.tool(job, "--move", 0)
                self.assertNotEqual(tool.status, 0, tool.output())
                self.assertIn(says, tool.output())
                self.goes_on(job)
                self.kill_all(job)

    def test_a_place_that_nobody_has_in_time_is_lost_as_before(self):
        job = self.launch(RETURNING, "--steps", 100_000, workers=2, servers=2,
                          flags=("--restarts", 3), STRETTO_DRAIN_S=2)
        job.expect(r"\[worker 0\] step=")
        source = job.members()["server 0"]
        os.kill(source, signal.SIGTERM)
        comes = self.started(job, "server 2")
        os.kill(comes, signal.SIGSTOP)
        job.expect(r"server 0 is lost: .*nobody had its place within 2 s \(STRETTO_DRAIN_S\)")
        job.expect(r"\[launcher\] server 0 .*; another is started in its place")
        since = len(job.lines)
        job.expect(r"\[worker 0\] step=", count=2, since=since)
        os.kill(comes, signal.SIGKILL)
        self.kill_all(job)

    def test_a_second_signal_ends_a_server_that_waits(self):
        job = self.launch(RETURNING, "--steps", 100_000, workers=2, servers=2,
                          flags=("--restarts", 3), STRETTO_DRAIN_S=FOREVER,
                          STRETTO_DEAD_AFTER_S=FOREVER)  # Only the signal can end it.
        job.expect(r"\[worker 0\] step=")
        source = job.members()["server 0"]
        os.kill(source, signal.SIGTERM)
        os.kill(source, signal.SIGTERM)  # Two signals within a second count as one.
        comes = self.started(job, "server 2")
        os.kill(comes, signal.SIGSTOP)
        self.goes_on(job)
        watch = cluster.Watch({"server 0": source})
        self.addCleanup(watch.close)
        self.assertEqual(watch.ends(1.2), {}, job.output())
        os.kill(source, signal.SIGTERM)
        self.assertEqual(set(watch.ends(cluster.PATIENCE)), {"server 0"}, job.output())
        job.expect(r"server 0 is lost: .*the server was asked to end by a signal")
        job.expect(r"\[launcher\] server 0 .*; another is started in its place")
        self.goes_on(job)
        os.kill(comes, signal.SIGKILL)
        self.kill_all(job)

    def test_who_is_still_coming_holds_up_nobody_at_the_end(self):
        job = self.begin("--steps", 150, "--say_every", 5, STRETTO_DRAIN_S=60)
        self.goes_on(job, lines=1)
        source = job.members()["server 0"]
        os.kill(source, signal.SIGTERM)
        comes = self.started(job, "server 2")
        os.kill(comes, signal.SIGSTOP)  # Before it joins, or just then.
        begun = time.monotonic()
        self.digest(job)
        self.assertLess(time.monotonic() - begun, 30.0)


class InElasticJobs(losses_test.LosingTest):
    """Workers are lost, and join, during migrations."""

    flags = ()

    def begin_all(self, **variables):
        return self.begin("1:3", flags=("--restarts", 6, *self.flags), **variables)

    def has_moved(self, job, source, heir):
        job.expect(rf"server {source} has given its place to server {heir}$")

    def comes(self, job, lost, new):
        job.expect(rf"worker {lost} .*; the job goes on without it; "
                   rf"worker {new} is started for it$")
        job.expect(rf"\[worker {new}\] newcomers 1 before round \d+: us$")
        job.expect(rf"\[worker {new}\] round \d+$")

    def test_places_move_while_workers_are_lost_and_come(self):
        job = self.begin_all()
        os.kill(job.members()["server 0"], signal.SIGTERM)
        self.has_moved(job, 0, 2)
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        os.kill(job.members()["server 1"], signal.SIGTERM)
        os.kill(job.members()["worker 1"], signal.SIGKILL)
        self.has_moved(job, 1, 3)
        self.comes(job, 1, 3)
        self.go_on(job, ("worker 0", "worker 2", "worker 3"))
        members = job.members()
        os.kill(members["worker 0"], signal.SIGKILL)
        os.kill(members["server 2"], signal.SIGTERM)
        os.kill(members["server 3"], signal.SIGTERM)
        self.has_moved(job, 2, 0)
        self.has_moved(job, 3, 1)
        self.comes(job, 0, 4)
        self.go_on(job, ("worker 2", "worker 3", "worker 4"))
        self.stop()
        self.done(job, ("worker 2", "worker 3", "worker 4"))

    def test_who_was_to_have_a_place_is_killed(self):
        job = self.begin_all(STRETTO_DEAD_AFTER_S=30)
        source = job.members()["server 0"]
        os.kill(source, signal.SIGTERM)
        job.expect(STARTED)
        os.kill(source, signal.SIGSTOP)  # So nothing is copied yet.
        while "server 2" not in job.members():
            self.assertTrue(job.running(), job.output())
        os.kill(job.members()["server 2"], signal.SIGKILL)
        job.expect(STARTED, count=2)
        os.kill(source, signal.SIGCONT)
        self.has_moved(job, 0, 2)
        self.go_on(job, ("worker 0", "worker 1", "worker 2"))
        self.stop()
        self.done(job, ("worker 0", "worker 1", "worker 2"))


class WithSeveralShards(InElasticJobs):
    flags = ("--shards", 2)


if __name__ == "__main__":
    unittest.main()
