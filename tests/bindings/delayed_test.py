# SPDX-License-Identifier: Apache-2.0
"""Mode delayed, in jobs of one, two and three workers, with servers and without: each mean gradient
is applied once, as the recursion in plain PyTorch has it (delayed_worker.py, delayed_reference.py).
"""

import os
import signal
import time
import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position

LONG = 300.0  # Seconds for all that one job trains, on a busy machine.
SOON = 20.0  # Far beyond what is promised, far below any timeout.


class Delayed(jobs.PythonTest):

    def test_with_servers(self):
        for workers in (1, 2, 3):
            self.assert_done(self.python("delayed_worker.py", workers=workers), workers, LONG)

    def test_without_servers(self):
        self.assert_done(self.python("delayed_worker.py", servers=0), seconds=LONG)
        # Of three also the sums have an order.
        self.assert_done(self.python("delayed_worker.py", "Recursion", "Auto", workers=3,
                                     servers=0), 3, LONG)

    def test_a_worker_is_killed(self):
        job = self.python("delayed_worker.py", "endless")
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] progress", jobs.TORCH_PATIENCE)
        started = time.monotonic()
        os.kill(job.member("worker 1"), signal.SIGKILL)
        self.assertEqual(job.end(SOON), 128 + signal.SIGKILL, job.output())
        self.assertLess(time.monotonic() - started, SOON)
        job.expect(r"\[worker 0\] stretto.errors.PeerLost: PeerLost: .*worker 1")
        self.assert_nobody_left()

    def test_elastic_jobs_are_refused(self):
        job = self.python("delayed_worker.py", "endless", workers="1:2")
        job.expect("ValueError: mode 'delayed' is for jobs of fixed size", jobs.TORCH_PATIENCE)
        self.assertNotEqual(job.end(SOON), 0, job.output())


class Misuse(unittest.TestCase):

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))

    def wrap(self, kind=torch.optim.SGD, **options):
        return st.DistributedOptimizer(kind(self.model.parameters(), lr=0.1),
                                       self.model.named_parameters(),
                                       **{"mode": "delayed"} | options)

    def test_options(self):
        for words, options in (
                ("approximate is 'lokal', wanted one of none, local, previous, local_previous",
                 {"approximate": "lokal"}),
                ("stale is -1, wanted 'all', 'auto', or a whole number", {"stale": -1}),
                ("stale is 0.5, wanted", {"stale": 0.5}),
                ("stale is True, wanted", {"stale": True}),
                ("stale is None, wanted", {"stale": None}),
                ("stale is 5, and 4 parameters are trained", {"stale": 5}),
                ("approximate= and stale= are for mode 'delayed', and the mode is 'sync'",
                 {"mode": "sync", "stale": 0}),
                ("approximate= and stale= are for mode 'delayed', and the mode is 'eager'",
                 {"mode": "eager", "approximate": "none"}),
                ("LBFGS looks at all of them", {"kind": torch.optim.LBFGS}),
                ("model= is for mode 'sync'", {"model": self.model}),
                ("digest_every is for mode 'sync'", {"digest_every": 5})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.wrap(**options)

    def test_calls(self):
        optimizer = self.wrap(stale="all")
        with self.assertRaisesRegex(ValueError, "mode 'delayed' takes no closure"):
            optimizer.step(lambda: None)
        with optimizer.skip_synchronize():
            with self.assertRaisesRegex(RuntimeError, "synchronize.. was not called since"):
                optimizer.step()
        optimizer.finish()  # Nothing is on its way.
        self.assertEqual(len(optimizer.stale()), 4)

    def test_a_process_of_its_own(self):
        """It is a job of one worker: each mean comes a step later all the same."""
        optimizer = self.wrap(stale="all", approximate="none")
        before = self.model[0].bias.detach().clone()
        for step in range(2):
            optimizer.zero_grad()
            self.model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
            self.assertEqual(torch.equal(before, self.model[0].bias), step == 0)
        optimizer.finish()


if __name__ == "__main__":
    unittest.main()
