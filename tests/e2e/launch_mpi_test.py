# SPDX-License-Identifier: Apache-2.0
"""Jobs whose processes a real mpirun starts: its ranks become the roles, exit statuses are exact,
secrets stay out of command lines, and after any kill no process is left.
"""

import os
import signal
import sys
import tempfile
import unittest

import cluster
import hosts

HELLO = cluster.BIN / "hello"
TOKEN = "a-token-that-nobody-may-see"
FOREVER = ("--rounds", 10**9, "--progress", 10)


class Mpi(hosts.FarTest):

    def setUp(self):
        super().setUp()
        hosts.program("mpirun")

    def by_mpirun(self, *program, flags=(), **variables):
        return self.start_job([cluster.LAUNCH, "--via", "mpi", "--workers", 2, "--servers", 2,
                               *flags, "--", *program], **variables)

    def mpiruns(self):
        """Process ids of the launchers' mpirun; Open MPI 5 runs it as PRRTE's prterun."""
        return [pid for pid in self.survivors()
                if hosts.processes().get(pid, [""])[0].endswith(("mpirun", "prterun"))]

    def test_hello(self):
        where = 'echo "rank $OMPI_COMM_WORLD_RANK local $LOCAL_RANK of $LOCAL_WORLD_SIZE"; exec '
        job = self.by_mpirun("sh", "-c", where + str(HELLO))
        self.assertEqual(job.end(), 0, job.output())
        for rank in (0, 1):
            self.assertEqual(job.lines_of(f"worker {rank}"),
                             [f"rank {rank + 3} local {rank} of 2",
                              f"worker {rank} of 2: sum = 3"], job.output())
        self.assert_nobody_left()

    def test_hosts_are_mpirun_s_own(self):
        job = self.by_mpirun(HELLO, flags=["-H", "localhost:2"])
        self.assertEqual(job.end(), 0, job.output())
        job = self.by_mpirun(HELLO, flags=["-H", "localhost:2", "--dry-run"])
        self.assertEqual(job.end(), 0, job.output())
        job.expect(r"^\[mpirun\] env mpirun .*--host localhost:2 -np 5 .*--agent")

    def test_exit_statuses_are_exact(self):
        for script, status, cause in (("exit 7", 7, "exited with status 7"),
                                      ("kill -SEGV $$", 139, "killed by SIGSEGV")):
            with self.subTest(script):
                script = f'test "$RANK" = 0 || {{ {script}; }}; exec sleep 1000'
                job = self.by_mpirun("sh", "-c", script, flags=["--settle", 0])
                code = "ProgramFailed" if "exited" in cause else "PeerLost"
                self.refused(job, code, "role=worker rank=1", cause, status=status)

    def test_a_killed_worker_ends_the_job(self):
        job = self.by_mpirun(cluster.TRAINING, *FOREVER)
        job.expect("progress", count=4)
        os.kill(self.members()["worker 1"], signal.SIGKILL)
        self.refused(job, "PeerLost", "role=worker rank=1", "killed by SIGKILL", status=137)

    def test_a_lost_worker_is_replaced(self):
        self.assert_replaced(lambda program, flags: self.start_job(
            [cluster.LAUNCH, "--via", "mpi", "--servers", 1, *flags, "--", *program]))

    def test_killed_from_outside(self):
        """The launcher, mpirun or a rank: all end, and a member that knows it names the victim."""
        for what in ("launcher", "mpirun", "rank"):
            with self.subTest(what):
                job = self.by_mpirun(cluster.TRAINING, *FOREVER)
                job.expect("progress", count=4)
                pids = [*self.survivors(), *hosts.agents()]
                if what == "launcher":
                    job.send(signal.SIGKILL)
                    self.assertEqual(job.end(), 137)
                elif what == "mpirun":
                    mpirun, = self.mpiruns()
                    os.kill(mpirun, signal.SIGKILL)
                    self.assertEqual(job.end(), 1, job.output())
                    self.one_error(job, "Network", "mpirun")
                else:
                    worker = self.members()["worker 0"]
                    rank, = [pid for pid in hosts.agents() if worker in cluster.children_of(pid)]
                    os.kill(rank, signal.SIGKILL)
                    self.assertEqual(job.end(), 1, job.output())
                    self.one_error(job, "Network", "mpirun's rank 3 (worker 0)")
                self.assert_ended(pids)

    def test_a_notice_comes_once_to_each(self):
        job = self.by_mpirun(sys.executable, "-c", hosts.NOTICED)
        job.expect("waits", count=2)
        job.send(signal.SIGTERM)
        self.assert_noticed_once(job)

    def test_nobody_can_read_the_secrets(self):
        job = self.by_mpirun(cluster.TRAINING, *FOREVER, STRETTO_JOB_TOKEN=TOKEN)
        job.expect("progress", count=2)
        mpirun, = self.mpiruns()
        secret = cluster.variables_of(mpirun)["STRETTO_LAUNCH_SECRET"]
        self.assertEqual(len(secret), 32)
        for name, pid in self.members().items():
            variables = cluster.variables_of(pid)
            self.assertEqual(variables["STRETTO_JOB_TOKEN"], TOKEN, name)
            self.assertNotIn("STRETTO_LAUNCH_SECRET", variables, name)
        for text in (TOKEN, secret):
            self.assert_nowhere_in_command_lines(text)
            self.assertNotIn(text, job.output())
        job.send(signal.SIGINT)
        self.assertNotEqual(job.end(), 0)

    def test_many_launchers_are_refused(self):
        """An mpirun around the launcher would start as many jobs as ranks."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
            # By a file: mpirun may end before it has forwarded a rank's last line.
            launcher = ["sh", "-c", f'exec {cluster.LAUNCH} {HELLO} 2>>"$0"', said.name]
            around = [hosts.program("mpirun"), "--oversubscribe", "-np", 2, *launcher]
            job = self.start_job(around, OMPI_ALLOW_RUN_AS_ROOT=1,
                                 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
            self.assertEqual(job.end(), 2, job.output())
            errors = cluster.errors_in(said.read().splitlines())
        for error in errors:
            self.assert_error(error, "InvalidArgument", "mpirun has started 2 of these launchers",
                              "--via mpi")
        self.assertGreaterEqual(len(errors), 1, job.output())

    def test_no_mpirun(self):
        job = self.by_mpirun(HELLO, flags=["--starter", "no-such-mpirun -v"])
        self.refused(job, "InvalidArgument", "cannot execute 'no-such-mpirun'")
        wrong = f"{hosts.program('mpirun')} --no-such-flag"
        job = self.by_mpirun(HELLO, flags=["--starter", wrong])
        self.refused(job, "Network", "mpirun exited with status")

    def test_a_check_runs_mpirun(self):
        job = self.by_mpirun(HELLO, flags=["--check"])
        self.assertEqual(job.end(), 0, job.output())
        job.expect("^ok +mpirun is /.*mpirun: mpirun ")


class MpiOverHosts(hosts.FarTest):
    """mpirun itself reaches other hosts by ssh; only the words after --starter are ours."""

    def test_hello(self):
        lab = hosts.Lab(["one", "two"])
        self.addCleanup(lab.close)
        mpirun = f"{hosts.program('mpirun')} --mca plm_rsh_agent '{lab.ssh}' --map-by node"
        job = self.start_job([*lab.home(), cluster.LAUNCH, "--via", "mpi", "-H", "one:1,two:1",
                              "-s", 2, "--starter", mpirun, "--", HELLO])
        self.assertEqual(job.end(), 0, job.output())
        for rank in (0, 1):
            self.assertIn(f"worker {rank} of 2: sum = 3", job.lines_of(f"worker {rank}"))
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
