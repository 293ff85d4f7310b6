# SPDX-License-Identifier: Apache-2.0
"""Programs of stretto.torch under torchrun: st.init() joins its ranks in one job."""

import pathlib
import socket
import tempfile
import unittest

import jobs

SIZE = 2


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Torchrun(jobs.PythonTest):

    def assert_sums(self, job, *lines):
        """The job ends with status 0, and has these lines for each rank."""
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        for rank in range(SIZE):
            for line in lines:
                self.assertIn(f"rank {rank} {line} 3.0", job.output())

    def test_init_joins_the_ranks(self):
        for flags in jobs.some(("--rdzv_backend=static", "--master_addr=127.0.0.1",
                                f"--master_port={free_port()}"),
                               ("--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0")):
            job = self.alone(jobs.HERE / "torchrun_by_any_torch.py", f"--nproc_per_node={SIZE}",
                             *flags, jobs.HERE / "torchrun_worker.py")
            self.assert_sums(job, "sum")
            self.assert_nobody_left()

    def restart(self, way, leaver, agents, nproc):
        """A rank of the first attempt ends, and the ranks of the second attempt have their sums."""
        flags = (f"--nnodes={agents}", f"--nproc_per_node={nproc}", "--max_restarts=2",
                 "--monitor_interval=0.1", "--rdzv_backend=c10d",
                 f"--rdzv_endpoint=127.0.0.1:{free_port()}")
        with tempfile.TemporaryDirectory() as folder:
            jobs_of_agents = [self.alone(jobs.HERE / "torchrun_by_any_torch.py", *flags,
                                         jobs.HERE / "torchrun_restarting_worker.py", way, leaver,
                                         pathlib.Path(folder) / "marker") for _ in range(agents)]
            output = ""
            for job in jobs_of_agents:
                self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
                output += job.output()
        for rank in range(SIZE):
            self.assertIn(f"rank {rank} sum 3.0", output)
        # The scheduler of the first attempt outlives its ranks until it notices their end.
        watch = jobs.cluster.Watch({pid: pid for pid in self.survivors()})
        self.addCleanup(watch.close)
        watch.ends(jobs.TORCH_PATIENCE)
        self.assert_nobody_left()

    def test_restarted_ranks_join_new_job(self):
        for way in ("init", "backend"):
            with self.subTest(way):
                self.restart(way, leaver=0, agents=1, nproc=SIZE)

    def test_agents_that_count_apart_restart(self):
        for leaver in range(SIZE):
            with self.subTest(leaver=leaver):
                self.restart("init", leaver, agents=SIZE, nproc=1)

    def test_init_tells_why_ranks_do_not_meet(self):
        for wanted, variables in (
                ("RendezvousTimeout: init: .*rank 1 has not come within 1 s", {"RANK": 0}),
                ("RendezvousTimeout: init: ", {"RANK": 1}),
                ("InvalidArgument: MASTER_PORT is 'x', wanted a whole", {"MASTER_PORT": "x"}),
                ("InvalidArgument: RANK is 5, but WORLD_SIZE is 2", {"RANK": 5})):
            with self.subTest(wanted):
                usual = {"RANK": 0, "WORLD_SIZE": SIZE, "MASTER_ADDR": "127.0.0.1",
                         "MASTER_PORT": free_port(), "STRETTO_RENDEZVOUS_TIMEOUT_S": 1}
                job = self.forked("rank", "torchrun_worker.py", **usual | variables)
                self.assertEqual(job.end(jobs.TORCH_PATIENCE), 1, job.output())
                job.expect(wanted)
                self.assertNotIn("init_process_group", job.output())

    def test_ranks_without_an_agent(self):
        port = free_port()
        ranks = [self.forked(f"rank {rank}", "torchrun_worker.py", "both", RANK=rank,
                             WORLD_SIZE=SIZE, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=SIZE,
                             MASTER_ADDR="127.0.0.1", MASTER_PORT=port, USE_LIBUV=0)
                 for rank in range(SIZE)]
        for rank, job in enumerate(ranks):
            self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
            self.assertIn(f"rank {rank} sum 3.0", job.output())
            self.assertIn(f"rank {rank} gloo 3.0", job.output())


if __name__ == "__main__":
    unittest.main()
