# SPDX-License-Identifier: Apache-2.0
"""What the installed programs stretto-doctor and bpslaunch start. Outside package stretto, which
cannot be imported where its compiled module lacks a library: then the programs say so in one line.
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
