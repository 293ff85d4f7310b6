# SPDX-License-Identifier: Apache-2.0
"""Members that die, hang, leave too early or get SIGTERM, during training: all others exit within
seconds with one ERROR line that names the lost member, and no process is left running.
"""

import os
import resource
import signal
import time
import unittest

import cluster

MOST_SECONDS = 10.0  # From a failure to the end of the last survivor.
LOST = {"worker": "PeerLost", "server": "ServerLost", "scheduler": "SchedulerLost"}
FOR_EVER = ("--rounds", 10**9, "--progress", 5)


def role_of(name):
    return name.split()[0]


class Failures(cluster.ClusterTest):
    """Two workers and two servers, always."""

    def start_by_hand(self, *flags, **variables):
        """A training job without a launcher: each process shows its own end."""
        job = cluster.ByHand(self, **variables)
        for rank in (0, 1):
            job.server(rank)
        for rank in (0, 1):
            job.worker(rank, flags or FOR_EVER)
        for rank in (0, 1):
            job.everybody[f"worker {rank}"].expect("progress round=10$")
        return job

    def start_launched(self, *flags, **variables):
        job = self.train(*(flags or FOR_EVER), launcher=("--settle", 20), **variables)
        job.expect("progress round=10$", count=2)
        return job

    def check_survivors(self, job, victim, since, code, seconds=MOST_SECONDS):
        """All but the victim end in time, and name it once."""
        last = 0.0
        for name, process in job.everybody.items():
            if name == victim:
                continue
            left = max(0.1, since + seconds - time.monotonic())
            self.assertEqual(process.end(left), cluster.exit_of_loss(name), process.output())
            error = self.one_error(process, code, victim)
            self.assertEqual(error.peer, victim, error.text)
            self.assertEqual(error.role, role_of(name), error.text)
            last = max(last, process.ended_at - since)
        return last

    def test_kill_by_hand(self):
        for victim in ("worker 1", "worker 0", "server 0", "server 1", "scheduler"):
            with self.subTest(victim):
                job = self.start_by_hand()
                since = time.monotonic()
                job.everybody[victim].send(signal.SIGKILL)
                last = self.check_survivors(job, victim, since, LOST[role_of(victim)])
                self.assertEqual(job.everybody[victim].end(), 137)
                print(f"MEASURED kill -9 of {victim}: all had ended after {last * 1000:.0f} ms")
                self.assert_nobody_left()

    def test_kill_over_every_other_transport(self):
        for transport in ("tcp", "zmq", "shm", "fabric"):
            for victim in ("worker 1", "server 0"):
                with self.subTest(transport=transport, victim=victim):
                    job = self.start_by_hand(STRETTO_TRANSPORT=transport)
                    since = time.monotonic()
                    job.everybody[victim].send(signal.SIGKILL)
                    last = self.check_survivors(job, victim, since, LOST[role_of(victim)])
                    print(f"MEASURED kill -9 of {victim} over {transport}: all had ended after "
                          f"{last * 1000:.0f} ms")
                    self.assert_nobody_left()

    def test_kill_under_the_launcher(self):
        for victim in ("worker 1", "server 0", "scheduler"):
            with self.subTest(victim):
                job = self.start_launched()
                members = job.members()
                self.assertEqual(len(members), 5, members)
                watch = cluster.Watch(members)
                self.addCleanup(watch.close)
                since = time.monotonic()
                os.kill(members[victim], signal.SIGKILL)
                ends = watch.ends(MOST_SECONDS)
                self.assertEqual(sorted(ends), sorted(members), "some are still running")
                self.assertEqual(job.end(MOST_SECONDS), 137, job.output())
                self.assert_nobody_left()
                error = self.one_error(job, LOST[role_of(victim)], "killed by SIGKILL")
                self.assertEqual(error.role, role_of(victim), error.text)
                if victim != "scheduler":
                    self.assertEqual(error.who, victim, error.text)
                for name in members:
                    if name != victim:
                        told = job.errors_of(name)
                        self.assertEqual(len(told), 1, job.output())
                        self.assert_error(told[0], LOST[role_of(victim)], victim)
                last = max(ends.values()) - since
                launcher = job.ended_at - since
                print(f"MEASURED kill -9 of {victim} under the launcher: all had ended after "
                      f"{last * 1000:.0f} ms, the launcher after {launcher * 1000:.0f} ms")

    def test_a_short_stop_is_no_failure(self):
        job = self.start_by_hand("--rounds", 10**9, "--progress", 1)
        stopped = job.everybody["worker 1"]
        other = job.everybody["worker 0"]
        stopped.send(signal.SIGSTOP)
        self.assertIsNone(self.first_end(job, 2.0), "somebody ended while a worker stood still")
        stopped.send(signal.SIGCONT)
        reached = sum("progress" in line for line in other.lines)
        other.expect("progress", count=reached + 20)  # It continues.
        for process in job.everybody.values():
            self.assertTrue(process.running(), process.output())
            self.assertEqual(process.errors(), [])

    def first_end(self, job, seconds):
        """The name of the first process of the job to end within `seconds`, or None."""
        watch = cluster.Watch({name: process.pid for name, process in job.everybody.items()})
        self.addCleanup(watch.close)
        return next(iter(watch.ends(seconds)), None)

    def test_a_long_stop_is_a_loss(self):
        for victim in ("worker 0", "server 1", "scheduler"):
            with self.subTest(victim):
                job = self.start_by_hand(STRETTO_DEAD_AFTER_S=4)
                since = time.monotonic()
                job.everybody[victim].send(signal.SIGSTOP)
                last = self.check_survivors(job, victim, since, LOST[role_of(victim)])
                print(f"MEASURED SIGSTOP of {victim}, dead after 4 s: all others had ended after "
                      f"{last * 1000:.0f} ms")
                # A process that resumes after it was declared lost finds the job over.
                job.everybody[victim].send(signal.SIGCONT)
                self.assertEqual(job.everybody[victim].end(MOST_SECONDS),
                                 cluster.exit_of_loss(victim))
                self.assertEqual(len(job.everybody[victim].errors()), 1)
                self.assert_nobody_left()

    def test_a_server_without_memory_says_so(self):
        """All others report its requested amount; no link and no innocent member is blamed."""
        job = cluster.ByHand(self, workers=2, servers=1, STRETTO_TRANSPORT="shm",
                             STRETTO_LOG_LEVEL="debug")
        server = job.server(0)
        job.scheduler.expect("server 0 came from")
        most = cluster.mapped_bytes(server.pid) + (8 << 20)
        resource.prlimit(server.pid, resource.RLIMIT_AS, (most, most))
        for rank in (0, 1):
            job.worker(rank, ("--elements", 8_000_000, *FOR_EVER))
        server.end()
        self.one_error(server, "Resource", "memory", "this process has", "ulimit -v")
        for name, other in job.everybody.items():
            other.end()
            if name != "server 0":
                self.one_error(other, "ServerLost", "server 0 is lost", "memory", "ulimit -v")
        self.assert_nobody_left()

    def test_a_server_is_told_to_end(self):
        job = self.start_by_hand()
        since = time.monotonic()
        victim = job.everybody["server 1"]
        victim.send(signal.SIGTERM)
        last = self.check_survivors(job, "server 1", since, "ServerLost")
        self.assertEqual(victim.end(), 1)
        self.one_error(victim, "Interrupted", "signal")
        self.one_error(job.everybody["worker 0"], "ServerLost", "asked to end by a signal")
        print(f"MEASURED SIGTERM to a server: all had ended after {last * 1000:.0f} ms")
        self.assert_nobody_left()

    def test_the_scheduler_is_told_to_end(self):
        job = self.start_by_hand()
        since = time.monotonic()
        job.everybody["scheduler"].send(signal.SIGTERM)
        for name, process in job.everybody.items():
            self.assertEqual(process.end(MOST_SECONDS), 1, process.output())
            self.one_error(process, "Interrupted", "scheduler")
            self.assertLess(process.ended_at - since, MOST_SECONDS, name)
        self.assert_nobody_left()

    def test_a_program_exits_without_leaving(self):
        job = self.start_by_hand(*FOR_EVER, "--fault", "exit", "--fault_round", 30)
        quitter = job.everybody["worker 1"]
        self.assertEqual(quitter.end(), 0)
        last = self.check_survivors(job, "worker 1", quitter.ended_at, "PeerLost")
        print(f"MEASURED exit without leave: all had ended after {last * 1000:.0f} ms")
        self.assert_nobody_left()

    def test_a_worker_leaves_too_early(self):
        job = self.start_by_hand(*FOR_EVER, "--fault", "leave", "--fault_round", 30)
        quitter = job.everybody["worker 1"]
        self.assertEqual(quitter.end(), 0)
        other = job.everybody["worker 0"]
        self.assertEqual(other.end(MOST_SECONDS), 1, other.output())
        self.one_error(other, "PeerLost", "worker 1", "has left")
        for name in ("server 0", "server 1", "scheduler"):
            self.assertEqual(job.everybody[name].end(MOST_SECONDS), cluster.exit_of_loss(name))
        self.assert_nobody_left()

    def test_a_stop_under_the_launcher(self):
        """A stopped member is killed once the others have expelled it, and named."""
        for victim in ("server 0", "scheduler", "worker 1"):
            with self.subTest(victim):
                job = self.start_launched(STRETTO_DEAD_AFTER_S=2)
                watch = cluster.Watch(job.members())
                self.addCleanup(watch.close)
                os.kill(job.member(victim), signal.SIGSTOP)
                ends = watch.ends(2 * MOST_SECONDS)
                self.assertEqual(len(ends), 5, job.output())
                self.assertEqual(job.end(MOST_SECONDS), 1, job.output())
                error = self.one_error(job, LOST[role_of(victim)], "nothing heard of")
                self.assertEqual((error.role, error.rank),
                                 (role_of(victim), victim.split()[-1].replace("scheduler", "0")))
                survivors = max(at for name, at in ends.items() if name != victim)
                self.assertLess(job.ended_at - survivors, MOST_SECONDS)
                job.expect(f"^.launcher. .*sent SIGKILL to {victim}")
                self.assert_nobody_left()

    def test_the_launcher_blames_who_is_told_to_end_or_exits_with_0(self):
        for victim in ("server 1", "scheduler"):
            with self.subTest(victim):
                job = self.start_launched()
                os.kill(job.member(victim), signal.SIGTERM)
                self.assertEqual(job.end(), 1, job.output())
                error = self.one_error(job, LOST[role_of(victim)], "asked to end by a signal")
                self.assertEqual(error.role, role_of(victim), job.output())
        job = self.start_launched(*FOR_EVER, "--fault", "exit", "--fault_round", 30)
        self.assertEqual(job.end(), 1, job.output())
        error = self.one_error(job, "PeerLost", "exited with status 0 while others needed it")
        self.assertEqual(error.who, "worker 1", job.output())
        self.assert_nobody_left()

    def test_signals_to_the_launcher_end_the_job(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                job = self.start_launched()
                job.send(number)
                self.assertEqual(job.end(MOST_SECONDS), 128 + number, job.output())
                self.one_error(job, "Interrupted", number.name)
                self.assert_nobody_left()

    def test_a_killed_launcher_takes_the_job_along(self):
        job = self.start_launched()
        watch = cluster.Watch(job.members())
        self.addCleanup(watch.close)
        job.send(signal.SIGKILL)
        self.assertEqual(len(watch.ends(MOST_SECONDS)), 5)
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
