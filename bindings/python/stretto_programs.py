# SPDX-License-Identifier: Apache-2.0
"""Entry points of the programs stretto-doctor and bpslaunch. They are outside package stretto,
whose import fails if the compiled module lacks a library; the programs print that as one line.
"""

import importlib
import sys


def _run(program, module):
    try:
        main = importlib.import_module(module).main
    except ImportError as error:
        if error.name != "stretto":
            raise
        sys.exit(f"ERROR {program}: {error}")
    return main()


def doctor():
    """stretto-doctor."""
    return _run("stretto-doctor", "stretto.doctor")


def bpslaunch():
    """bpslaunch."""
    return _run("bpslaunch", "stretto.bpslaunch")
