# SPDX-License-Identifier: Apache-2.0
"""Tests that need a lab do not count as passed where none can be made."""

import unittest
from unittest import mock

import lab


class Passes(unittest.TestCase):
    """A TestCase that passes."""

    def test(self):
        pass


class Fails(unittest.TestCase):
    """A TestCase that fails."""

    def test(self):
        self.fail("on purpose")


class RunWherePossible(unittest.TestCase):

    def status(self, missing, with_lab, without):
        with mock.patch.object(lab, "why_no_lab", lambda: missing):
            return lab.run_where_possible(with_lab, without)

    def test_status(self):
        self.assertEqual(self.status("", Passes, Fails), 0)
        self.assertEqual(self.status("", Fails, Passes), 1)
        self.assertEqual(self.status("not root", Fails, Passes), lab.NOT_RUN)
        self.assertEqual(self.status("not root", Passes, Fails), 1)


def load_tests(loader, _, pattern):
    """Loads only the real tests."""
    del pattern
    return loader.loadTestsFromTestCase(RunWherePossible)


if __name__ == "__main__":
    unittest.main()
