# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program whose servers are killed while it trains has the same result as an undisturbed
one: the short form of `tools/chaos trains`."""

import argparse
import random
import tempfile
import unittest

import trains

EPOCHS = 40


class Trains(trains.Trains):
    """Figures and bits."""

    def test_digits_with_the_figures_and_the_bits_of_an_undisturbed_job(self):
        options = argparse.Namespace(every=0.8, stops=0.0, minutes=0.0, victims=["server"])
        totals = trains.Trained()
        program = trains.PROGRAMS["digits"]
        with tempfile.TemporaryDirectory() as folders:
            _, *plain = self.undisturbed(program, EPOCHS, f"{folders}/plain")
            disturbed = self.disturbed(program, EPOCHS, f"{folders}/disturbed", options,
                                       random.Random(1), totals)
        self.assertEqual(list(disturbed), plain)
        self.assertTrue(all(plain))
        self.assertGreater(totals.faults, 0)
        self.assertGreater(len(totals.grown), 2, "launcher, scheduler, workers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
