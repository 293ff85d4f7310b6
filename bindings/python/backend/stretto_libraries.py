# SPDX-License-Identifier: Apache-2.0
"""The requirements of compiled files on a system, read by binutils, ldd and dpkg. Uses only the
standard library.
"""

import collections
import os
import pathlib
import re
import subprocess

# Every Debian with apt has these packages.
BASE_PACKAGES = ("libc6", "libgcc-s1", "libstdc++6")
_ENGLISH = os.environ | {"LC_ALL": "C"}


def _output(*words):
    return subprocess.run([str(word) for word in words], env=_ENGLISH, text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def needed(path):
    """The names of the libraries that this file links, such as libfmt.so.9."""
    return re.findall(r"^ +NEEDED +(\S+)", _output("objdump", "-p", path), re.MULTILINE)


def search_paths(path):
    """The folders that this file itself gives the loader: RPATH and RUNPATH."""
    return re.findall(r"^ +R(?:UN)?PATH +(\S+)", _output("objdump", "-p", path), re.MULTILINE)


def symbol_versions(path):
    """The newest version of each family of symbols that this file wants:
    {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29)}."""
    newest = {}
    for family, version in re.findall(r" (GLIBC|GLIBCXX|CXXABI)_([\d.]+)$",
                                      _output("objdump", "-p", path), re.MULTILINE):
        numbers = tuple(map(int, version.split(".")))
        newest[family] = max(newest.get(family, ()), numbers)
    return newest


def found(path):
    """The path on this system of each library that this file links, directly or indirectly; None
    for a missing library."""
    return {name: None if place == "not found" else pathlib.Path(place)
            for name, place in re.findall(r"^\t(\S+) => (not found|\S+)", _output("ldd", path),
                                          re.MULTILINE)}


def owners(paths):
    """The Debian packages that contain each of these libraries: {path: {package}}. The set is empty
    if dpkg does not know the path, or is missing."""
    patterns = {f"*/{path.parent.name}/{path.name}": path for path in paths}
    packages = collections.defaultdict(set)
    try:
        # dpkg-query exits with 1 if a pattern matches nothing.
        listed = subprocess.run(["dpkg-query", "-S", *patterns], env=_ENGLISH, text=True,
                                check=False, capture_output=True).stdout
    except FileNotFoundError:
        return packages
    for line in listed.splitlines():
        names, _, place = line.rpartition(": ")
        place = pathlib.Path(place)
        path = patterns.get(f"*/{place.parent.name}/{place.name}")
        if path and not names.startswith("diversion"):
            packages[path] |= {name.partition(":")[0] for name in names.split(", ")}
    return packages


def packages(paths):
    """The Debian packages that compiled files need, without BASE_PACKAGES."""
    libraries = set()
    for path in paths:
        places = found(path)
        libraries |= {places[name] for name in needed(path) if places.get(name)}
    every = set().union(*owners(libraries).values())
    return sorted(every - set(BASE_PACKAGES))


def system():
    """The name of this system, such as "Debian GNU/Linux 12 (bookworm)"."""
    try:
        text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.MULTILINE)
    return match[1] if match else ""
