# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of Stretto's Python packages (PEP 517): the compiled module for the
interpreter that runs this script, and the programs of a job with their man pages and bash
completion. Uses only the standard library.

Stretto's own libraries are inside the module and the programs. Both link to the libraries of the
build system (Protobuf, libsodium, fmt, oneTBB). So the wheel is for machines of the same
distribution; its metadata names the system and the required packages.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import stretto_libraries

_HERE = pathlib.Path(__file__).resolve().parents[1]
_ROOT = _HERE.parents[1]
_TARGET, _COMPONENTS = "stretto_in_wheel", ("programs", "python")  # cmake/StrettoPackages.cmake
_MODULES = pathlib.PurePath("lib/python3/dist-packages")  # Install folder of the packages.
_SCRIPTS = {"bpslaunch": "stretto_programs:bpslaunch", "stretto-doctor": "stretto_programs:doctor"}
_PLUGINS = {"stretto": "stretto_pytest"}  # Plugins of pytest.
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
_WHEN = (2020, 1, 1, 0, 0, 0)  # Time of every file: equal sources give equal wheels.


def _version():
    text = (_ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(stretto VERSION (\S+)", text)[1]


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def _metadata(compiled):
    """Metadata of the packages (PEP 566): the system that compiled the files, and the packages that
    the files need there. The description is README.md of this folder."""
    heads = [("Metadata-Version", "2.1"), ("Name", "stretto"), ("Version", _version()), *_METADATA,
             ("Platform", stretto_libraries.system() or sysconfig.get_platform())]
    heads += [("Requires-External", name) for name in stretto_libraries.packages(compiled)]
    readme = (_HERE / "README.md").read_text(encoding="utf-8")
    return "\n".join(f"{name}: {value}" for name, value in heads) + f"\n\n{readme}"


def _entry_points():
    lines = []
    for group, points in (("console_scripts", _SCRIPTS), ("pytest11", _PLUGINS)):
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    return "\n".join(lines) + "\n"


def _run(*command, output=sys.stderr):
    # The build's output goes to stderr, which pip shows if the build fails.
    subprocess.run([str(word) for word in command], check=True, stdout=output)


def _compile(given):
    """Builds module and programs; returns the build folder: the given folder, which must be
    configured for this interpreter, or else a folder of our own."""
    folder = pathlib.Path(given) if given else _configure()
    _run("cmake", "--build", folder, "-j", os.cpu_count() or 1, "--target", _TARGET)
    return folder


def _configure():
    if not (_ROOT / "worker" / "include").is_dir():
        raise RuntimeError(f"{_ROOT} is not Stretto's source tree: install from a checkout, by "
                           "`pip install ./bindings/python`")
    folder = _ROOT / "build" / f"wheel-{_tag()}"
    _run("cmake", "-S", _ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSTRETTO_TESTS=OFF",
         "-DSTRETTO_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}",
         f"-DPython3_EXECUTABLE={sys.executable}")
    return folder


def _install(folder, stage):
    """Installs the files of Debian's packages in `stage`. Yields each file, sorted by name, with
    its place in the wheel: ("scripts" or "data" or "", the path there, the file)."""
    os.environ.pop("DESTDIR", None)
    for component in _COMPONENTS:
        _run("cmake", "--install", folder, "--prefix", stage, "--component", component, "--strip",
             output=subprocess.DEVNULL)
    module = stage / _MODULES / "stretto" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not module.exists():
        raise RuntimeError(f"{folder} has no {module.name}, the module for {sys.executable}: "
                           "configure it with -DPython_EXECUTABLE=" + sys.executable)
    for path in sorted(path for path in stage.rglob("*") if path.is_file()):
        place = path.relative_to(stage)
        if place.parts[0] == "bin":
            if place.name not in _SCRIPTS:  # pip makes these.
                yield "scripts", place.name, path
        elif _MODULES in place.parents:
            yield "", place.relative_to(_MODULES).as_posix(), path
        elif place.parts[:2] != ("share", "doc"):
            yield "data", place.as_posix(), path


class _Wheel:
    """The archive, and the list of its files."""

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
        """Adds the list, and closes the archive."""
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
    with tempfile.TemporaryDirectory() as stage:
        compiled = []
        for scheme, place, path in _install(folder, pathlib.Path(stage)):
            if scheme == "scripts" or path.suffix == ".so":
                compiled.append(path)
            wheel.add(f"{label}.data/{scheme}/{place}" if scheme else place, path.read_bytes(),
                      _EXECUTABLE if path in compiled else _PLAIN)
        metadata = _metadata(compiled)
    info = f"{label}.dist-info"
    wheel.add(f"{info}/METADATA", metadata.encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: stretto_build\nRoot-Is-Purelib: "
                               f"false\nTag: {_tag()}\n".encode())
    wheel.add(f"{info}/entry_points.txt", _entry_points().encode())
    wheel.add(f"{info}/LICENSE", (_ROOT / "LICENSE").read_bytes())
    wheel.close(f"{info}/RECORD")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Refused: these packages are built from the whole source tree."""
    del sdist_directory, config_settings
    raise RuntimeError("there is no source archive of the Python packages alone; build a wheel "
                       "from a checkout: pip wheel ./bindings/python")
