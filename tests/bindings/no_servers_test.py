# SPDX-License-Identifier: Apache-2.0
"""Jobs of Python programs without servers: scripts that select no exchange run unchanged, and train
the same as with servers.
"""

import pathlib
import sys
import tempfile
import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

EXAMPLES = jobs.cluster.SOURCE / "examples" / "torch"
LONG = 300.0  # Seconds for all training of one job on a busy machine.


class NoServers(jobs.PythonTest):

    def trained(self, workers, servers):
        """The weights by each wrapper."""
        with tempfile.TemporaryDirectory() as folder:
            job = self.python("no_servers_worker.py", "train", folder, workers=workers,
                              servers=servers)
            self.assert_done(job, workers, LONG)
            return torch.load(pathlib.Path(folder) / "weights.pt")

    def test_weights_are_those_of_a_job_with_servers(self):
        for workers in jobs.some(1, 2, 3):
            expected, found = (self.trained(workers, servers) for servers in (1, 0))
            self.assertEqual(len(found), 5)
            for name, weights in found.items():
                with self.subTest(name, workers=workers):
                    self.assertTrue(torch.allclose(weights, expected[name], rtol=1e-3, atol=1e-5))
                    if workers < 3:  # A sum of two numbers has one order.
                        self.assertTrue(torch.equal(weights, expected[name]))

    def test_exchanges_of_every_kind(self):
        for workers, script, *tests in jobs.some(
                (3, "exchange_worker.py", "Exchange"), (2, "exchange_worker.py", "Exchange"),
                (2, "horovod_worker.py"), (2, "layers_worker.py"), (3, "horovod_worker.py")):
            with self.subTest(script, workers=workers):
                job = self.python(script, *tests, workers=workers, servers=0)
                self.assert_done(job, workers, LONG)

    def test_what_wants_servers_is_refused(self):
        for workers in jobs.some(2, 3):
            job = self.python("no_servers_worker.py", workers=workers, servers=0)
            self.assert_done(job, workers)

    def test_a_script_of_byteps_says_the_same(self):
        said = []
        for servers in (1, 0):
            job = self.launch(sys.executable, EXAMPLES / "byteps_digits.py", "--epochs", 2,
                              servers=servers)
            self.assertEqual(job.end(LONG), 0, job.output())
            said.append([line for line in job.lines_of("worker 0") if "seconds" not in line])
        self.assertEqual(*said)


if __name__ == "__main__":
    unittest.main()
