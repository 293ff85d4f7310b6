# SPDX-License-Identifier: Apache-2.0
"""Jobs inside allocations of a real Slurm of two nodes on this host, which the test starts and
stops (munged, slurmctld, two slurmd, with separate configuration in a separate folder): detected
without --via, started by srun, exact exit statuses, notices, and no process left.
"""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import cluster
import hosts

HELLO = cluster.BIN / "hello"
TOKEN = "a-token-that-nobody-may-see"
FOREVER = ("--rounds", 10**9, "--progress", 10)


class Slurm:
    """A Slurm cluster with nodes n1 and n2, which are both this host."""

    def __init__(self):
        # Not below a folder that only root may enter: munged rejects such a socket.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stretto-slurm-"))
        self.folder.chmod(0o755)
        self.configuration = self.folder / "slurm.conf"
        self._daemons = []
        try:
            self._start_munge()
            self._configure()
            self._start("slurmctld", "-D", "-f", self.configuration,
                        ready="Running as primary controller")
            for node in ("n1", "n2"):
                self._start("slurmd", "-D", "-f", self.configuration, "-N", node,
                            ready="slurmd started")
        except BaseException:
            self.close()
            raise

    def close(self):
        for daemon in reversed(self._daemons):
            daemon.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name, *words, ready):
        self._daemons.append(hosts.Daemon([hosts.program(name), *words], ready))

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{name}-file={self.folder}/munge.{name}"
                 for name in ("key", "log", "pid", "seed")]
        self._start("munged", "--foreground", "--force", "--num-threads=2",
                    f"--socket={self.folder}/munge.socket", *files, ready="work threads")

    def _configure(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        host = os.uname().nodename.split(".")[0]
        ports = [hosts.free_port(index) for index in (11, 12, 13)]
        nodes = "\n".join(
            f"NodeName=n{index} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[index]} CPUs=4"
            for index in (1, 2))
        for name in ("state", "spool.n1", "spool.n2"):
            (self.folder / name).mkdir()
        self.configuration.write_text(f"""
ClusterName=stretto
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.socket
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool.%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1
ReturnToService=2
KillWait=5
{nodes}
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
""", encoding="ascii")
        said = subprocess.run([hosts.program("slurmctld"), "-V"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        if tuple(map(int, re.findall(r"\d+", said)[:2])) >= (23, 11):
            # Newer versions require control groups, which a container or chroot may lack.
            self.configuration.with_name("cgroup.conf").write_text("CgroupPlugin=disabled\n",
                                                                   encoding="ascii")


class Allocations(hosts.FarTest):

    @classmethod
    def setUpClass(cls):
        cls.slurm = Slurm()
        cls.addClassCleanup(cls.slurm.close)

    def environment(self, **variables):
        return super().environment(SLURM_CONF=self.slurm.configuration, **variables)

    def allocated(self, *command, tasks=1, **variables):
        """Runs a command inside an salloc of both nodes."""
        return self.start_job([hosts.program("salloc"), "--quiet", "--nodes=2",
                               f"--ntasks-per-node={tasks}", *command], **variables)

    def over_nodes(self, *program, flags=(), **options):
        return self.allocated(cluster.LAUNCH, *flags, "--", *program, **options)

    def launcher_of(self, job):
        """The launcher under a salloc."""
        launcher, = [pid for pid in cluster.children_of(job.pid)
                     if hosts.processes().get(pid, [""])[0] == str(cluster.LAUNCH)]
        return launcher

    def test_an_allocation_is_noticed(self):
        where = 'echo "on $SLURMD_NODENAME local $LOCAL_RANK"; exec '
        job = self.over_nodes("sh", "-c", where + str(HELLO), tasks=2, flags=["-s", 2])
        self.assertEqual(job.end(), 0, job.output())
        job.expect("2 nodes of Slurm's allocation take part")
        for rank, place in enumerate(("n1", "n1", "n2", "n2")):
            said = job.lines_of(f"worker {rank}")
            self.assertEqual(len(said), 2, job.output())
            self.assertRegex(said[0], f"on {place} local [0-3]")
            self.assertEqual(said[1], f"worker {rank} of 4: sum = 10")
        self.assert_nobody_left()

    def test_a_batch_job_ends_with_its_status(self):
        status, said, script = (self.slurm.folder / name for name in ("status", "said", "batch"))
        os.mkfifo(status)
        script.write_text(f"#!/bin/sh\n{cluster.LAUNCH} --settle 0 -- sh -c 'test $RANK = 0 || "
                          f"exit 9; exec sleep 1000'\necho $? >{status}\n", encoding="ascii")
        reader = self.start("status", ["cat", status])
        job = self.start("sbatch", [hosts.program("sbatch"), "--nodes=2", "--ntasks=2",
                                    f"--output={said}", script])
        self.assertEqual(job.end(), 0, job.output())
        reader.expect("^9$")
        last = said.read_text(encoding="utf-8").splitlines()[-1]
        error, = cluster.errors_in([last])
        self.assert_error(error, "ProgramFailed", "role=worker rank=1", "exited with status 9")

    def test_a_killed_worker_ends_the_job(self):
        job = self.over_nodes(cluster.TRAINING, *FOREVER)
        job.expect("progress", count=4)
        os.kill(self.members()["worker 1"], signal.SIGKILL)
        self.refused(job, "PeerLost", "role=worker rank=1", "killed by SIGKILL", status=137)

    def test_a_lost_worker_is_replaced(self):
        self.assert_replaced(lambda program, flags: self.over_nodes(*program, flags=flags))

    def test_killed_from_outside(self):
        """The launcher, or the srun that holds a node: all end."""
        for what in ("launcher", "srun"):
            with self.subTest(what):
                job = self.over_nodes(cluster.TRAINING, *FOREVER)
                job.expect("progress", count=4)
                pids = [pid for pid in self.survivors() if pid != job.pid] + hosts.agents()
                launcher = self.launcher_of(job)
                if what == "launcher":
                    os.kill(launcher, signal.SIGKILL)
                    job.end()  # With salloc's own status.
                else:
                    srun, = [pid for pid in cluster.children_of(launcher)
                             if "--relative=1" in hosts.processes().get(pid, [])]
                    os.kill(srun, signal.SIGKILL)
                    self.assertEqual(job.end(), 1, job.output())
                    self.one_error(job, "Network", "node 1 of Slurm job", "is lost")
                self.assert_ended(pids)

    def test_notices_come_once_to_each(self):
        """To all steps, as from scancel and preemption."""
        job = self.over_nodes(sys.executable, "-c", hosts.NOTICED)
        job.expect("waits", count=2)
        number = cluster.variables_of(self.launcher_of(job))["SLURM_JOB_ID"]
        cancel = self.start("scancel", [hosts.program("scancel"), "--signal=TERM", number])
        self.assertEqual(cancel.end(), 0, cancel.output())
        self.assert_noticed_once(job)

    def test_nobody_can_read_the_token(self):
        job = self.over_nodes(cluster.TRAINING, *FOREVER, STRETTO_JOB_TOKEN=TOKEN)
        job.expect("progress", count=2)
        for name, pid in self.members().items():
            self.assertEqual(cluster.variables_of(pid)["STRETTO_JOB_TOKEN"], TOKEN, name)
        self.assert_nowhere_in_command_lines(TOKEN)
        os.kill(self.launcher_of(job), signal.SIGINT)
        self.assertNotEqual(job.end(), 0)

    def test_what_cannot_be(self):
        job = self.start_job([cluster.LAUNCH, "--via", "slurm", "--", HELLO])
        self.refused(job, "InvalidArgument", "SLURM_JOB_ID", "salloc or sbatch", status=2)
        job = self.over_nodes(HELLO, flags=["-n", 5])
        self.refused(job, "InvalidArgument", "5 workers", "SLURM_JOB_ID", "has 2 slots", status=2)
        job = self.allocated(hosts.program("srun"), "--ntasks=2", cluster.LAUNCH, "--", HELLO)
        self.assertNotEqual(job.end(), 0)
        self.assert_error(job.errors()[0], "InvalidArgument", "srun has started 2", "--via slurm")

    def test_heterogeneous_allocation_is_refused(self):
        job = self.start_job([hosts.program("salloc"), "-N1", "-n1", ":", "-N1", "-n1",
                              cluster.LAUNCH, "--", HELLO])
        self.refused(job, "Unsupported", "is heterogeneous", "--via local", status=2)

    def test_stale_job_id_names_itself(self):
        job = self.start_job([cluster.LAUNCH, "--", HELLO], SLURM_JOB_ID="99999",
                             SLURM_TASKS_PER_NODE="1")
        self.assertNotEqual(job.end(), 0)
        self.assert_error(job.errors()[0], "Network", "unset SLURM_JOB_ID", "--via local")

    def test_a_check_asks_every_node(self):
        job = self.over_nodes(HELLO, flags=["--check"])
        self.assertEqual(job.end(), 0, job.output())
        job.expect("^ok +node [01] of Slurm job .* has stretto-launch", count=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
