# SPDX-License-Identifier: Apache-2.0
"""Debian's packages that cpack makes of this build: contents, dependencies and descriptions.
tools/packages --test checks their installation, use and removal. Needs STRETTO_BUILD_DIR and
STRETTO_SOURCE_DIR.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["STRETTO_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
NAMES = ("libstretto-dev", "python3-stretto", "stretto")
SECONDS = 120


def output(*words, umask=-1):
    """The output of a command; the test fails if the command fails."""
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS, check=False, umask=umask)
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode} of {words}:\n{done.stdout}")
    return done.stdout


class Packages(unittest.TestCase):
    """All tests use the same three packages."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        output("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder.name,
               umask=0o077)  # A strict umask does not change the packages.
        cls.files = {path.name.split("_")[0]: path
                     for path in pathlib.Path(folder.name).glob("*.deb")}
        cls.listed = {name: output("dpkg-deb", "--contents", path).splitlines()
                      for name, path in cls.files.items()}

    def field(self, package, name):
        return output("dpkg-deb", "--field", self.files[package], name).strip()

    def paths(self, package):
        """The paths of a package's files, from /usr/ on."""
        words = [line.split() for line in self.listed[package]]
        return {word[5].removeprefix("./usr/") for word in words if not word[0].startswith("d")}

    def test_there_are_three(self):
        self.assertEqual(tuple(sorted(self.files)), NAMES)
        version = re.search(r"project\(stretto VERSION (\S+)",
                            (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        for name, path in self.files.items():
            self.assertTrue(path.name.startswith(f"{name}_{version}_"), path)
            self.assertEqual(self.field(name, "Version"), version)

    def test_all_may_read_what_is_installed(self):
        for name, lines in self.listed.items():
            for line in lines:
                mode = "drwxr-xr-x" if line.startswith("d") else "-rw[x-]r-[x-]r-[x-]|lrwxrwxrwx"
                self.assertRegex(line, f"^({mode}) ", name)

    def test_programs(self):
        paths = self.paths("stretto")
        programs = {path.removeprefix("bin/") for path in paths if path.startswith("bin/")}
        self.assertEqual(programs, {"stretto-bench", "stretto-checkpoint", "stretto-launch",
                                    "stretto-scheduler", "stretto-server", "stretto-top",
                                    "stretto-trace"})
        for name in programs:
            self.assertIn(f"share/man/man1/{name}.1", paths)
            self.assertIn(f"share/bash-completion/completions/{name}", paths)

    def test_libraries(self):
        paths = self.paths("libstretto-dev")
        headers = {path.name for path in SOURCE.glob("**/include/stretto/*.h")
                   if "build" not in path.relative_to(SOURCE).parts[0]}
        self.assertEqual({pathlib.Path(path).name for path in paths if path.endswith(".h")},
                         headers)
        for path in ("lib/libstretto_worker.a", "lib/pkgconfig/stretto.pc",
                     "lib/cmake/stretto/strettoConfig.cmake"):
            self.assertIn(path, paths)

    def test_python(self):
        paths = self.paths("python3-stretto")
        modules = {path.removeprefix("lib/python3/dist-packages/") for path in paths
                   if path.endswith((".py", ".pyi", "py.typed"))}
        root = SOURCE / "bindings" / "python"
        self.assertEqual(modules, {path.relative_to(root).as_posix()
                                   for package in ("stretto", "byteps")
                                   for pattern in ("*.py", "*.pyi", "py.typed")
                                   for path in (root / package).rglob(pattern)}
                         | {"stretto_programs.py", "stretto_pytest.py"})
        self.assertEqual(len([path for path in paths if path.endswith(".so")]), 1)
        for name in ("bpslaunch", "stretto-doctor"):
            self.assertLessEqual({f"bin/{name}", f"share/man/man1/{name}.1",
                                  f"share/bash-completion/completions/{name}"}, paths)

    def test_nothing_else(self):
        every = [path for name in NAMES for path in self.paths(name)]
        self.assertEqual(len(every), len(set(every)), "two packages have the same file")
        for path in every:
            self.assertRegex(path, "stretto|byteps|bpslaunch")
            self.assertNotRegex(path, "__pycache__|gtest")
        for name in NAMES:
            self.assertIn(f"share/doc/{name}/copyright", self.paths(name))
            for line in self.listed[name]:
                self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root ")

    def test_what_they_need(self):
        """Dependencies of libraries that the programs and the module link, and of static libraries.
        Debian 13 renamed packages with a 64-bit time_t: libprotobuf32 is libprotobuf32t64."""
        for name, needed in (("stretto", ("libzmq5", "libprotobuf32", "libsodium23",
                                          "libgflags2.2", "libc6")),
                             ("python3-stretto", ("stretto", "python3", "libprotobuf32")),
                             ("libstretto-dev", ("libprotobuf-dev", "libfmt-dev", "libsodium-dev",
                                                 "libtbb-dev"))):
            depends = [word.split()[0].removesuffix("t64")
                       for word in self.field(name, "Depends").split(",")]
            self.assertLessEqual(set(needed), set(depends), name)
        self.assertIn("python3-torch", self.field("python3-stretto", "Recommends"))

    def test_what_they_say(self):
        for name in NAMES:
            lines = self.field(name, "Description").splitlines()
            self.assertRegex(lines[0], r"^A parameter server for distributed training( \(.*\))?$")
            self.assertGreaterEqual(len(lines), 4, lines)
            self.assertTrue(all(len(line) <= 80 for line in lines), lines)
            self.assertIn("This package has", " ".join(lines))


if __name__ == "__main__":
    unittest.main()
