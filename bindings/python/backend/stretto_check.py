# SPDX-License-Identifier: Apache-2.0
"""Finds the faults of a wheel and its requirements on a host. Uses only the standard library."""

import configparser
import dataclasses
import email.parser
import pathlib
import tempfile
import zipfile

import stretto_libraries

# The newest symbols that the C and C++ libraries of a release have.
NEWEST = {
    "(bookworm)": {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30)},
    "(trixie)": {"GLIBC": (2, 41), "GLIBCXX": (3, 4, 33)},
}


def _text(family, numbers):
    return f"{family}_{'.'.join(map(str, numbers))}"


@dataclasses.dataclass
class Report:
    """The report on one wheel. `faults` are sentences; a good wheel has none."""

    platform: str = ""
    packages: list = dataclasses.field(default_factory=list)
    versions: dict = dataclasses.field(default_factory=dict)
    faults: list = dataclasses.field(default_factory=list)

    def __str__(self):
        newest = ", ".join(_text(*item) for item in sorted(self.versions.items()))
        return f"for {self.platform}; symbols up to {newest}; needs {' '.join(self.packages)}"


def check(wheel):
    """The Report of a wheel that this system has built."""
    report = Report()
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder)
        root = pathlib.Path(folder)
        info, = root.glob("*.dist-info")
        metadata = email.parser.Parser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
        report.platform = metadata["Platform"]
        report.packages = metadata.get_all("Requires-External", [])
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                _check_compiled(path, report)
        report.faults += _undocumented(root, info)
        listed = {line.partition(",")[0] for line in
                  (info / "RECORD").read_text(encoding="utf-8").splitlines()}
        report.faults += [f"RECORD does not list {name}"
                          for name in sorted(set(archive.namelist()) - listed)]
    return report


def _check_compiled(path, report):
    name = path.name
    for folder in stretto_libraries.search_paths(path):
        report.faults.append(f"{name} searches libraries in {folder}: build it without RPATH")
    places = stretto_libraries.found(path)
    links = {library: places.get(library) for library in stretto_libraries.needed(path)}
    owners = stretto_libraries.owners([place for place in links.values() if place])
    declared = {*report.packages, *stretto_libraries.BASE_PACKAGES}
    for library, place in links.items():
        if place is None:
            # The loader itself has no arrow in ldd's output.
            if not library.startswith("ld-linux"):
                report.faults.append(f"{name} needs {library}, which this system lacks")
        elif not owners[place] & declared:
            report.faults.append(f"{name} needs {place}, which is in no package that the wheel "
                                 "declares: link the library of the system's package instead")
    limits = next((limits for release, limits in NEWEST.items() if release in report.platform), {})
    for family, version in stretto_libraries.symbol_versions(path).items():
        report.versions[family] = max(version, report.versions.get(family, ()))
        if version > limits.get(family, version):
            report.faults.append(f"{name} needs {_text(family, version)}, and {report.platform} "
                                 f"has {_text(family, limits[family])} at most: use its compiler")


def _undocumented(root, info):
    """Programs without a man page or bash completion."""
    points = configparser.ConfigParser()
    points.read(info / "entry_points.txt", encoding="utf-8")
    scripts = list(points["console_scripts"])
    programs = sorted(path.name for path in root.glob("*.data/scripts/*"))
    for name in [*programs, *scripts]:
        for place in (f"man/man1/{name}.1", f"bash-completion/completions/{name}"):
            if not list(root.glob(f"*.data/data/share/{place}")):
                yield f"{name} has no share/{place}: configure the build with Python"
