# SPDX-License-Identifier: Apache-2.0
"""Steps that do not wait for stragglers: a quorum of the workers, or backups (quorum_worker.py)."""

import os
import tempfile
import unittest

import jobs

jobs.use_packages()


class Quorums(jobs.PythonTest):

    def assert_runs(self, workers, servers):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(workers - 1):
                os.mkfifo(os.path.join(folder, str(rank)))
            self.assert_done(self.python("quorum_worker.py", workers=workers, servers=servers,
                                         MEET=folder), workers=workers)

    def test_four_workers_without_servers(self):
        self.assert_runs(4, 0)

    def test_three_workers(self):
        self.assert_runs(3, 1)


if __name__ == "__main__":
    unittest.main()
