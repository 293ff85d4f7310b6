# SPDX-License-Identifier: Apache-2.0
"""The window model: the time of a step with late gradients, their least number, and the evaluation
of measured steps.
"""

import unittest

import jobs

jobs.use_packages()

from stretto.torch.optim import windows  # pylint: disable=wrong-import-position

COMPUTING = 3.0  # The forward takes 1 of it.


def even(count, link):
    """A model of `count` equal layers, in the order of the forward, whose gradients together keep
    the link busy for `link`."""
    return [windows.Window(1.0 + 2.0 * (count - index) / count, link / count)
            for index in range(count)]


class StepSeconds(unittest.TestCase):

    def test_nothing_is_late(self):
        """The link begins with the first gradient, and the step ends with the last."""
        for link in (0.3, 3.0, 12.0):
            last = max(3.0 + link / 10, 1.2 + link)
            self.assertAlmostEqual(windows.step_seconds(even(10, link), 0, COMPUTING), last)

    def test_all_are_late(self):
        for link in (0.0, 0.3, 2.9, 3.0, 3.1, 12.0):
            self.assertAlmostEqual(windows.step_seconds(even(10, link), 10, COMPUTING),
                                   max(COMPUTING, link))

    def test_the_more_are_late_the_shorter_is_a_step(self):
        for link in (0.5, 2.0, 3.0, 5.0):
            found = [windows.step_seconds(even(20, link), stale, COMPUTING)
                     for stale in range(21)]
            self.assertEqual(found, sorted(found, reverse=True))

    def test_what_is_left_of_a_step_goes_before_the_next_one(self):
        """A large first layer, whose gradient is last, keeps the link busy while the next step
        computes."""
        model = [windows.Window(3.0, 2.5), windows.Window(2.0, 0.5)]
        self.assertAlmostEqual(windows.step_seconds(model, 0, COMPUTING), 5.5)
        self.assertAlmostEqual(windows.step_seconds(model, 1, COMPUTING), 3.0)

    def test_nothing_is_exchanged(self):
        self.assertAlmostEqual(windows.step_seconds([], 0, COMPUTING), COMPUTING)


class LeastPrefix(unittest.TestCase):

    def test_it_is_the_least_that_reaches_the_bound(self):
        for link in (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 9.0):
            model = even(40, link)
            bound = max(COMPUTING, link) * (1 + windows.SLACK)
            least = windows.least_prefix(model, COMPUTING)
            self.assertLessEqual(windows.step_seconds(model, least, COMPUTING), bound)
            if least:
                self.assertGreater(windows.step_seconds(model, least - 1, COMPUTING), bound)

    def test_a_link_that_is_hardly_used_needs_none(self):
        self.assertEqual(windows.least_prefix(even(40, 0.05), COMPUTING), 0)

    def test_nothing_is_known(self):
        self.assertEqual(windows.least_prefix([windows.Window(0.0, 0.0)] * 3, 0.0), 0)
        self.assertEqual(windows.least_prefix([], 1.0), 0)


class Profile(unittest.TestCase):

    def noted(self):
        """Three steps: computing takes 5, 4, 6 s, and the exchange 9, 2, 1 s. The first step does
        not count, because its begin is unknown."""
        profile, now = windows.Profile(), 100.0
        for computing, link in ((5.0, 9.0), (4.0, 2.0), (6.0, 1.0)):
            profile.gradient("last", now + 1.0)
            profile.gradient("first", now + 1.5)
            profile.gradient("first", now + computing - 0.5)  # A second backward of the step.
            now += computing
            profile.computed(now)
            now += link
            profile.exchanged(link, now)
        return profile

    def test_medians(self):
        profile = self.noted()
        self.assertEqual(profile.steps, 3)
        self.assertEqual(profile.computing(), 5.0)
        sizes = {"first": 300, "last": 100, "unused": 0}
        self.assertEqual(profile.forward_order(["unused", "last", "first"]),
                         ["first", "last", "unused"])
        self.assertEqual(profile.windows(["first", "last"], sizes),
                         [windows.Window(4.5, 1.5 * 0.75), windows.Window(1.0, 1.5 * 0.25)])

    def test_before_the_first_step(self):
        profile = windows.Profile()
        self.assertEqual((profile.steps, profile.computing()), (0, 0.0))
        self.assertEqual(profile.forward_order("ab"), ["a", "b"])
        self.assertEqual(profile.windows("a", {"a": 0}), [windows.Window(0.0, 0.0)])


if __name__ == "__main__":
    unittest.main()
