# SPDX-License-Identifier: Apache-2.0
"""An exception of a signal handler ends a call that exchanges (unfinished_worker.py): the worker's
later calls would be one call off, so each raises an error that names the interrupted call.
"""

import tempfile
import unittest

import jobs

CALLS = ("allgather", "local", "object", "objects", "parameters", "alltoall", "horovod")
STATUS = 7


class Unfinished(jobs.PythonTest):

    def test_interrupted_calls_refuse_later_ones(self):
        with tempfile.TemporaryDirectory() as flags:
            self.assert_done(self.python("unfinished_worker.py", flags))

    def test_calls_of_several_exchanges_refuse(self):
        for name in jobs.some(*CALLS):
            with self.subTest(name), tempfile.TemporaryDirectory() as flags:
                job = self.python("unfinished_worker.py", flags, name)
                self.assertEqual(job.end(jobs.TORCH_PATIENCE), STATUS, job.output())
                self.assertEqual(job.lines_of("worker 0"), ["refused"], job.output())
                self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
