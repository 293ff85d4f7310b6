# SPDX-License-Identifier: Apache-2.0
"""Programs of stretto.torch under torchrun: st.init() joins its ranks in one job."""

import socket
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
        """The job ends well, and has these lines for each rank."""
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
