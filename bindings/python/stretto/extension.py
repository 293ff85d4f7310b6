# SPDX-License-Identifier: Apache-2.0
"""The extension module: whether this Python can load it, and what to do if it cannot."""

import importlib.util
import pathlib
import platform
import re
import sys


def _version(tag):
    # "cpython-311-x86_64-linux-gnu": "Python 3.11".
    found = re.fullmatch(r"cpython-(\d)(\d+)-.*", tag)
    return f"Python {found[1]}.{found[2]}" if found else tag


def check():
    """ImportError, with the remedy, unless this Python finds its extension module."""
    if importlib.util.find_spec("stretto._core") is not None:
        return
    folder = pathlib.Path(__file__).parent
    built = sorted(_version(path.name.split(".")[1]) for path in folder.glob("_core.*.so"))
    here = f"Python {platform.python_version()} ({sys.executable})"
    if built:
        raise ImportError(f"Stretto in {folder} is built for {', '.join(built)}, and this is "
                          f"{here}; run that Python, or install Stretto for this one by "
                          "`pip install ./bindings/python`")
    raise ImportError(f"{folder} has no extension module of Stretto: it is a source folder, or its "
                      f"installation is not complete. Install it for {here} by "
                      "`pip install ./bindings/python`, or put build/python on PYTHONPATH")
