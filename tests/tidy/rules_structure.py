# SPDX-License-Identifier: Apache-2.0
"""Rules on the repository's shape: permitted includes, names, and tests per source."""

import posixpath
import re

import allowed
from source_tree import Offence

# Each folder, and the other folders whose headers it may include.
FLOORS = {
    "common": (),
    "core": ("common",),
    "observe": ("common",),
    "input": ("common",),
    "van": ("common", "core", "observe"),
    "ops": ("common",),
    "collective": ("common", "core"),
    "checkpoint": ("common", "core"),
    "server": ("common", "core", "observe", "van", "ops", "collective", "checkpoint"),
    "worker": ("common", "core", "observe", "van", "ops", "collective", "checkpoint"),
    "rpc": ("common", "van"),
    "scheduler": ("common", "core", "observe", "van", "ops", "collective", "checkpoint"),
    "bindings": ("common", "core", "input", "van", "ops", "server", "worker"),
    "tools": ("common", "core", "observe", "input", "van", "ops", "collective", "checkpoint",
              "server", "worker", "rpc"),
    "examples": ("common", "core", "input", "van", "ops", "server", "worker", "rpc"),
    "experiments": ("common", "core", "input", "van", "ops", "collective", "worker", "tools"),
    "tests": ("common", "core", "observe", "input", "van", "ops", "collective", "checkpoint",
              "server", "worker", "rpc", "scheduler", "bindings", "tools", "examples",
              "experiments"),
}
PUBLIC_FOLDERS = ("common/include/", "checkpoint/include/", "worker/include/",
                  "worker/training/include/", "input/include/", "rpc/include/")
MIRRORED = ("common", "core", "observe", "input", "van", "ops", "collective", "checkpoint",
            "server", "worker", "rpc", "scheduler")

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
_TEST_MACRO = re.compile(r"^\s*(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\s*\(")
_SNAKE = re.compile(r"[a-z0-9_]+")


def _includes(file):
    """(line, path as written, quoted?) of each #include."""
    for number, match in file.matches(_INCLUDE):
        yield number, match.group(2), match.group(1) == '"'


def _resolve(tree, file, path):
    """The included file's path in the repository; None if it is not one of ours."""
    if path.startswith("stretto/"):
        for folder in PUBLIC_FOLDERS:
            if tree.exists(folder + path):
                return folder + path
    if path.split("/")[0] in FLOORS and "/" in path:
        return path
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), path))
    return beside if tree.exists(beside) else None


def included_files(tree, file):
    """(line, path) of each file of the repository that `file` includes."""
    for line, path, _ in _includes(file):
        target = _resolve(tree, file, path)
        if target:
            yield line, target


def floors(tree):
    """Each folder includes only from the floors below it; siblings never include one another."""
    found = []
    for file in tree.cpp(*FLOORS):
        for line, path, _ in _includes(file):
            target = _resolve(tree, file, path)
            top = target.split("/")[0] if target else file.top
            if top in FLOORS and top != file.top and top not in FLOORS[file.top]:
                text = f"{file.top}/ must not include from {top}/: {path}"
                found.append(file.offence(line, text))
    return found


def includes_name_the_whole_path(tree):
    """Quoted includes give the path from the root, or stretto/x.h; examples may stand alone."""
    found = []
    for file in tree.cpp(*FLOORS):
        for line, path, quoted in _includes(file):
            if not quoted or file.top == "examples" or path.endswith(".pb.h"):
                continue
            if not path.startswith("stretto/") and (path.startswith(".") or not tree.exists(path)):
                found.append(file.offence(line, f"write the path from the root: {path}"))
    return found


def van_doors(tree):
    """Outside van/ and tests/ only van's doors are included: no other folder sees a transport."""
    return [
        file.offence(line, f"{path} is van's own; its doors are in tests/tidy/allowed.py")
        for file in tree.cpp(*FLOORS) if file.top not in ("van", "tests")
        for line, path, _ in _includes(file)
        if path.startswith("van/") and path not in allowed.VAN_DOORS
    ]


def system_doors(tree):
    """zmq.h and rdma/ are included only by the transports built on them, and by raw benchmarks."""
    found = []
    for file in tree.cpp(*FLOORS):
        for line, path, _ in _includes(file):
            name = re.split(r"[./]", path)[0]
            folders = allowed.SYSTEM_DOORS.get(name)
            if folders and not file.path.startswith(folders):
                found.append(file.offence(line, f"{path} belongs to {' and '.join(folders)}"))
    return found


def protobuf_is_the_codecs(tree):
    """Protobuf is included by the codec of control messages, and by tests that edit bytes."""
    return [
        file.offence(line, f"{path} is the codec's; others include van/control/control.h")
        for file in tree.cpp(*FLOORS) if not file.path.startswith(allowed.PROTOBUF)
        for line, path, _ in _includes(file)
        if path.startswith("google/protobuf/") or path.endswith(".pb.h")
    ]


def public_headers_stand_alone(tree):
    """Installed headers include nothing that is not installed."""
    return [
        file.offence(line, f"{path} is not installed")
        for file in tree.cpp(*FLOORS) if file.path.startswith(PUBLIC_FOLDERS)
        for line, path, quoted in _includes(file)
        if not path.startswith("stretto/") and (quoted or "/" in path)
    ]


def pragma_once(tree):
    """Every header says #pragma once."""
    return [
        file.offence(1, "no #pragma once") for file in tree.cpp()
        if file.name.endswith((".h", ".cuh")) and "#pragma once" not in file.code_lines
    ]


def public_headers_are_visible(tree):
    """A shared library exports the declarations of public headers; all else is hidden."""
    return [
        file.offence(1, f"does not say #pragma GCC visibility {word}")
        for file in tree.cpp() if file.path.startswith(PUBLIC_FOLDERS)
        for word in ("push(default)", "pop")
        if f"#pragma GCC visibility {word}" not in file.code_lines
    ]


def file_names(tree):
    """Source files are named in snake_case."""
    return [
        file.offence(1, f"{file.name} is not snake_case") for file in tree
        if (file.is_cpp or file.name.endswith((".py", ".proto")))
        and not _SNAKE.fullmatch(file.stem)
    ]


def every_source_has_its_test(tree):
    """x.cc has tests/FOLDER/x_test.cc, or a valid entry in COVERED_BY."""
    found = []
    sources = {f.path: f for f in tree.cpp(*MIRRORED) if f.name.endswith((".cc", ".cu"))}
    for file in sources.values():
        if not _own_test(tree, file) and file.path not in allowed.COVERED_BY:
            wanted = f"tests/{file.top}/{file.stem}_test.cc"
            found.append(file.offence(1, f"has neither {wanted} nor an entry in COVERED_BY"))
    for path, test in allowed.COVERED_BY.items():
        text = None
        if path not in sources:
            text = f"{path}, which is not there"
        elif _own_test(tree, sources[path]):
            text = f"{path}, which has its own test"
        elif not re.search(r"_test\.(cc|cu|py)$", test) or not tree.exists(test):
            text = f"{test}, which is no test here"
        if text:
            found.append(Offence("tests/tidy/allowed.py", 1, f"COVERED_BY names {text}"))
    return found


def _own_test(tree, file):
    inner = posixpath.dirname(file.path)
    return any(tree.exists(f"tests/{folder}/{file.stem}_test.cc") for folder in (file.top, inner))


def every_test_runs(tree):
    """No test lies where the build would not find it, or where the linker would drop it."""
    found = []
    folders = re.findall(r"^ *stretto_test_folder\(([a-z/]+)", _text(tree, "tests/CMakeLists.txt"),
                         re.MULTILINE)
    for file in tree.cpp("tests"):
        folder = posixpath.dirname(file.path).removeprefix("tests/")
        built = folder in folders or posixpath.dirname(folder) in folders
        if file.name.endswith("_test.cc") and not built:
            found.append(file.offence(1, f"tests/CMakeLists.txt does not build tests/{folder}"))
        if file.name.endswith(".cc") and not file.name.endswith("_test.cc"):
            found += [file.offence(line, "a test outside a *_test.cc would not be linked")
                      for line, _ in file.matches(_TEST_MACRO)]
    scripts = [f for f in tree.python() if f.path.startswith(("tests/e2e/", "tests/tidy/"))]
    text = "\n".join(f.text for f in scripts)
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE))
    found += [f.offence(1, "neither a *_test.py nor imported by one") for f in scripts
              if not f.name.endswith("_test.py") and f.stem not in imported]
    return found


def _text(tree, path):
    return tree.files[path].text if path in tree.files else ""


RULES = (floors, includes_name_the_whole_path, van_doors, system_doors,
         protobuf_is_the_codecs, public_headers_stand_alone,
         pragma_once, public_headers_are_visible, file_names, every_source_has_its_test,
         every_test_runs)
