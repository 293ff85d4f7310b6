# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that a worker consists of, and prints the outcome."""

import sys
import unittest

import torch

import stretto.torch as st


def run_tests(arguments=None):
    """Runs the program's tests, or the named tests; the first failure ends the process, and so the
    job. Leaves the job at the end."""
    torch.set_num_threads(1)
    st.init()
    argv = None if arguments is None else sys.argv[:1] + arguments
    if not unittest.main(argv=argv, exit=False, failfast=True).result.wasSuccessful():
        sys.exit(1)
    st.shutdown()
