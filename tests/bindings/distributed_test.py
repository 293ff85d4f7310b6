# SPDX-License-Identifier: Apache-2.0
"""Backend "stretto" of torch.distributed: its calls give gloo's results (distributed_worker.py),
with stretto-launch and without; failures are reported, and programs end cleanly.
"""

import os
import pathlib
import re
import signal
import socket
import sys
import time
import unittest

import jobs

LONG = 300.0  # Seconds for all calls of one job, on a busy machine.
SOON = 20.0  # Far above the documented time, far below any timeout.
PREFIX = r"(\[rank\d+\]: )?"  # PyTorch 2.4 and later begin the lines of uncaught errors with it.


class Distributed(jobs.PythonTest):

    def alone_or_together(self, how, size, address="127.0.0.1", come=None, **variables):
        """Starts ranks like torchrun: with variables of torch.distributed, none of Stretto."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return [self.forked(f"rank {rank}", "distributed_failing_worker.py", how, RANK=rank,
                            WORLD_SIZE=size, MASTER_ADDR=address, MASTER_PORT=port,
                            **variables)
                for rank in range(come or size)]

    def assert_all_end(self):
        """All processes of the test end soon, including the scheduler of rank 0."""
        watch = jobs.cluster.Watch({pid: pid for pid in self.survivors()})
        self.addCleanup(watch.close)
        watch.ends(SOON)
        self.assert_nobody_left()

    def assert_clean(self, job, workers, lines=1):
        """The job ends with status 0 and each worker's sum, and no line reports an abort."""
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        self.assertEqual(len(re.findall("sum", job.output())), workers * lines, job.output())
        self.assertNotRegex(job.output(), "Traceback|terminate|Fatal|ERROR|Aborted")

    def test_two_workers(self):
        self.assert_done(self.python("distributed_worker.py"), seconds=LONG)

    def test_three_workers_and_small_parts(self):
        self.assert_done(self.python("distributed_worker.py", workers=3, servers=1,
                                     STRETTO_PART_BYTES=16384), workers=3, seconds=LONG)

    def test_hooks_and_callbacks(self):
        for workers in (2, 3):
            self.assert_done(self.python("distributed_hooks_worker.py", workers=workers, servers=1),
                             workers=workers, seconds=LONG)

    def test_names_and_coalesced_calls(self):
        for workers in (2, 3):
            self.assert_done(self.python("distributed_names_worker.py", workers=workers, servers=0,
                                         forks=False), workers=workers, seconds=LONG)

    def test_programs_end_well(self):
        for how, lines in jobs.some(("adds", 1), ("adds_and_destroys", 2), ("leaves_requests", 1)):
            for workers in (1, 3):
                job = self.python("distributed_failing_worker.py", how, workers=workers, servers=1)
                self.assert_clean(job, workers, lines)

    def test_callbacks_and_forks_end_well(self):
        for how in ("leaves_callback", "forks"):
            job = self.python("distributed_failing_worker.py", how, servers=0)
            self.assert_clean(job, 2)

    def test_without_a_launcher(self):
        for size in (1, 2, 3):
            ranks = self.alone_or_together("adds_and_destroys", size)
            total = sum(range(1, size + 1))
            for rank in ranks:
                self.assert_clean(rank, 1, 2)
                self.assertIn(f"sum {float(total)}", rank.lines, rank.output())
            self.assert_all_end()

    def test_an_encrypted_job_has_its_token_from_elsewhere(self):
        encrypted = {"STRETTO_ENCRYPT": 1, "STRETTO_TRANSPORT": "zmq"}
        for rank in self.alone_or_together("adds", 2, **encrypted):
            self.assertEqual(rank.end(jobs.TORCH_PATIENCE), 1, rank.output())
            rank.expect("Unsupported: .*the store of torch.distributed is not encrypted")
        self.assert_all_end()
        ranks = self.alone_or_together("adds_and_destroys", 2, **encrypted,
                                       STRETTO_JOB_TOKEN="a token of this test")
        for rank in ranks:
            self.assert_clean(rank, 1, 2)
        self.assert_all_end()

    def test_a_program_that_names_another_backend(self):
        program = jobs.HERE / "distributed_named_worker.py"
        runner = (sys.executable, "-m", "stretto.torch.distributed")
        self.assert_done(self.launch(*runner, program, "--its", "own", servers=0))
        self.assert_done(self.launch(*runner, "-m", program.stem, "--its", "own", servers=0,
                                     PYTHONPATH=jobs.HERE))
        for words, said in (((), "wanted a program, found nothing"),
                            (("--fast",), "wanted a program, found --fast"),
                            (("/nowhere.py",), "there is no program /nowhere.py"),
                            (("-m", "nowhere"), "there is no program in module nowhere")):
            refused = self.alone("-m", "stretto.torch.distributed", *words)
            self.assertEqual(refused.end(jobs.TORCH_PATIENCE), 1, refused.output())
            self.assertIn(said, refused.output())

    def test_a_killed_rank_is_named(self):
        job = self.python("distributed_failing_worker.py", "endless", workers=3)
        for rank in range(3):
            job.expect(rf"\[worker {rank}\] progress", jobs.TORCH_PATIENCE)
        started = time.monotonic()
        os.kill(job.member("worker 1"), signal.SIGKILL)
        self.assertEqual(job.end(SOON), 128 + signal.SIGKILL, job.output())
        self.assertLess(time.monotonic() - started, SOON)
        for rank in (0, 2):
            job.expect(rf"\[worker {rank}\] {PREFIX}stretto.errors.PeerLost: .*worker 1")
        self.assert_nobody_left()

    def test_rank_0_is_killed_without_a_launcher(self):
        ranks = self.alone_or_together("endless", 3)
        for rank in ranks:
            rank.expect("progress", jobs.TORCH_PATIENCE)
        os.kill(ranks[0].pid, signal.SIGKILL)
        for rank in ranks[1:]:
            self.assertEqual(rank.end(SOON), 1, rank.output())
            rank.expect("stretto.errors.PeerLost: .*worker 0")
        self.assert_all_end()

    def test_all_are_told_that_there_is_no_scheduler(self):
        for rank in self.alone_or_together("adds", 2, STRETTO_BIN_DIR="/nowhere"):
            self.assertEqual(rank.end(jobs.TORCH_PATIENCE), 1, rank.output())
            rank.expect("Unsupported: init_process_group: .*stretto-scheduler was not found in "
                        "/nowhere")

    def test_ranks_meet_over_ipv6(self):
        has_ipv6 = pathlib.Path("/proc/net/if_inet6").exists()
        ranks = self.alone_or_together("adds_and_destroys", 2,
                                       address="::1" if has_ipv6 else "localhost")
        for rank in ranks:
            self.assert_clean(rank, 1, 2)
        self.assert_all_end()

    def test_rank_that_does_not_come_is_named_in_time(self):
        rank = self.alone_or_together("adds", 2, come=1, TEST_TIMEOUT_S=2)[0]
        self.assertEqual(rank.end(jobs.TORCH_PATIENCE), 1, rank.output())
        # PyTorch 2's own store waits for all ranks before the backend is asked.
        rank.expect("RendezvousTimeout: .*rank 1 has not come within"
                    "|DistStoreError: Timed out .*1/2 clients joined")

    def test_an_exception_ends_the_job(self):
        job = self.python("distributed_failing_worker.py", "raises")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 1, job.output())
        job.expect("KeyError: \"a bug of the user's\"")
        job.expect(rf"\[worker 0\] {PREFIX}stretto.errors.PeerLost: .*worker 1")
        self.assert_nobody_left()

    def test_who_is_late_is_named(self):
        job = self.python("distributed_failing_worker.py", "is_late", workers=3)
        self.assert_clean(job, 3)
        for rank in (0, 1):
            job.expect(rf"\[worker {rank}\] all_reduce: was not done within 1 s, it waits for "
                       f"worker {(2, 0)[rank]}")
        job.expect(r"\[worker 0\] monitored_barrier: rank 2 did not come within 1 s")

    def test_elastic_jobs_are_refused(self):
        job = self.python("distributed_failing_worker.py", "adds", workers="1:2")
        self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        job.expect("stretto.errors.Unsupported: init_process_group: .*of fixed size")


if __name__ == "__main__":
    unittest.main()
