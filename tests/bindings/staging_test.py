# SPDX-License-Identifier: Apache-2.0
"""Staging: the tensor of highest priority is copied first, and wait() raises errors of its thread.
A GPU's copies differ only in CudaCopies, which need a GPU to run.
"""

import threading
import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import done
from stretto.torch.gradients import staging


class SlowCopies(staging.HostCopies):
    """Copies that wait for permission."""

    def __init__(self):
        self.entered = threading.Semaphore(0)
        self.may = threading.Semaphore(0)

    def to_host(self, tensor, buffer, computed):
        """Copies after permission."""
        self.entered.release()
        assert self.may.acquire(timeout=jobs.cluster.PATIENCE)
        return super().to_host(tensor, buffer, computed)


class Staging(unittest.TestCase):

    def setUp(self):
        self.copies = SlowCopies()
        self.noted = []
        self.staging = staging.Staging(self.copies, lambda *span: self.noted.append(span))
        self.addCleanup(self.staging.close)
        self.begun = []

    def send(self, name, priority, begin=None):
        """Sends a tensor and records the start of its exchange."""

        def note():
            self.begun.append(name)
            return done.Done()

        return self.staging.send(torch.ones(3), torch.zeros(3), priority, begin or note)

    def test_the_most_urgent_goes_first(self):
        first = self.send("first", 0)
        self.assertTrue(self.copies.entered.acquire(timeout=jobs.cluster.PATIENCE))
        others = [self.send("low", -5), self.send("high", 5), self.send("low too", -5)]
        self.assertFalse(first.done())
        for _ in range(4):
            self.copies.may.release()
        for ticket in (first, *others):
            ticket.wait()
            self.assertTrue(ticket.done())
        self.assertEqual(self.begun, ["first", "high", "low", "low too"])
        self.assertEqual([kind for kind, _, _ in self.noted], ["stage"] * 4)
        ends = [end for _, _, end in self.noted]
        self.assertEqual(ends, sorted(ends))
        self.assertTrue(all(begin <= end for _, begin, end in self.noted))

    def test_an_error_reaches_who_waits(self):
        def fail():
            raise KeyError("no such tensor")

        bad, good = self.send("bad", 1, fail), self.send("good", 0)
        self.copies.may.release(2)
        with self.assertRaisesRegex(KeyError, "no such tensor"):
            bad.wait()
        good.wait()
        self.assertTrue(bad.done())

    def test_its_thread_ends_with_it(self):
        ticket = self.send("one", 0)
        self.copies.may.release()
        ticket.wait()
        self.staging.close()
        self.assertNotIn("stretto-stage", [thread.name for thread in threading.enumerate()])
        self.staging.close()

    def test_what_was_copied(self):
        tensor, buffer = torch.arange(6.0).view(2, 3).t(), torch.zeros(6)
        ticket = self.staging.send(tensor, buffer, 0, done.Done)
        self.copies.may.release()
        ticket.wait()
        self.assertTrue(torch.equal(self.staging.bring(buffer).view(3, 2), tensor))


if __name__ == "__main__":
    unittest.main()
