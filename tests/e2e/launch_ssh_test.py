# SPDX-License-Identifier: Apache-2.0
"""Jobs over hosts by ssh, with real sshd servers: sums, arguments, output and exit statuses are the
same as on one host; after any kill no process is left; the token is in no command line; and errors
of hosts are explained.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import unittest

import cluster
import hosts

HELLO = cluster.BIN / "hello"
TOKEN = "a-token-that-nobody-may-see"
FOREVER = ("--rounds", 10**9, "--progress", 10)
ODD_WORDS = ["two words", "", "it's", '"quoted"', "$HOME `id` $(id)", "a\\b", "a;b&&c|d>e",
             "*?[x]", "line\nline", "-n", "--", "ünïcode", "\t tab"]
SAY_WORDS = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['ODD']]))"


class Hosts(hosts.FarTest):
    """Two hosts in addition to the launching one, for all tests of a class."""

    names = ("one", "two")

    @classmethod
    def setUpClass(cls):
        cls.lab = hosts.Lab(cls.names)
        cls.addClassCleanup(cls.lab.close)

    def over(self, *program, flags=(), on="one:1,two:1", **variables):
        """Starts a job over hosts, of one server unless flags say otherwise."""
        return self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh, "-H",
                               on, "-s", 1, *flags, "--", *program], **variables)


class Jobs(Hosts):

    def test_hello_over_three_hosts(self):
        """The sums are right; each host has the workers of its slots, and a server."""
        hostfile = self.lab.folder / "hostfile"
        hostfile.write_text("# three hosts\nlocalhost slots=1\none slots=2\n\ntwo slots=1\n",
                            encoding="ascii")
        logs = self.lab.folder / "logs"
        where = 'echo "local $LOCAL_RANK of $LOCAL_WORLD_SIZE via ${SSH_CONNECTION:-here}"; exec '
        command = [*self.lab.home(), cluster.LAUNCH, "--starter", self.lab.ssh, "--hostfile",
                   hostfile, "--log-dir", logs, "--", "sh", "-c", where + str(HELLO)]
        job = self.start("job", command)
        self.assertEqual(job.end(), 0, job.output())
        for rank, place in enumerate(("0 of 1", "0 of 2", "1 of 2", "0 of 1")):
            said = [f"local {place} via ", f"worker {rank} of 4: sum = 10"]
            lines = [line for line in job.lines if line.startswith(f"[worker {rank}] ")]
            self.assertEqual(len(lines), 2, job.output())
            for line, words in zip(lines, said):
                self.assertIn(words, line)
            log = (logs / f"worker-{rank}.log").read_text(encoding="ascii")
            self.assertEqual([f"[worker {rank}] {line}" for line in log.splitlines()], lines)
            self.assertEqual("via here" in lines[0], rank == 0, lines)
        self.assertEqual({path.name for path in logs.iterdir()},
                         {"scheduler-0.log"} | {f"server-{rank}.log" for rank in range(3)}
                         | {f"worker-{rank}.log" for rank in range(4)})
        self.assert_nobody_left()

    def test_a_scheduler_elsewhere(self):
        job = self.over(HELLO, flags=["--scheduler-host", "two"])
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.scheduler_address()[0], self.lab.address("two"))

    def test_an_encrypted_job_over_hosts(self):
        say = 'echo "encrypted $STRETTO_ENCRYPT with ${#STRETTO_JOB_TOKEN}"; exec ' + str(HELLO)
        job = self.over("sh", "-c", say, flags=["--encrypt"])
        self.assertEqual(job.end(), 0, job.output())
        for rank in (0, 1):
            self.assertIn("encrypted 1 with 32", job.lines_of(f"worker {rank}"), job.output())

    def test_words_and_variables_survive(self):
        folder = self.lab.folder / "a folder"
        folder.mkdir()
        job = self.over(sys.executable, "-c", SAY_WORDS, *ODD_WORDS,
                        flags=["--env", "ODD=" + ODD_WORDS[4] + "\n'", "--chdir", folder,
                               "--drain", 0])
        self.assertEqual(job.end(), 0, job.output())
        for rank in (0, 1):
            self.assertEqual([json.loads(line) for line in job.lines_of(f"worker {rank}")],
                             [[ODD_WORDS, ODD_WORDS[4] + "\n'"]], job.output())

    def test_much_output_comes_whole(self):
        job = self.over("sh", "-c", "seq 1 100000; seq 1 20000 >&2", flags=["--drain", 0])
        self.assertEqual(job.end(), 0, job.output()[-2000:])
        for rank in (0, 1):
            numbers = [line for line in job.lines_of(f"worker {rank}") if line.isdigit()]
            ones = [index for index, line in enumerate(numbers) if line == "1"]
            self.assertEqual(len(numbers), 120000)
            self.assertEqual(len(ones), 2)

    def agent_of(self, worker):
        """Process id of the agent that started this worker."""
        pid = self.members()[worker]
        return next(agent for agent in hosts.agents() if pid in cluster.children_of(agent))

    def let_go(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def test_a_frozen_agent_is_given_up(self):
        """Its worker ends with the others, without a report of its end."""
        end = self.lab.folder / "end"
        job = self.over(cluster.TRAINING, *FOREVER, "--until", end, flags=["-s", 1])
        job.expect("progress", count=4)
        frozen = self.agent_of("worker 1")
        os.kill(frozen, signal.SIGSTOP)
        self.addCleanup(self.let_go, frozen)
        end.touch()
        self.assertEqual(job.end(), 1, job.output())
        self.one_error(job, "Timeout", "role=worker rank=1", "nothing heard of the agent on two")
        job.expect(r"^\[launcher\] worker 1 is lost: nothing heard of the agent on two")
        self.let_go(frozen)  # It finds its launcher gone.

    def test_an_elastic_job_outlives_a_frozen_agent(self):
        """Its scheduler knows the worker there, also that it leaves."""
        end = self.lab.folder / "elastic-end"
        job = self.over(cluster.BUILD / "tests" / "losing", "--until", end,
                        flags=["--workers", "1:2", "-s", 1])
        job.expect("round 10$", count=2)
        frozen = self.agent_of("worker 1")
        os.kill(frozen, signal.SIGSTOP)
        self.addCleanup(self.let_go, frozen)
        end.touch()
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.let_go(frozen)

    def test_an_elastic_job_takes_a_frozen_agent_up_again(self):
        """Its worker, which trained meanwhile, prints and ends like the others."""
        end = self.lab.folder / "awakened-end"
        job = self.over(cluster.BUILD / "tests" / "losing", "--until", end,
                        flags=["--workers", "1:2", "-s", 1])
        job.expect("round 10$", count=2)
        frozen = self.agent_of("worker 1")
        worker = self.members()["worker 1"]
        os.kill(frozen, signal.SIGSTOP)
        self.addCleanup(self.let_go, frozen)
        job.expect("nothing heard of the agent on two .*; the job goes on with worker 1")
        self.let_go(frozen)
        job.expect("the agent on two is heard again; it runs worker 1$")
        self.assertEqual(self.members()["worker 1"], worker)
        end.touch()
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(job.errors(), [], job.output())
        self.assertNotIn("without", job.output())

    def test_a_host_without_power_is_named(self):
        job = self.over(cluster.TRAINING, *FOREVER, STRETTO_DEAD_AFTER_S=2)
        job.expect("progress", count=4)
        unheard = self.agent_of("worker 1")
        living = cluster.Watch({name: pid for name, pid in self.members().items()
                                if name != "worker 1" and name != "server 0"})
        self.addCleanup(living.close)
        with self.lab.without_power("two", [unheard, self.members()["worker 1"]]):
            ended = max(living.ends(hosts.PATIENCE).values())
            self.assertEqual(job.end(), 1, job.output())
            self.assertLess(job.ended_at - ended, 15.0)
            self.one_error(job, "Timeout", "role=worker rank=1",
                           "nothing heard of the agent on two")
            os.kill(unheard, signal.SIGKILL)

    def test_exit_statuses_are_exact(self):
        for script, status, cause in (("exit 7", 7, "exited with status 7"),
                                      ("exit 255", 255, "exited with status 255"),
                                      ("kill -TERM $$", 143, "killed by SIGTERM"),
                                      ("kill -SEGV $$", 139, "killed by SIGSEGV")):
            with self.subTest(script):
                script = f'test "$RANK" = 0 || {{ {script}; }}; exec sleep 1000'
                job = self.over("sh", "-c", script, flags=["--settle", 0])
                code = "ProgramFailed" if "exited" in cause else "PeerLost"
                self.refused(job, code, "role=worker rank=1", cause, status=status)

    def test_a_killed_worker_ends_the_job(self):
        job = self.over(cluster.TRAINING, *FOREVER, flags=["-s", 2, "--settle", 20])
        job.expect("progress", count=4)
        members = self.members()
        self.assertEqual(set(members), {"scheduler", "server 0", "server 1", "worker 0",
                                        "worker 1"})
        os.kill(members["worker 1"], signal.SIGKILL)
        self.refused(job, "PeerLost", "role=worker rank=1", "killed by SIGKILL", status=137)
        self.assert_error(job.errors_of("worker 0")[0], "PeerLost", "worker 1")

    def test_a_lost_worker_is_replaced(self):
        self.assert_replaced(lambda program, flags: self.over(*program, flags=flags))

    def test_a_job_that_has_lost_a_host_begins_again_on_the_others(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        job = self.over(cluster.BUILD / "tests" / "keeping", "--steps", 100_000, on="one:2,two:2",
                        flags=["--workers", 2, "-s", 2, "--checkpoint", folder.name,
                               "--restarts", 1])
        job.expect(r"\[worker 1\] checkpoint step=\d+$", count=3)
        server = self.members()["server 1"]
        os.kill(next(pid for pid in hosts.agents() if server in cluster.children_of(pid)),
                signal.SIGKILL)
        found = job.expect(r"two is lost.*: the job begins again from its checkpoint of step "
                           r"(\d+) \(0 more restarts may follow\), without two$")
        job.expect(rf"\[worker 0\] from checkpoint=\d+ step={found[1]}$")
        self.assertEqual(len(hosts.agents()), 1)
        # A further one is not configured, and would find no host.
        os.kill(hosts.agents()[0], signal.SIGKILL)
        self.refused(job, "Network", "one is lost")

    def test_fewer_slots_than_an_elastic_job_may_have(self):
        job = self.over(HELLO, flags=["--workers", "1:3"])
        self.assertEqual(job.end(), 0, job.output())
        job.expect(r"3 workers at most, and there are 2 slots: the job has 2$")
        job.expect(r"\[worker \d\] worker \d of \d: sum = 3$")

    def test_a_killed_launcher_leaves_nobody(self):
        helper = "sleep 1000 & exec " + " ".join(map(str, (cluster.TRAINING, *FOREVER)))
        job = self.over("sh", "-c", helper)
        job.expect("progress", count=4)
        pids = [*self.survivors(), *hosts.agents()]
        self.assertGreaterEqual(len(pids), 4 + 2 + 2 + 2)  # Members, helpers, agents, ssh.
        job.send(signal.SIGKILL)
        self.assert_ended(pids)

    def test_a_killed_way_ends_the_job(self):
        """Of ssh, or of an agent: the host is named, and no process is left there."""
        for what in ("ssh", "agent"):
            with self.subTest(what):
                job = self.over(cluster.TRAINING, *FOREVER)
                job.expect("progress", count=4)
                pids = [*self.survivors(), *hosts.agents()]
                ways = [pid for pid, words in hosts.processes().items()
                        if "two" in words and any("--agent" in word for word in words)]
                if what == "agent":
                    worker = self.members()["worker 1"]
                    ways = [pid for pid in hosts.agents() if worker in cluster.children_of(pid)]
                self.assertEqual(len(ways), 1)
                os.kill(ways[0], signal.SIGKILL)
                self.assertEqual(job.end(), 1, job.output())
                self.one_error(job, "Network", "two is lost", "role=worker rank=1")
                self.assert_ended(pids)

    def test_notices_come_once_to_each(self):
        """SIGTERM to the launcher, and to an agent, as from batch systems."""
        for target in ("launcher", "agent"):
            with self.subTest(target):
                job = self.over(sys.executable, "-c", hosts.NOTICED)
                job.expect("waits", count=2)
                if target == "launcher":
                    job.send(signal.SIGTERM)
                    job.send(signal.SIGTERM)
                else:
                    os.kill(hosts.agents()[0], signal.SIGTERM)
                self.assert_noticed_once(job)

    def test_a_notice_ends_workers_of_shells(self):
        """The shells end first; the launcher is told when their children have ended, too."""
        program = cluster.BUILD / "tests" / "losing"
        job = self.over("sh", "-c", f"{program} --until {self.lab.folder}/never; exit",
                        flags=["--workers", "1:2", "-s", 1])
        job.expect("round 10$", count=2)
        begin = time.monotonic()
        job.send(signal.SIGTERM)
        self.assertNotEqual(job.end(), 0, job.output())
        self.assertLess(job.ended_at - begin, 15.0, job.output())
        self.assertNotIn("sent SIGKILL", job.output())

    def test_nobody_can_read_the_token(self):
        job = self.over(cluster.TRAINING, *FOREVER, STRETTO_JOB_TOKEN=TOKEN)
        job.expect("progress", count=2)
        members = self.members()
        self.assertEqual(len(members), 4)
        for name, pid in members.items():
            self.assertEqual(cluster.variables_of(pid)["STRETTO_JOB_TOKEN"], TOKEN, name)
        self.assert_nowhere_in_command_lines(TOKEN)
        self.assertNotIn(TOKEN, job.output())
        job.send(signal.SIGINT)
        self.assertNotEqual(job.end(), 0)

    def test_a_check_asks_every_host(self):
        job = self.over(HELLO, flags=["--check"])
        self.assertEqual(job.end(), 0, job.output())
        for name in self.names:
            job.expect(f"^ok +{name} .* has stretto-launch .* and all programs")
        job.expect(r"^ok +\d hosts reach each other by TCP$")
        job = self.over("no-such-program", flags=["--check", "--chdir", self.lab.folder])
        self.assertEqual(job.end(), 1, job.output())
        for name in self.names:
            job.expect(f"^PROBLEM {name}: cannot execute 'no-such-program': not found in PATH")
        self.assert_nobody_left()

    def test_check_finds_a_firewall(self):
        if not self.lab.apart:  # Without namespaces this test cannot have its own firewall.
            self.assertEqual(self.over(HELLO, flags=["--check"]).end(), 0)
            return
        one, two = self.lab.address("one"), self.lab.inside("two")
        hosts.run(*two, hosts.program("iptables"), "-A", "INPUT", "-p", "tcp", "-s", one,
                  "-j", "DROP")
        self.addCleanup(hosts.run, *two, hosts.program("iptables"), "-F")
        job = self.over(HELLO, flags=["--check"])
        self.assertEqual(job.end(), 1, job.output())
        job.expect(r"^PROBLEM one cannot reach two at [0-9.:]+ by TCP: no connection: Connection "
                   "timed out; open the firewall")
        job.expect("^PROBLEM two cannot reach one at ")
        self.assert_nobody_left()

    def test_a_dry_run_shows_the_way(self):
        job = self.over(HELLO, flags=["--dry-run"], STRETTO_JOB_TOKEN=TOKEN)
        self.assertEqual(job.end(), 0, job.output())
        job.expect(r"^\[one\] .*ssh .* one 'exec .*stretto-launch --agent'")
        job.expect(r"^\[worker 1 on two\] env ")
        self.assertNotIn(TOKEN, job.output())


class JobsOverIpv6(Hosts):
    """Hosts that reach each other by IPv6 only."""

    @classmethod
    def setUpClass(cls):
        cls.lab = hosts.Lab(cls.names, ipv6=True)
        cls.addClassCleanup(cls.lab.close)

    def test_members_meet_over_ipv6(self):
        job = self.over(HELLO, flags=["-s", 2])
        self.assertEqual(job.end(), 0, job.output())
        self.assertEqual(len([line for line in job.lines if ": sum = 3" in line]), 2, job.output())
        if self.lab.ipv6:
            self.assertEqual(job.scheduler_address()[0], f"[{hosts.HOME_ADDRESS_IPV6}]")
        self.assert_nobody_left()

    def test_hosts_are_given_as_digits(self):
        digits = self.lab.address("one")
        job = self.start_job([*self.lab.home(), cluster.LAUNCH, "--starter",
                              f"{self.lab.ssh} -p {self.lab.ports['one']}", "-H",
                              f"[{digits}]:2", "--", HELLO])
        self.assertEqual(job.end(), 0, job.output())
        self.assert_nobody_left()


class Refusals(Hosts):
    """Hosts and host files with which a job cannot start."""

    names = ("one",)

    def test_a_host_that_cannot_be_reached(self):
        job = self.over(HELLO, on="one:1,nowhere:1")
        self.refused(job, "Network", "role=worker rank=1", "nowhere cannot be reached", "resolve")
        job = self.over(HELLO, on="one:1", flags=["--starter", self.lab.ssh + " -o Port=1"])
        self.refused(job, "Network", "one cannot be reached", "Connection refused")

    def test_a_key_that_is_not_known(self):
        starter = self.lab.ssh + f" -o IdentityFile={self.lab.folder}/one-key -o User=nobody"
        job = self.over(HELLO, on="one:1", flags=["--starter", starter])
        self.refused(job, "Network", "one cannot be reached", "Permission denied",
                     "without a question")

    def test_nothing_there(self):
        job = self.over(HELLO, on="one:1", flags=["--bin-dir", self._folder_without_launcher()])
        self.refused(job, "InvalidArgument", "one cannot run stretto-launch", "--bin-dir")

    def _folder_without_launcher(self):
        """Has scheduler and server, and no launcher for the agent."""
        folder = self.lab.folder / self.mark
        folder.mkdir()
        for program in (cluster.SCHEDULER, cluster.SERVER):
            (folder / program.name).symlink_to(program)
        return folder

    def test_another_release(self):
        folder = self._folder_without_launcher()
        agent = folder / "stretto-launch"
        agent.write_text("#!/bin/sh\n" + OLD_AGENT, encoding="ascii")
        agent.chmod(0o755)
        job = self.over(HELLO, on="one:1", flags=["--bin-dir", folder])
        self.refused(job, "Mismatch", "one has stretto-launch 0.0.9", "this one is ",
                     "same build")

    def test_a_chatty_login_shell(self):
        """Its output before the agent's is shown, and not parsed as frames."""
        folder = self._folder_without_launcher()
        agent = folder / "stretto-launch"
        agent.write_text(f'#!/bin/sh\necho "Welcome to this host"\nexec {cluster.LAUNCH} "$@"\n',
                         encoding="ascii")
        agent.chmod(0o755)
        job = self.over(HELLO, on="one:2", flags=["--bin-dir", folder])
        self.assertEqual(job.end(), 0, job.output())
        job.expect(r"^\[one\] Welcome to this host")

    def test_a_program_that_is_not_there(self):
        job = self.over("/no/such/program", on="one:1")
        self.refused(job, "InvalidArgument", "one: cannot execute '/no/such/program'",
                     "role=worker rank=0", status=127)
        job = self.over(HELLO, on="one:1", flags=["--chdir", "/no/such/folder"])
        self.refused(job, "InvalidArgument", ": no folder /no/such/folder", "--chdir", status=127)

    def test_host_files_and_slots(self):
        path = self.lab.folder / "bad-hosts"
        path.write_text("one slots=1\n\ntwo slots=many\n", encoding="ascii")
        job = self.over(HELLO, on="one:1", flags=["--hostfile", path])
        self.refused(job, "InvalidArgument", f"{path}:3:", "'many'", "wanted a whole number",
                     status=2)
        job = self.over(HELLO, on="one:1", flags=["-n", 3])
        self.refused(job, "InvalidArgument", "3 workers", "have 1 slots", "--oversubscribe",
                     status=2)
        job = self.over(HELLO, on="one:1", flags=["-n", 3, "--oversubscribe"])
        self.assertEqual(job.end(), 0, job.output())

    def test_a_host_that_never_answers(self):
        silent = self.lab.folder / "silent"
        silent.write_text("#!/bin/sh\nexec sleep 1000\n", encoding="ascii")
        silent.chmod(0o755)
        job = self.over(HELLO, on="one:1", flags=["--starter", silent, "--start-timeout", 1])
        self.refused(job, "RendezvousTimeout", "one did not answer within 1 s")


def _frame(kind, number, *texts):
    body = bytes([kind, 0]) + (0).to_bytes(4, "little") + number.to_bytes(8, "little", signed=True)
    body += len(texts).to_bytes(4, "little")
    for text in texts:
        body += len(text).to_bytes(4, "little") + text.encode()
    return len(body).to_bytes(4, "little") + body


# Sends the hello of an agent of another release.
OLD_AGENT = "printf '%b' '{}'\nexec cat >/dev/null\n".format(
    "".join(f"\\0{byte:03o}" for byte in b"stretto-agent 1\n"
            + _frame(1, -1, "0.0.9", "host", "", "", "")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
