# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of Stretto's Python packages (PEP 517): the compiled module for the
interpreter that runs this, and the programs of a job beside it. Uses only the standard library.

The wheel links to the libraries of the system that it was built on (ZeroMQ, Protobuf, fmt, oneTBB,
libfabric), so it is for machines of the same distribution.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

_HERE = pathlib.Path(__file__).resolve().parents[1]
_ROOT = _HERE.parents[1]
_PROGRAMS = ("stretto-scheduler", "stretto-server", "stretto-launch", "stretto-top",
             "stretto-trace", "stretto-checkpoint", "stretto-bench")
_SCRIPTS = """[console_scripts]
bpslaunch = stretto.bpslaunch:main
stretto-doctor = stretto.doctor:main

[pytest11]
stretto = stretto.pytest_plugin
"""
_METADATA = (
    ("Summary", "A parameter server for distributed training, with BytePS's API for PyTorch"),
    ("Description-Content-Type", "text/markdown"),
    ("Author", "The Stretto contributors"),
    ("License", "Apache-2.0"),
    ("License-File", "LICENSE"),
    ("Keywords", "distributed training,parameter server,PyTorch,BytePS"),
    ("Classifier", "Development Status :: 3 - Alpha"),
    ("Classifier", "Intended Audience :: Developers"),
    ("Classifier", "Intended Audience :: Science/Research"),
    ("Classifier", "License :: OSI Approved :: Apache Software License"),
    ("Classifier", "Operating System :: POSIX :: Linux"),
    ("Classifier", "Programming Language :: C++"),
    ("Classifier", "Programming Language :: Python :: 3"),
    ("Classifier", "Topic :: Scientific/Engineering :: Artificial Intelligence"),
    ("Classifier", "Topic :: System :: Distributed Computing"),
    ("Requires-Python", ">=3.9"),
    ("Provides-Extra", "torch"),
    ("Requires-Dist", "torch>=1.13; extra == 'torch'"),
    ("Requires-Dist", "numpy; extra == 'torch'"),
)
_EXECUTABLE, _PLAIN = 0o755, 0o644
_WHEN = (2020, 1, 1, 0, 0, 0)  # Of every file: equal sources give equal wheels.


def _version():
    text = (_ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(stretto VERSION (\S+)", text)[1]


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def _metadata():
    """Of the packages (PEP 566); what describes them is the page beside them."""
    heads = (("Metadata-Version", "2.1"), ("Name", "stretto"), ("Version", _version()), *_METADATA)
    readme = (_HERE / "README.md").read_text(encoding="utf-8")
    return "\n".join(f"{name}: {value}" for name, value in heads) + f"\n\n{readme}"


def _run(*command):
    # What the build says goes to stderr, which pip shows if it fails.
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)


def _compile(given):
    """Builds module and programs; returns the build folder: the given one, which must have been
    configured for this interpreter, or else one of our own."""
    if given:
        _run("cmake", "--build", given, "-j", os.cpu_count() or 1, "--target", "stretto_python",
             *_PROGRAMS)
        return pathlib.Path(given)
    if not (_ROOT / "worker" / "include").is_dir():
        raise RuntimeError(f"{_ROOT} is not Stretto's source tree: install from a checkout, by "
                           "`pip install ./bindings/python`")
    folder = _ROOT / "build" / f"wheel-{_tag()}"
    _run("cmake", "-S", _ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSTRETTO_TESTS=OFF",
         "-DSTRETTO_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}")
    _run("cmake", "--build", folder, "-j", os.cpu_count() or 1, "--target", "stretto_python",
         *_PROGRAMS)
    return folder


class _Wheel:
    """The archive, and the list of what is in it."""

    def __init__(self, path):
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record = []

    def add(self, name, data, mode=_PLAIN):
        """Adds a file."""
        info = zipfile.ZipInfo(name, _WHEN)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record):
        """Adds the list, and ends."""
        self._record += [f"{record},,", ""]
        self._archive.writestr(zipfile.ZipInfo(record, _WHEN), "\n".join(self._record))
        self._archive.close()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Called by pip: builds the wheel there, and returns its name. The setting `build-dir` names
    a CMake build folder to take module and programs from."""
    del metadata_directory
    folder = _compile((config_settings or {}).get("build-dir"))
    label = f"stretto-{_version()}"
    name = f"{label}-{_tag()}.whl"
    wheel = _Wheel(pathlib.Path(wheel_directory) / name)
    for package in ("stretto", "byteps"):
        for path in sorted((_HERE / package).rglob("*")):
            if path.suffix in (".py", ".pyi") or path.name == "py.typed":
                wheel.add(path.relative_to(_HERE).as_posix(), path.read_bytes())
    for module in sorted((folder / "python" / "stretto").glob("_core.*.so")):
        wheel.add(f"stretto/{module.name}", module.read_bytes(), _EXECUTABLE)
    for program in _PROGRAMS:
        wheel.add(f"{label}.data/scripts/{program}", (folder / "bin" / program).read_bytes(),
                  _EXECUTABLE)
    wheel.add(f"{label}.data/data/share/stretto/commit",
              (folder / "share" / "stretto" / "commit").read_bytes())
    info = f"{label}.dist-info"
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: stretto_build\nRoot-Is-Purelib: "
                               f"false\nTag: {_tag()}\n".encode())
    wheel.add(f"{info}/entry_points.txt", _SCRIPTS.encode())
    wheel.add(f"{info}/LICENSE", (_ROOT / "LICENSE").read_bytes())
    wheel.close(f"{info}/RECORD")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Refused: these packages are built from the whole source tree."""
    del sdist_directory, config_settings
    raise RuntimeError("there is no source archive of the Python packages alone; build a wheel "
                       "from a checkout: pip wheel ./bindings/python")
