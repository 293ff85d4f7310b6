# SPDX-License-Identifier: Apache-2.0
"""Exit of our Python programs if their output cannot be written."""

import os
import sys


def _forget():
    """Discards unwritten output; otherwise Python would report the error again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def told(run, role):
    """Returns the exit status of `run` after writing its output. If writing fails, prints an error
    line and returns 1. A closed pipe (`| head -1`) is no error."""
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return run()
        finally:  # At --help, argparse raises SystemExit.
            sys.stdout.flush()
    except BrokenPipeError:
        _forget()
        return 0
    except OSError as error:
        _forget()
        print(f"ERROR Resource role={role} rank=- peer=- op=print cause=standard output did not "
              f"take all: {error.strerror}", file=sys.stderr)
        return 1
