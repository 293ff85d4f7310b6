# SPDX-License-Identifier: Apache-2.0
"""Readers of one job: workers with paths in another order get an error, because samples would not
come once each (readers_worker.py).
"""

import tempfile
import unittest

import jobs

jobs.use_packages()

from stretto.input import write_tfrecord  # pylint: disable=wrong-import-position


class Readers(jobs.PythonTest):

    def job(self, how, **options):
        """A job whose workers read some files."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name in "abcd":
            write_tfrecord(f"{folder.name}/{name}", [name.encode() * 10] * 3)
        return self.python("readers_worker.py", folder.name, how, **options)

    def test_paths_alike(self):
        self.assert_done(self.job("alike"))
        self.assert_done(self.job("alike", servers=0))

    def test_paths_in_another_order(self):
        for servers in (1, 0):
            job = self.job("reversed", servers=servers)
            self.assertNotEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
            job.expect("Mismatch: Reader: another worker's Reader 1 has other files.*sorted")


if __name__ == "__main__":
    unittest.main()
