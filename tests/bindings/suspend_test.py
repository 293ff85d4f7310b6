# SPDX-License-Identifier: Apache-2.0
"""suspend() and resume(): the workers that stay join a new job, with its own scheduler and
servers, at the same address.
"""

import os
import signal
import sys
import unittest

import jobs

LEAVE_AND_RETURN = """
import torch, stretto.torch as st
st.init()
st.push_pull(torch.ones(2), "x")
st.shutdown()
for lazy in (True, False):
    try:
        st.init(lazy)
    except st.errors.Refused as error:
        assert "suspend(), and resume()" in str(error), error
        print("refused", st.rank(), flush=True)
"""


class Suspend(jobs.PythonTest):

    def cluster(self, address, workers, servers):
        """Starts a scheduler and servers; returns the processes, and the scheduler's address."""
        common = {"STRETTO_WORLD_SIZE": workers, "STRETTO_SERVERS": servers}
        scheduler = self.start("scheduler", [jobs.cluster.SCHEDULER], STRETTO_SCHEDULER=address,
                               **common)
        address = "{}:{}".format(*jobs.cluster.address_of(scheduler))
        members = [self.start(f"server {rank}", [jobs.cluster.SERVER], STRETTO_SCHEDULER=address,
                              **common) for rank in range(servers)]
        return [scheduler, *members], address

    def test_three_workers_then_two(self):
        first, address = self.cluster("127.0.0.1:0", 3, 1)
        host, port = address.split(":")
        workers = [self.start(f"worker {rank}", [sys.executable,
                                                 jobs.HERE / "suspending_worker.py", 2, 2],
                              DMLC_ROLE="worker", DMLC_PS_ROOT_URI=host, DMLC_PS_ROOT_PORT=port,
                              DMLC_NUM_WORKER=3, DMLC_NUM_SERVER=1, DMLC_WORKER_ID=rank)
                   for rank in range(3)]
        for rank, worker in enumerate(workers):
            worker.expect("^sum 3.0$", jobs.TORCH_PATIENCE)
            worker.expect("^trained -2.0 -2.0 -2.0 -2.0 -6.0$")
            worker.expect(f"^suspended {rank} of 3 local 0 of 1$")
        for process in (*first, workers[2]):
            self.assertEqual(process.end(), 0, process.output())
        second, _ = self.cluster(address, 2, 2)
        for worker in workers[:2]:
            os.kill(worker.pid, signal.SIGUSR1)
        for rank, worker in enumerate(workers[:2]):
            worker.expect(f"^again 2.0 as {rank} of 2$")
            worker.expect("^trained -5.5 -3.5 -3.5 -9.0 -1.5$")
            worker.expect("^local -6.0 round 2$")  # The means of all four steps of the two.
            worker.expect("^refused since resume.. another optimizer was made")
            self.assertEqual(worker.end(), 0, worker.output())
        for process in second:
            self.assertEqual(process.end(), 0, process.output())
        self.assert_nobody_left()

    def test_who_has_left_is_refused_at_once(self):
        job = self.launch(sys.executable, "-c", LEAVE_AND_RETURN, workers=2, servers=1)
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        for rank in range(2):
            self.assertEqual(job.lines_of(f"worker {rank}"), [f"refused {rank}"] * 2, job.output())
        self.assertEqual(job.errors(), [], job.output())


if __name__ == "__main__":
    unittest.main()
