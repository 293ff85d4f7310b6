# SPDX-License-Identifier: Apache-2.0
"""A host without power, where no network namespaces can be made."""

import os
import signal
import subprocess
import unittest
from unittest import mock

import cluster
import hosts
import lab


class WithoutNamespaces(unittest.TestCase):

    def setUp(self):
        with mock.patch.object(lab, "why_no_lab", lambda: "not root"):
            self.lab = hosts.Lab(("one",))
        self.addCleanup(self.lab.close)
        self.children = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
        for child in self.children:
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)

    def test_its_processes_are_resumed(self):
        ended, stopped = (child.pid for child in self.children)
        with self.lab.without_power("one", [ended, stopped]):
            self.assertEqual(cluster.state_of(stopped), "T")
            self.children[0].kill()
            self.children[0].wait()
        pid, status = os.waitpid(stopped, os.WCONTINUED | os.WNOHANG)
        self.assertTrue(pid == stopped and os.WIFCONTINUED(status), (pid, status))

    def test_they_are_resumed_after_an_error(self):
        stopped = self.children[1].pid
        with self.assertRaises(KeyError):
            with self.lab.without_power("one", [stopped]):
                raise KeyError
        os.kill(stopped, signal.SIGTERM)  # A stopped process would not end.
        self.assertEqual(self.children[1].wait(hosts.PATIENCE), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
