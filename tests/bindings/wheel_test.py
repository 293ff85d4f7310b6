# SPDX-License-Identifier: Apache-2.0
"""The wheel that tools/wheel made of this build: its contents and requirements, the faults that the
tool's check finds, and the removal of every installed file by pip. Needs STRETTO_BUILD_DIR.
"""

import configparser
import email.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import venv
import zipfile

import jobs

sys.path.insert(0, str(jobs.cluster.SOURCE / "bindings" / "python" / "backend"))
import stretto_check  # pylint: disable=wrong-import-position

SOURCE = jobs.cluster.SOURCE / "bindings" / "python"
PROGRAMS = {f"stretto-{name}" for name in ("bench", "checkpoint", "launch", "scheduler", "server",
                                           "top", "trace")}
SCRIPTS = {"bpslaunch", "stretto-doctor"}
MODULES = {"stretto_programs.py", "stretto_pytest.py"}
COMPILED = "stretto-server"


def pip(python, *words):
    """Runs pip for an environment that may have none."""
    done = subprocess.run([python, "-m", "pip", *map(str, words)], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(done.stdout)


class OtherPython(unittest.TestCase):
    """tools/wheel starts again under the Python of the build folder, once."""

    def test_script_that_starts_a_python(self):
        """A script such as pyenv's is not the interpreter."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        environment = folder / "environment"
        venv.create(environment, with_pip=False)
        script, calls = folder / "python", folder / "calls"
        script.write_text(f'#!/bin/sh\necho "$1" >>"{calls}"\nexec {environment}/bin/python "$@"\n',
                          encoding="utf-8")
        script.chmod(0o755)
        (folder / "CMakeCache.txt").write_text(f"Python_EXECUTABLE:FILEPATH={script}\n",
                                               encoding="utf-8")
        done = subprocess.run([sys.executable, jobs.cluster.SOURCE / "tools" / "wheel",
                               "--build-dir", folder], check=False, text=True, timeout=60,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ERROR wheel: ", done.stderr)  # Nothing is built in that folder.
        self.assertEqual(len(calls.read_text(encoding="utf-8").split()), 3)


class Wheel(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.path, = (jobs.cluster.BUILD / "wheels").glob("stretto-*.whl")
        with zipfile.ZipFile(cls.path) as archive:
            cls.files = {info.filename: archive.read(info) for info in archive.infolist()}
        cls.metadata = email.parser.Parser().parsestr(cls.file("METADATA"))

    @classmethod
    def file(cls, name):
        """The text of the only dist-info file of this name."""
        data, = (data for path, data in cls.files.items() if path.endswith(f".dist-info/{name}"))
        return data.decode()

    def below(self, folder):
        """Names below a folder of the wheel's data."""
        return {path.partition(f".data/{folder}/")[2] for path in self.files
                if f".data/{folder}/" in path}

    def test_programs_have_manuals(self):
        self.assertEqual(self.below("scripts"), PROGRAMS)
        self.assertEqual(self.below("data/share/man/man1"),
                         {f"{name}.1" for name in PROGRAMS | SCRIPTS})
        self.assertEqual(self.below("data/share/bash-completion/completions"), PROGRAMS | SCRIPTS)
        points = configparser.ConfigParser()
        points.read_string(self.file("entry_points.txt"))
        self.assertEqual(set(points["console_scripts"]), SCRIPTS)
        self.assertEqual(dict(points["pytest11"]), {"stretto": "stretto_pytest"})

    def test_packages_are_whole(self):
        found = {path for path in self.files
                 if path.startswith(("stretto/", "byteps/", "stretto_"))}
        wanted = {path.relative_to(SOURCE).as_posix() for package in ("stretto", "byteps")
                  for pattern in ("*.py", "*.pyi", "py.typed")
                  for path in (SOURCE / package).rglob(pattern)} | MODULES
        module, = found - wanted
        self.assertRegex(module, r"^stretto/_core\..*\.so$")
        self.assertEqual(wanted - found, set())

    def test_it_names_what_it_needs(self):
        needed = self.metadata.get_all("Requires-External")
        for pattern in ("libfmt", "libprotobuf", "libsodium", "libtbb", "libgflags"):
            self.assertTrue([name for name in needed if re.match(rf"{pattern}[\d.]", name)],
                            f"{pattern} in {needed}")
        self.assertNotIn("libc6", needed)
        self.assertTrue(self.metadata["Platform"])

    def test_the_check_passes(self):
        report = stretto_check.check(self.path)
        self.assertEqual(report.faults, [])
        self.assertGreaterEqual(report.versions["GLIBC"], (2, 34))

    def altered(self, edit, leave_out=()):
        """The faults of a wheel of one program and the metadata that `edit` returns."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "other.whl"
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in self.files.items():
                    if name.endswith("/METADATA"):
                        data = edit(data.decode()).encode()
                    if not name.endswith((".so", *leave_out)) and (
                            "/scripts/" not in name or name.endswith(COMPILED)):
                        archive.writestr(name, data)
            return stretto_check.check(path).faults

    def test_undeclared_libraries_are_faults(self):
        self.assertEqual(self.altered(lambda text: text), [])
        fault, = self.altered(lambda text: re.sub(r"Requires-External: libfmt.*\n", "", text))
        self.assertRegex(fault, rf"^{COMPILED} needs /\S+/libfmt\.so\S+, which is in no package "
                         "that the wheel declares")

    def test_newer_symbols_are_faults(self):
        limits = {self.metadata["Platform"]: {"GLIBC": (2, 3), "GLIBCXX": (4, 0)}}
        with unittest.mock.patch.object(stretto_check, "NEWEST", limits):
            fault, = self.altered(lambda text: text)
        self.assertRegex(fault, rf"^{COMPILED} needs GLIBC_2\.\d+, and .* has GLIBC_2.3 at most")

    def test_missing_manuals_are_faults(self):
        fault, = self.altered(lambda text: text, leave_out=("man1/stretto-server.1",))
        self.assertIn("stretto-server has no share/man/man1/stretto-server.1", fault)

    def test_uninstall_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder) / "env"
            subprocess.run([sys.executable, "-m", "venv", "--without-pip",
                            "--system-site-packages", home], check=True)
            before = set(home.rglob("*"))
            python = home / "bin" / "python3"
            pip(python, "install", "--no-index", "--no-deps", self.path)
            self.assertTrue((home / "share/man/man1/stretto-launch.1").exists())
            subprocess.run([python, "-c", "import stretto"], check=True)
            pip(python, "uninstall", "--yes", "stretto")
            left = {path.relative_to(home).as_posix() for path in set(home.rglob("*")) - before}
            # pip removes a folder only if the folder itself had a file of the package.
            self.assertLessEqual(left, {"share", "share/man", "share/bash-completion"})


if __name__ == "__main__":
    unittest.main()
