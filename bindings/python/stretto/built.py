# SPDX-License-Identifier: Apache-2.0
"""The Python and the system that the compiled module of this package was built for. Other Pythons
and systems can import this file.
"""

import importlib.metadata
import pathlib
import re
import sys

_FOLDER = pathlib.Path(__file__).parent
_OS_RELEASE = pathlib.Path("/etc/os-release")


def why_it_fails(error):
    """The error to raise if importing the compiled module raised `error`."""
    if isinstance(error, ModuleNotFoundError):
        return _why_it_is_missing() if error.name == "stretto._core" else error
    # With the package's name `python -m stretto.doctor` prints the error as one line.
    return ImportError(f"the compiled module of stretto in {_FOLDER} cannot be loaded: {error}; "
                       f"{remedy()}", name="stretto")


def remedy():
    """The remedy for a library that a compiled file of this package lacks: one clause."""
    platform, packages = _needs()
    here = _system()
    if platform and here and platform != here:
        return (f"this stretto was built on {platform}, and this is {here}: install the wheel for "
                "this system, or build one from the source tree by tools/wheel")
    if packages:
        return f"install what it needs: apt-get install {' '.join(packages)}"
    return "install the system's packages that have its libraries, or install stretto again"


def _needs():
    """The system that built the wheel, and the names of the packages that the wheel needs there;
    from the metadata that pip has installed beside this package."""
    for found in importlib.metadata.distributions(path=[str(_FOLDER.parent)]):
        if found.metadata["Name"] == "stretto":
            return found.metadata["Platform"], found.metadata.get_all("Requires-External", [])
    return None, []


def _system():
    """The name of this system, such as "Debian GNU/Linux 12 (bookworm)"."""
    try:
        text = _OS_RELEASE.read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.MULTILINE)
    return match[1] if match else ""


def _why_it_is_missing():
    """The error for a Python without a compiled module."""
    tags = [re.search(r"cpython-(\d)(\d+)", path.name) for path in _FOLDER.glob("_core.*.so")]
    versions = sorted(f"{tag.group(1)}.{tag.group(2)}" for tag in tags if tag)
    here = f"{'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})"
    if versions:
        text = (f"stretto in {_FOLDER} is built for Python {', '.join(versions)}, and this is "
                f"Python {here}: run python{versions[-1]}, or install stretto for this one")
    else:
        text = (f"stretto in {_FOLDER} has no compiled module for this Python, {here}: install "
                "stretto, or use the folder 'python' of a build")
    # With the package's name `python -m stretto.doctor` prints the error as one line.
    return ImportError(text, name="stretto")
