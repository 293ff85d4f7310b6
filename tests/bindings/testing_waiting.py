# SPDX-License-Identifier: Apache-2.0
"""A function that testing_test.py runs too long; its module imports at once."""

import threading


def waits(seconds):
    """Does not return in time."""
    threading.Event().wait(seconds)
