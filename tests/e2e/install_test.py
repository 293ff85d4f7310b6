# SPDX-License-Identifier: Apache-2.0
"""The steps of a user of the installed package: installs the build to a prefix (which is then
moved, since packages are), builds examples against it with CMake and with pkg-config, and runs a
job of hello through the installed launcher; the same with the shared library; then uninstalls
everything. Needs STRETTO_BUILD_DIR and STRETTO_SOURCE_DIR.
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
LAUNCHER = BUILD / "bin" / "stretto-launch"
WRITTEN = (BUILD / "install_manifest.txt", BUILD / "install_folders.txt")
SECONDS = 300


def compiler():
    """The compiler of the libraries; those of another may not fit."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)


def run(*words, cwd=None, **environment):
    """Runs a command: its status, and what it printed."""
    done = subprocess.run([str(word) for word in words], env=os.environ | environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                          check=False, cwd=cwd)
    return done.returncode, done.stdout


def command(*words, **options):
    """Runs a command and returns what it printed; if it fails, so does the test."""
    status, said = run(*words, **options)
    if status != 0:
        raise AssertionError(f"status {status} of: {' '.join(map(str, words))}\n{said}")
    return said


class Prefix(unittest.TestCase):
    """A folder to install to; its classes' tests share it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.prefix = cls.root / "moved"

    def run_job(self, program, **environment):
        output = command(LAUNCHER, "--workers", 2, "--servers", 1, "--", program, **environment)
        for rank in (0, 1):
            self.assertIn(f"worker {rank} of 2: sum = 3", output)

    def configure(self, project, *options):
        return run("cmake", "-S", project, "-B", f"{project}-build",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={compiler()}",
                   *options)

    def build_example(self, name):
        """With CMake, as a standalone project."""
        project = self.root / name
        shutil.copytree(SOURCE / "examples" / name, project)
        status, said = self.configure(project)
        self.assertEqual(status, 0, said)
        command("cmake", "--build", f"{project}-build")
        return self.root / f"{name}-build" / name

    def build_with_pkg_config(self, *options):
        files = list(self.prefix.rglob("stretto.pc"))
        self.assertEqual(len(files), 1, files)
        flags = command("pkg-config", "--cflags", "--libs", "stretto",
                        PKG_CONFIG_PATH=str(files[0].parent)).split()
        program = self.root / "hello-pkg-config"
        command(compiler(), "-std=c++20", SOURCE / "examples/hello/hello.cc", "-o", program,
                *flags, *options)
        return program


class InstalledPackage(Prefix):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path in WRITTEN:  # Of another installation.
            if path.exists():
                cls.addClassCleanup(path.write_bytes, path.read_bytes())
        command("cmake", "--install", BUILD, "--prefix", cls.root / "installed")
        (cls.root / "installed").rename(cls.prefix)

    def test_cmake_package(self):
        global LAUNCHER
        self.assertTrue((self.prefix / "bin" / "stretto-launch").exists())
        built, LAUNCHER = LAUNCHER, self.prefix / "bin" / "stretto-launch"
        try:
            self.run_job(self.build_example("hello"))
        finally:
            LAUNCHER = built

    def test_the_program_of_the_readme(self):
        page = (SOURCE / "README.md").read_text(encoding="utf-8").partition("## Your own program")
        project = self.root / "average"
        project.mkdir()
        for language, name in (("cpp", "average.cc"), ("cmake", "CMakeLists.txt")):
            text = re.search(rf"^```{language}\n(.*?)^```", page[2], re.MULTILINE | re.DOTALL)[1]
            (project / name).write_text(text, encoding="utf-8")
        status, said = self.configure(project)
        self.assertEqual(status, 0, said)
        command("cmake", "--build", f"{project}-build")
        output = command(self.prefix / "bin" / "stretto-launch", "--workers", 2, "--servers", 1,
                         "--", f"{project}-build/average")
        for rank in (0, 1):
            self.assertIn(f"worker {rank}: the last mean is 99.5", output)

    def test_rpc(self):
        self.assertIn("hello!", command(self.build_example("rpc")))

    def test_input(self):
        said = command(self.build_example("input"), "files", __file__, "no such file")
        self.assertIn("left out: InvalidArgument: cannot open 'no such file'", said)
        self.assertIn(f"1 samples, {os.path.getsize(__file__)} bytes", said)

    def test_pkg_config(self):
        self.run_job(self.build_with_pkg_config())

    def find(self, words):
        """Configures a project that looks for stretto by these words."""
        project = self.root / f"find-{re.sub('[^a-z0-9]+', '-', words.lower())}"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(finder LANGUAGES CXX)\n"
            f"find_package(stretto {words})\nmessage(STATUS \"found: ${{stretto_FOUND}}\")\n",
            encoding="utf-8")
        status, said = self.configure(project)
        return status, " ".join(said.split())

    def test_components(self):
        status, said = self.find("0.1 REQUIRED COMPONENTS worker rpc input")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "found: (1|TRUE)")
        status, said = self.find("REQUIRED COMPONENTS worker espresso")
        self.assertNotEqual(status, 0, said)
        self.assertIn("no component 'espresso'; it has worker, input and rpc", said)
        status, said = self.find("0.2 REQUIRED")
        self.assertNotEqual(status, 0, said)
        self.assertIn('compatible with requested version "0.2"', said)

    def test_only_what_is_public_is_installed(self):
        headers = {path.relative_to(self.prefix / "include").as_posix()
                   for path in (self.prefix / "include").rglob("*") if path.is_file()}
        public = {path.relative_to(folder).as_posix()
                  for folder in (SOURCE / "common/include", SOURCE / "checkpoint/include",
                                 SOURCE / "worker/include",
                                 SOURCE / "worker/training/include",
                                 SOURCE / "input/include", SOURCE / "rpc/include")
                  for path in folder.rglob("*.h")}
        self.assertEqual(headers, public)
        for folder in (BUILD, SOURCE):
            for path in self.prefix.rglob("*"):
                if path.suffix in (".cmake", ".pc"):
                    self.assertNotIn(str(folder), path.read_text(encoding="utf-8"), path)
        self.assertEqual((self.prefix / "share/doc/stretto/LICENSE").read_bytes(),
                         (SOURCE / "LICENSE").read_bytes())

    def test_programs_have_manuals(self):
        for program in (self.prefix / "bin").iterdir():
            name = program.name
            for path in (f"man/man1/{name}.1", f"bash-completion/completions/{name}"):
                self.assertTrue((self.prefix / "share" / path).is_file(), path)

    def test_uninstall(self):
        away = self.root / "an away"
        kept = {away / "bin", away / "share", away / "share/doc", away / "include",
                away / "include/stretto", away / "include/stretto/.mine"}
        (away / "bin").mkdir(parents=True)  # Empty, and not ours.
        (away / "share/doc").mkdir(parents=True)
        for path in WRITTEN:
            path.unlink(missing_ok=True)
        for _ in range(2):  # The second installation finds the folders of the first one.
            command("cmake", "--install", BUILD, "--prefix", away)
        (away / "include/stretto/.mine").touch()
        command("cmake", "-P", SOURCE / "cmake/uninstall.cmake", cwd=BUILD)
        self.assertEqual(set(away.rglob("*")), kept)
        status, said = run("cmake", "-P", SOURCE / "cmake/uninstall.cmake", cwd=BUILD)
        self.assertNotEqual(status, 0)
        self.assertIn("nothing was installed from here", said)

    def test_uninstall_takes_the_prefix_that_it_made(self):
        away = self.root / "deeper/away"
        command("cmake", "--install", BUILD, "--prefix", away)
        command("cmake", "-P", SOURCE / "cmake/uninstall.cmake", cwd=BUILD)
        self.assertFalse(away.parent.exists())


class SharedLibrary(Prefix):
    """As BUILD_SHARED_LIBS=ON installs it. The library itself is that of this build, which is
    linked from the same objects: compiling them again would take minutes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        build = cls.root / "build"
        command("cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, "-DBUILD_SHARED_LIBS=yes",
                "-DSTRETTO_TESTS=no", "-DSTRETTO_PYTHON=no", "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_CXX_COMPILER={compiler()}")
        cls.library, = BUILD.glob("libstretto.so.*.*.*")
        for path in BUILD.glob("libstretto.so*"):
            shutil.copy2(path, build, follow_symlinks=False)
        command("cmake", "--install", build, "--component", "development", "--prefix",
                cls.root / "installed")
        (cls.root / "installed").rename(cls.prefix)

    def test_cmake_package(self):
        program = self.build_example("hello")
        self.assertIn("libstretto.so.0.1", command("ldd", program))
        self.run_job(program)

    def test_pkg_config(self):
        path = str(self.prefix / "lib")
        program = self.build_with_pkg_config()
        self.assertIn(f"{path}/libstretto.so.0.1", command("ldd", program, LD_LIBRARY_PATH=path))
        self.run_job(program, LD_LIBRARY_PATH=path)

    def test_it_is_alone(self):
        installed = {path.name for path in self.prefix.rglob("*stretto*.[as]*")}
        self.assertEqual({"libstretto.so", "libstretto.so.0.1", self.library.name}, installed)

    def test_it_shows_what_headers_show(self):
        """Exports only the declarations of public headers, and their dependencies; nothing of the
        libraries under it."""
        names = command("nm", "--dynamic", "--defined-only", "--demangle", self.library)
        functions = [line.split(" ", 2)[2] for line in names.splitlines() if " T " in line]
        self.assertIn("stretto::Worker::rank() const", functions)
        self.assertIn("stretto::input::Reader::open", "\n".join(functions))
        headers = "\n".join(path.read_text(encoding="utf-8")
                            for path in SOURCE.glob("**/include/stretto/*.h"))
        for function in functions:
            self.assertRegex(function, r"\bstretto::")
            words = re.sub(r"\(.*|\[abi:\w+\]|<.*", "", function).split(" ")[-1].split("::")
            owner = words[-2] if words[-2] not in ("stretto", "input", "rpc") else words[-1]
            self.assertRegex(headers, rf"\b{owner}\b", function)


if __name__ == "__main__":
    unittest.main()
