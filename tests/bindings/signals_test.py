# SPDX-License-Identifier: Apache-2.0
"""Signal handlers of a program, beside the handler by which a worker reads its stacks."""

import os
import signal
import unittest

import jobs

jobs.use_packages()

from stretto import session, testing  # pylint: disable=wrong-import-position


def keeps_handler():
    """The number of calls of the program's own handler after the worker has left."""
    calls = []
    session.begin(lazy=False)
    signal.signal(signal.SIGRTMAX, lambda number, frame: calls.append(number))
    session.end()
    os.kill(os.getpid(), signal.SIGRTMAX)
    return len(calls)


class Signals(jobs.PythonTest):

    def test_worker_leaves_handler_of_program(self):
        self.assertEqual(testing.run(keeps_handler, workers=1), [1])


if __name__ == "__main__":
    unittest.main()
