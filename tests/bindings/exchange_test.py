# SPDX-License-Identifier: Apache-2.0
"""The calls of byteps.torch and stretto.torch among several workers (exchange_worker.py)."""

import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import environment, errors  # pylint: disable=wrong-import-position
from stretto.torch.core import exchange, wire  # pylint: disable=wrong-import-position


class Failed:
    """The ticket of an exchange that has failed."""

    def wait(self):
        """Raises."""
        raise errors.PeerLost("a worker ended")

    def done(self):
        """True."""
        return True


class Ended(Failed):
    """The ticket of an exchange that has succeeded."""

    def wait(self):
        """Returns at once."""


class Handles(unittest.TestCase):

    def test_one_that_has_failed_is_done_and_whoever_waits_gets_the_error(self):
        for finish in (None, lambda: self.fail("no result to complete")):
            handle = exchange.Handle(Failed(), torch.ones(1), finish)
            for _ in range(2):
                self.assertTrue(handle.done())
                with self.assertRaises(errors.PeerLost):
                    handle.wait()

    def test_a_result_that_cannot_be_put_in_its_place_is_an_error_each_time(self):
        place = torch.ones(1).expand(3)
        handle = exchange.Handle(Ended(), place, lambda: place.copy_(torch.ones(3)))
        for call in (handle.done, handle.wait, handle.wait):
            self.assertRaises(RuntimeError, call)


class Wire(unittest.TestCase):

    def test_however_many_workers_say_true_it_is_true(self):
        kind = wire.type_on_wire(torch.tensor(True))
        self.assertGreater(torch.iinfo(kind).max, environment.MOST_WORKERS)


class Exchange(jobs.PythonTest):

    def test_two_workers_of_an_elastic_job(self):
        """In elastic jobs broadcasts are sums, and gathers check the remaining members."""
        self.assert_done(self.python("exchange_worker.py", workers="1:2"))

    def test_rows_groups_and_several_at_a_time(self):
        self.assert_done(self.python("rows_worker.py", workers=3, servers=1), workers=3)

    def test_two_workers(self):
        self.assert_done(self.python("exchange_worker.py"))

    def test_three_workers_over_tcp(self):
        job = self.python("exchange_worker.py", workers=3, servers=1, STRETTO_TRANSPORT="tcp")
        self.assert_done(job, workers=3)


if __name__ == "__main__":
    unittest.main()
