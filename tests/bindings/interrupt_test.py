# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at a job of Python workers: each tells it in one line; the status is that of SIGINT."""

import signal
import sys
import unittest

import jobs

EXCHANGE = """
import sys
from stretto import session
session.begin(lazy=False)
sys.stdout.write("begun\\n")
sys.stdout.flush()
while True:
    session.current().barrier()
"""
OWN_HOOK = """
import sys
sys.excepthook = lambda kind, error, trace: sys.stderr.write(f"mine: {kind.__name__}\\n")
""" + EXCHANGE


class Interrupt(jobs.PythonTest):

    def interrupted(self, program):
        """What each worker of a job says after Ctrl-C."""
        job = self.launch(sys.executable, "-c", program, workers=2, servers=1)
        job.expect("begun", count=2)
        job.send(signal.SIGINT)
        self.assertEqual(job.end(), 128 + signal.SIGINT, job.output())
        self.assert_nobody_left()
        self.assertNotIn("Traceback", job.output())
        return [job.lines_of(f"worker {rank}") for rank in range(2)]

    def test_each_worker_tells_one_line(self):
        for lines in self.interrupted(EXCHANGE):
            self.assertEqual(len(lines), 2, lines)
            self.assertRegex(lines[1], r"^KeyboardInterrupt in <string>:[5678]$")

    def test_a_hook_of_the_program_stays(self):
        for lines in self.interrupted(OWN_HOOK):
            self.assertEqual(lines, ["begun", "mine: KeyboardInterrupt"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
