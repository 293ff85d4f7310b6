# SPDX-License-Identifier: Apache-2.0
"""What a user of the installed package does: installs the build to a prefix (which is then moved,
since packages are), builds examples against it with CMake and with pkg-config, and runs a job of
hello through the installed launcher. Needs STRETTO_BUILD_DIR and STRETTO_SOURCE_DIR.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["STRETTO_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
SECONDS = 300


def compiler():
    """The one that made the libraries; those of another may not fit."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)


class InstalledPackage(unittest.TestCase):
    """All tests use one installed prefix."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.prefix = cls.root / "moved"
        cls.command("cmake", "--install", BUILD, "--prefix", cls.root / "installed")
        (cls.root / "installed").rename(cls.prefix)

    @classmethod
    def command(cls, *words, **environment):
        """Runs a command and returns what it printed; if it fails, so does the test."""
        done = subprocess.run([str(word) for word in words], env=os.environ | environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS, check=False)
        if done.returncode != 0:
            line = " ".join(str(word) for word in words)
            raise AssertionError(f"status {done.returncode} of: {line}\n{done.stdout}")
        return done.stdout

    def run_job(self, program):
        output = self.command(self.prefix / "bin/stretto-launch", "--workers", 2, "--servers", 1,
                              "--", program)
        for rank in (0, 1):
            self.assertIn(f"worker {rank} of 2: sum = 3", output)

    def build_example(self, name):
        """With CMake, as a project by itself."""
        project, build = self.root / name, self.root / f"{name}-build"
        shutil.copytree(SOURCE / "examples" / name, project)
        self.command("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     f"-DCMAKE_CXX_COMPILER={compiler()}")
        self.command("cmake", "--build", build)
        return build / name

    def test_cmake_package(self):
        self.run_job(self.build_example("hello"))

    def test_rpc(self):
        self.assertIn("hello!", self.command(self.build_example("rpc")))

    def test_input(self):
        said = self.command(self.build_example("input"), "files", __file__, "no such file")
        self.assertIn("left out: InvalidArgument: cannot open 'no such file'", said)
        self.assertIn(f"1 samples, {os.path.getsize(__file__)} bytes", said)

    def test_pkg_config(self):
        files = list(self.prefix.rglob("stretto.pc"))
        self.assertEqual(len(files), 1, files)
        flags = self.command("pkg-config", "--cflags", "--libs", "stretto",
                             PKG_CONFIG_PATH=str(files[0].parent)).split()
        program = self.root / "hello-pkg-config"
        self.command(compiler(), "-std=c++20", SOURCE / "examples/hello/hello.cc", "-o", program,
                     *flags)
        self.run_job(program)

    def test_only_what_is_public_is_installed(self):
        headers = {path.relative_to(self.prefix / "include").as_posix()
                   for path in (self.prefix / "include").rglob("*") if path.is_file()}
        public = {path.relative_to(folder).as_posix()
                  for folder in (SOURCE / "common/include", SOURCE / "worker/include",
                                 SOURCE / "worker/input/include", SOURCE / "rpc/include")
                  for path in folder.rglob("*.h")}
        self.assertEqual(headers, public)
        for folder in (BUILD, SOURCE):
            for path in self.prefix.rglob("*"):
                if path.suffix in (".cmake", ".pc"):
                    self.assertNotIn(str(folder), path.read_text(encoding="utf-8"), path)


if __name__ == "__main__":
    unittest.main()
