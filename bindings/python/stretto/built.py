# SPDX-License-Identifier: Apache-2.0
"""The Python that the compiled module of this package was built for. It can be imported by others.
"""

import pathlib
import re
import sys

_FOLDER = pathlib.Path(__file__).parent


def why_it_is_missing():
    """The error for this Python, which has found no compiled module."""
    tags = [re.search(r"cpython-(\d)(\d+)", path.name) for path in _FOLDER.glob("_core.*.so")]
    versions = sorted(f"{tag.group(1)}.{tag.group(2)}" for tag in tags if tag)
    here = f"{'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})"
    if versions:
        text = (f"stretto in {_FOLDER} is built for Python {', '.join(versions)}, and this is "
                f"Python {here}: run python{versions[-1]}, or install stretto for this one")
    else:
        text = (f"stretto in {_FOLDER} has no compiled module for this Python, {here}: install "
                "stretto, or use the folder 'python' of a build")
    # With the package's name `python -m stretto.doctor` says it in one line.
    return ImportError(text, name="stretto")
