# SPDX-License-Identifier: Apache-2.0
"""The programs of a job: their paths, and their execution in this process."""

import os
import pathlib
import shutil
import sys

from stretto import environment, errors

PROGRAMS = {"scheduler": "stretto-scheduler", "server": "stretto-server",
            "launcher": "stretto-launch"}


def program(name):
    """The path of one of our programs: in STRETTO_BIN_DIR if set; else beside this interpreter, in
    the build tree that contains these packages, or in PATH. Raises Unsupported if the program is
    missing."""
    here = pathlib.Path(__file__).parent  # Not resolved: in a build tree this is a link.
    folders = [pathlib.Path(sys.executable).parent, here.parents[1] / "bin"]
    given = environment.text("STRETTO_BIN_DIR")
    if given:
        folders = [pathlib.Path(given)]
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    found = None if given else shutil.which(name)
    if found is None:
        raise errors.Unsupported(
            f"{name} was not found in {', '.join(map(str, folders))}"
            + (", which STRETTO_BIN_DIR names" if given else " or PATH")
            + "; set STRETTO_BIN_DIR to the folder that has it")
    return found


def role_from_environment():
    """The role of this process by DMLC_ROLE: scheduler or server. Raises InvalidArgument for any
    other value."""
    role = environment.text("STRETTO_ROLE", "DMLC_ROLE")
    if role not in ("scheduler", "server"):
        raise errors.InvalidArgument(
            f"DMLC_ROLE is '{role}', wanted scheduler or server: this program runs no workers")
    return role


def become(role):
    """Makes this process the scheduler or a server: does not return."""
    path = program(PROGRAMS[role])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [path])
