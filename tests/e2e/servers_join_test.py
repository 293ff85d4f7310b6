# SPDX-License-Identifier: Apache-2.0
"""Servers that join a running job (stretto-launch join HOST:PORT --servers N): they become
primaries or standbys, and each contribution counts once, whichever server is lost afterwards."""

import os
import signal
import socket
import tempfile
import unittest

import cluster
import launch_ssh_test

KEEPING = cluster.BUILD / "tests" / "keeping"
REPLICATING = cluster.BUILD / "tests" / "replicating"
RETURNING = cluster.BUILD / "tests" / "returning"
TOKEN = "the token of a test of servers that join"
ALL_CAME = r"\[scheduler\] .*all members have come again, or are lost"


class Joining:
    def join(self, job, *flags, count=None, machine="far", inside=(), **variables):
        """Servers from another host; `count` of them have joined when this returns."""
        scheduler = job.expect(r"\[scheduler\] .*listening at (\S+)")[1]
        process = self.start("join", [*inside, cluster.LAUNCH, "join", scheduler, *flags],
                             **{"STRETTO_JOB_TOKEN": TOKEN, "STRETTO_MACHINE": machine} | variables)
        if count:
            process.expect(r"\[join\] server \d+ has (the place of|all that)", count=count)
        return process

    def guests(self, joined):
        """The processes of the joined servers, by number."""
        found = {pid: cluster.variables_of(pid) for pid in cluster.children_of(joined.pid)}
        return {int(variables["STRETTO_RANK"]): pid for pid, variables in found.items()
                if variables}

    def goes_on(self, job, lines=2):
        before = sum(1 for line in job.lines if line.startswith("[worker 0] step="))
        job.expect(r"\[worker 0\] step=(\d+)$", count=before + lines)

    def digest(self, job, *joined):
        self.assertEqual(job.end(), 0, job.output())
        for each in joined:
            each.end()
        digests = {line.split("digest=")[1] for line in job.lines if "digest=" in line}
        self.assertEqual(len(digests), 1, job.output())
        self.assertNotIn("WRONG", job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assert_nobody_left()
        return digests.pop()

    def ends_in_order(self, joined):
        self.assertEqual(joined.end(), 0, joined.output())
        self.assertEqual(joined.errors(), [], joined.output())

    def is_refused(self, joined, *words):
        self.assertNotEqual(joined.end(), 0, joined.output())
        errors = joined.errors()
        self.assertEqual(len(errors), 1, joined.output())
        for word in words:
            self.assertIn(word, errors[0].text)


class ServersJoin(Joining, cluster.ClusterTest):
    def begin(self, *arguments, program=REPLICATING, restarts=3, workers=2, servers=2, **more):
        flags = (("--restarts", restarts) if restarts else ()) + more.pop("flags", ())
        job = self.launch(program, *arguments, "--elements", 20_000, workers=workers,
                          servers=servers, flags=flags, STRETTO_JOB_TOKEN=TOKEN, **more)
        job.expect(r"\[worker 0\] step=")
        return job

    def test_they_have_places_and_the_bits_are_those_of_an_undisturbed_job(self):
        whole = self.digest(self.begin("--steps", 1200, restarts=0))
        for more in ({}, {"flags": ("--encrypt", "--shards", 2)}, {"workers": "2:2"}):
            with self.subTest(more=more):
                encrypt = {"STRETTO_ENCRYPT": 1} if "--encrypt" in more.get("flags", ()) else {}
                job = self.begin("--steps", 1200, "--say_every", 5, **more)
                one = self.join(job, "--servers", 1, count=1, **encrypt)
                self.assertEqual(set(self.guests(one)), {4})
                self.goes_on(job, lines=1)
                other = self.join(job, "--place", 1, machine="farther", count=1, **encrypt)
                self.assertEqual(set(self.guests(other)), {5})
                self.goes_on(job, lines=1)
                third = self.join(job, "--place", "4,1", count=2, machine="third", **encrypt)
                self.assertEqual(set(self.guests(third)), {6, 7})
                self.goes_on(job)
                self.assertEqual(self.digest(job, one, other, third), whole)
                self.assertNotIn("is lost", job.output())
                for joined in (one, other, third):  # The kernel sometimes takes seconds to reap.
                    self.ends_in_order(joined)

    def test_by_a_signal_they_give_their_places_back(self):
        whole = self.digest(self.begin("--steps", 1200, restarts=0))
        job = self.begin("--steps", 1200, "--say_every", 5)
        joined = self.join(job, "--servers", 2, count=2)
        self.goes_on(job)
        joined.send(signal.SIGTERM)
        job.expect(r"\[launcher\] server 0 is started, to have the place of server 4")
        job.expect(r"\[launcher\] server 1 is started, to have the place of server 5")
        for place in range(2):
            job.expect(f"server {4 + place} has given its place to server {place}")
        self.goes_on(job)
        again = self.join(job, "--servers", 1, count=1)
        self.assertEqual(set(self.guests(again)), {4})
        self.assertEqual(self.digest(job, joined, again), whole)
        self.ends_in_order(joined)
        self.assertNotIn("is lost", job.output())

    def test_one_of_sums_that_is_lost_is_replaced_on_the_jobs_hosts(self):
        job = self.begin("--steps", 100_000, program=RETURNING)
        joined = self.join(job, "--servers", 2, count=2)
        self.goes_on(job)
        os.kill(self.guests(joined)[4], signal.SIGKILL)
        job.expect(r"\[launcher\] server 4, which had joined, is lost; server 0 is started in its "
                   "place$")
        self.goes_on(job)
        self.assertIn("server 0", job.members())
        os.kill(self.guests(joined)[5], signal.SIGKILL)
        self.is_refused(joined, "ServerLost", "peer=server 4", "killed by SIGKILL")
        job.expect(r"\[launcher\] server 5, which had joined, is lost; server 1 is started in its "
                   "place$")
        self.goes_on(job)
        os.kill(job.members()["server 0"], signal.SIGKILL)
        job.expect(r"\[launcher\] server 0 killed by SIGKILL; another is started in its place")
        self.goes_on(job)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_one_that_keeps_more_is_lost_and_the_job_ends_and_says_who(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=2)
        joined = self.join(job, "--servers", 1, count=1)
        self.goes_on(job)
        os.kill(self.guests(joined)[4], signal.SIGKILL)
        self.assertNotEqual(job.end(), 0, job.output())
        self.assertIn("peer=server 4", job.output())
        self.is_refused(joined, "peer=server 4")
        self.assert_nobody_left()

    def stand_by_for_two(self, job, told):
        """As server 4, until it is `told` to end."""
        joined = self.join(job, "--servers", 1)
        joined.expect(r"\[join\] server 4 has all that server 2 has, and stands by for it")
        if told:
            joined.send(signal.SIGTERM)
            job.expect("nobody stands by for server 2 now")
        return joined

    def test_where_others_stand_by_they_stand_by_for_who_is_alone(self):
        whole = self.digest(self.begin("--steps", 1200, restarts=0))
        job = self.begin("--steps", 1200, "--say_every", 5, restarts=0, flags=("--replicas", 2),
                         STRETTO_DEAD_AFTER_S=2)
        self.is_refused(self.join(job, "--servers", 1), "0 can be given",
                        "server 3 stands by for server 1 already")
        os.kill(job.members()["server 0"], signal.SIGKILL)
        job.expect("server 2, which stood by, has its place")
        first, joined = (self.stand_by_for_two(job, told) for told in (True, False))
        os.kill(job.members()["server 2"], signal.SIGKILL)
        job.expect("server 4, which stood by, has its place")
        self.goes_on(job)
        other = self.join(job, "--servers", 1, machine="farther")
        other.expect(r"\[join\] server 6 has all that server 4 has, and stands by for it")
        os.kill(self.guests(joined)[4], signal.SIGKILL)
        job.expect("server 6, which stood by, has its place")
        self.is_refused(joined, "peer=server 4", "killed by SIGKILL")
        self.goes_on(job)
        self.assertEqual(self.digest(job, first, other), whole)
        self.ends_in_order(first)
        self.ends_in_order(other)

    def test_where_the_job_begins_again_they_end_and_say_why(self):
        saved = r"\[worker 1\] checkpoint step="
        with tempfile.TemporaryDirectory() as folder:
            job = self.launch(KEEPING, "--steps", 100_000, workers=2, servers=2,
                              flags=("--restarts", 3, "--checkpoint", folder),
                              STRETTO_JOB_TOKEN=TOKEN)
            job.expect(saved)
            joined = self.join(job, "--servers", 1, count=1)
            job.expect(saved, since=len(job.lines))
            os.kill(job.members()["worker 1"], signal.SIGKILL)
            self.is_refused(joined, "PeerLost", "worker 1 is lost")
            job.expect(r"\[launcher\] worker 1 killed by SIGKILL: the job begins again")
            job.expect(saved, since=len(job.lines))
            self.kill_all(job)

    def test_one_that_stood_by_and_is_lost_is_replaced_by_the_launcher(self):
        job = self.begin("--steps", 100_000, restarts=1, flags=("--replicas", 2),
                         STRETTO_DEAD_AFTER_S=2)
        for lost, says in (("server 0", "another is started in its place"),
                           ("server 1", "the job goes on without it")):
            os.kill(job.members()[lost], signal.SIGKILL)
            job.expect(rf"\[launcher\] {lost} killed by SIGKILL; {says}")
        self.goes_on(job)
        joined = self.join(job, "--servers", 1)
        joined.expect(r"\[join\] server 5 has all that server 3 has, and stands by for it")
        os.kill(self.guests(joined)[5], signal.SIGKILL)
        job.expect(r"\[launcher\] server 5 is lost; the job goes on without it$")
        self.goes_on(job)
        self.kill_all(job)

    def test_the_scheduler_comes_back_while_they_join_and_afterwards(self):
        whole = self.digest(self.begin("--steps", 1200, restarts=0))
        job = self.begin("--steps", 1200, "--say_every", 5, restarts=6)
        source = job.members()["server 0"]
        os.kill(source, signal.SIGSTOP)  # Prevents the copy.
        joined = self.join(job, "--place", 0)
        joined.expect(r"\[join\] server 4 is started, to have the place of server 0")
        os.kill(job.members()["scheduler"], signal.SIGKILL)
        job.expect(r"this scheduler goes on in the place of one that was lost")
        os.kill(source, signal.SIGCONT)
        joined.expect(r"\[join\] server 4 has the place of server 0 now")
        for turn in range(2):
            self.goes_on(job, lines=1)
            os.kill(job.members()["scheduler"], signal.SIGKILL)
            job.expect(ALL_CAME, count=turn + 2)
        joined.send(signal.SIGTERM)
        job.expect("server 4 has given its place to server 0")
        self.ends_in_order(joined)
        self.assertEqual(self.digest(job), whole)

    def test_of_two_that_wait_each_has_its_place_by_the_next_scheduler(self):
        job = self.begin("--steps", 100_000, restarts=6, STRETTO_DEAD_AFTER_S=30)
        sources = [job.members()[f"server {number}"] for number in range(2)]
        for source in sources:
            os.kill(source, signal.SIGSTOP)  # Prevents the copy.
        joined = self.join(job, "--place", "0,1")
        joined.expect(r"\[join\] server 5 is started, to have the place of server 1")
        os.kill(job.members()["scheduler"], signal.SIGKILL)
        job.expect(r"this scheduler goes on in the place of one that was lost")
        for source in sources:
            os.kill(source, signal.SIGCONT)
        joined.expect(r"\[join\] server \d has the place of server \d now", count=2)
        self.goes_on(job)
        joined.send(signal.SIGTERM)
        self.ends_in_order(joined)
        self.goes_on(job)
        self.assertNotIn("WRONG", job.output())
        self.kill_all(job)

    def test_a_folder_of_checkpoints_that_is_not_the_jobs_is_refused(self):
        """Of that name, and empty: as on a host that does not share it."""
        with tempfile.TemporaryDirectory() as folder:
            job = self.launch(KEEPING, "--steps", 10**6, "--every", 0, workers=2, servers=2,
                              flags=("--restarts", 3, "--checkpoint", folder),
                              STRETTO_JOB_TOKEN=TOKEN)
            job.expect("from checkpoint=0", count=2)
            inside = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"',
                      folder)
            self.is_refused(self.join(job, "--servers", 1, inside=inside),
                            f"checkpoints in '{folder}', and here that is another folder")
            joined = self.join(job, "--servers", 1, count=1)
            self.assertEqual(job.errors(), [], job.output())
            self.kill_all(job)
            self.assertNotEqual(joined.end(), 0, joined.output())

    def test_what_cannot_be_is_refused_with_the_reason_and_the_job_goes_on(self):
        job = self.begin("--steps", 100_000)
        self.is_refused(self.join(job, "--servers", 3),
                        "3 places are wanted, and the job has 2")
        self.is_refused(self.join(job, "--place", 2), "no server 2 has a place")
        self.is_refused(self.join(job, "--servers", 1, STRETTO_JOB_TOKEN="0123456789abcdef"),
                        "token")
        self.is_refused(self.join(job, "--servers", 1, STRETTO_SHARDS=4),
                        "STRETTO_SHARDS is '4' here", "has '1'")
        self.is_refused(self.join(job, "--servers", 0), "wanted a number from 1")
        self.is_refused(self.join(job, "--port", 5000), "neither --servers nor --place")
        self.is_refused(self.join(job, "--place", 0, "--port", 65531), "ports up to 65536")
        self.goes_on(job)
        self.assertNotIn("has given its place", job.output())
        self.kill_all(job)
        self.is_refused(self.join(job, "--servers", 1))
        job = self.begin("--steps", 100_000, restarts=0)
        self.is_refused(self.join(job, "--servers", 1), "started with --restarts K")
        self.goes_on(job)
        self.kill_all(job)

    def test_who_is_killed_before_it_has_a_place_changes_nothing(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=30)
        os.kill(job.members()["server 0"], signal.SIGSTOP)  # Prevents the copy.
        joined = self.join(job, "--place", 0, STRETTO_LOG_LEVEL="debug")
        joined.expect(r"\[server 4\] .*")
        os.kill(self.guests(joined)[4], signal.SIGKILL)
        self.is_refused(joined, "killed by SIGKILL")
        os.kill(job.members()["server 0"], signal.SIGCONT)
        self.goes_on(job)
        self.assertNotIn("has given its place", job.output())
        again = self.join(job, "--place", 0, count=1)
        self.goes_on(job)
        again.send(signal.SIGKILL)
        self.kill_all(job)


    def test_by_a_signal_those_that_have_no_place_yet_end_in_order(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=30)
        os.kill(job.members()["server 0"], signal.SIGSTOP)  # Prevents the copy.
        joined = self.join(job, "--place", 0, STRETTO_LOG_LEVEL="debug")
        joined.expect(r"\[server 4\] .*")
        joined.send(signal.SIGTERM)
        self.ends_in_order(joined)
        self.assertRegex(joined.output(), r"\[join\] server 4 (has ended, as was asked, before it "
                                          "had|does not have) the place of server 0")
        os.kill(job.members()["server 0"], signal.SIGCONT)
        self.goes_on(job)
        self.kill_all(job)

    def test_the_end_of_its_terminal_adds_nothing_and_the_fourth_signal_kills(self):
        job = self.begin("--steps", 100_000, program=RETURNING, STRETTO_DEAD_AFTER_S=30)
        joined = self.join(job, "--servers", 1, count=1)
        guest = self.guests(joined)[4]
        os.kill(guest, signal.SIGSTOP)  # Prevents its reaction.
        joined.send(signal.SIGINT)
        joined.expect("was sent SIGINT")
        joined.send(signal.SIGHUP)  # Of pending signals the lowest comes first.
        for count in (1, 2):
            joined.send(signal.SIGTERM)
            joined.expect("was sent SIGTERM", count=count)
        self.assertNotIn("was sent SIGHUP", joined.output())
        self.assertEqual(self.guests(joined), {4: guest}, joined.output() + job.output())
        joined.send(signal.SIGTERM)
        self.is_refused(joined, "peer=server 4", "killed by SIGKILL")
        # With another number, if its replacement had been started already.
        job.expect(r"\[launcher\] server 4, which had joined, is lost; server [02] is started in "
                   "its place$")
        self.goes_on(job)
        self.kill_all(job)

    def test_those_whom_no_scheduler_welcomes_end(self):
        job = self.begin("--steps", 100_000, STRETTO_DEAD_AFTER_S=30)
        source, scheduler = (job.members()[name] for name in ("server 0", "scheduler"))
        os.kill(source, signal.SIGSTOP)  # Prevents the copy.
        joined = self.join(job, "--place", 0)
        joined.expect(r"\[join\] server 4 is started, to have the place of server 0")
        os.kill(job.pid, signal.SIGSTOP)  # Prevents a new scheduler.
        os.kill(scheduler, signal.SIGKILL)
        joined.expect("no scheduler answers .*: another is awaited for 15 s")
        self.is_refused(joined, "SchedulerLost", "Connection refused")
        self.assertIn("[join] server 4 does not have the place of server 0", joined.output())
        os.kill(source, signal.SIGCONT)
        os.kill(job.pid, signal.SIGCONT)
        self.goes_on(job)
        self.kill_all(job)

    def test_a_scheduler_that_does_not_answer_is_not_waited_for_after_a_signal(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            joined = self.start("join", [cluster.LAUNCH, "join",
                                         f"127.0.0.1:{silent.getsockname()[1]}", "--servers", 1],
                                STRETTO_JOB_TOKEN=TOKEN)
            with silent.accept()[0]:
                joined.send(signal.SIGTERM)
                self.ends_in_order(joined)
            self.assertIn("was sent SIGTERM", joined.output())

    def test_one_of_the_launchers_that_comes_too_late_uses_up_no_restart(self):
        job = self.begin("--steps", 100_000, restarts=2, flags=("--replicas", 2),
                         STRETTO_DEAD_AFTER_S=30)
        os.kill(job.members()["server 3"], signal.SIGKILL)
        job.expect(r"\[launcher\] server 3 killed by SIGKILL; another is started in its place")
        # The launcher's or this one, whichever is first; there is no third.
        joined = self.join(job, "--place", 1)
        joined.expect(r"server 5 (has all that|does not have the place)|0 can be given|already")
        self.goes_on(job)
        os.kill(job.members()["server 0"], signal.SIGKILL)
        job.expect(r"\[launcher\] server 0 killed by SIGKILL; another is started in its place$")
        self.goes_on(job)
        self.kill_all(job)


class FromAnotherHost(Joining, launch_ssh_test.Hosts):
    """The job is on the launching host and on one; two is none of its hosts."""

    def test_its_servers_serve_and_give_their_places_back(self):
        program = (REPLICATING, "--steps", 600, "--say_every", 5, "--elements", 20_000)
        whole = self.digest(self.launch(*program, workers=2, servers=2))
        for encrypt in ({}, {"STRETTO_ENCRYPT": 1}):
            with self.subTest(encrypt=encrypt):
                job = self.over(*program, on="one:2", flags=("-s", 2, "--restarts", 3),
                                STRETTO_JOB_TOKEN=TOKEN, **encrypt)
                self.goes_on(job, lines=1)
                joined = self.join(job, "--servers", 2, count=2, inside=self.lab.inside("two"),
                                   machine="", **encrypt)
                self.goes_on(job)
                joined.send(signal.SIGINT)
                self.ends_in_order(joined)
                job.expect("server 5 has given its place to server 1")
                self.goes_on(job, lines=1)
                self.assertEqual(self.digest(job), whole)
                self.assertNotIn("is lost", job.output())


if __name__ == "__main__":
    unittest.main()
