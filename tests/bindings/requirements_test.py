# SPDX-License-Identifier: Apache-2.0
"""Errors of the packages under another Python, or without an optional package."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import jobs

jobs.use_packages()

from stretto import input as data  # pylint: disable=wrong-import-position


class OtherPython(unittest.TestCase):

    def says(self, *arguments, module=None):
        """The error of this Python with packages whose compiled module has another name."""
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "stretto"
            shutil.copytree(jobs.PACKAGES / "stretto", package,
                            ignore=shutil.ignore_patterns("_core.*.so", "__pycache__"))
            shutil.copy(jobs.PACKAGES / "stretto_programs.py", folder)
            if module is not None:
                (package / module).touch()
            failed = subprocess.run([sys.executable, *arguments], check=False, text=True,
                                    stderr=subprocess.PIPE, cwd=folder)
            self.assertNotEqual(failed.returncode, 0)
            return failed.stderr.splitlines()

    def test_import_names_both_versions(self):
        last = self.says("-c", "import stretto.torch", module="_core.cpython-27-arm.so")[-1]
        self.assertRegex(last, r"^ImportError: stretto in .* is built for Python 2.7, and this is "
                         rf"Python {sys.version_info[0]}\..* run python2.7, or install")

    def test_import_says_that_nothing_is_compiled(self):
        last = self.says("-c", "import stretto")[-1]
        self.assertRegex(last, "^ImportError: stretto in .* has no compiled module")

    def test_doctor_says_so_in_one_line(self):
        line, = self.says("-m", "stretto.doctor", module="_core.cpython-27-arm.so")
        self.assertIn("is built for Python 2.7", line)

    def test_programs_say_so_in_one_line(self):
        for name, program in (("doctor", "stretto-doctor"), ("bpslaunch", "bpslaunch")):
            line, = self.says("-c", f"import stretto_programs; stretto_programs.{name}()",
                              module="_core.cpython-27-arm.so")
            self.assertRegex(line, f"^ERROR {program}: stretto in .* is built for Python 2.7")


class OtherSystem(unittest.TestCase):
    """A compiled module, or a program, whose libraries this system lacks."""

    LOST = "libnosuch.so.7: cannot open shared object file: No such file or directory"

    def copy_of(self, module=b"", **edits):
        """A copy of the installed packages in a folder, with another compiled module, and with
        words of their metadata replaced."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(jobs.PACKAGES / "stretto", folder / "stretto",
                        ignore=shutil.ignore_patterns("__pycache__"))
        if module:
            path, = (folder / "stretto").glob("_core.*.so")
            path.write_bytes(module(path.read_bytes()))
        info, = jobs.PACKAGES.glob("stretto-*.dist-info")
        shutil.copytree(info, folder / info.name)
        text = (info / "METADATA").read_text(encoding="utf-8")
        for field, value in edits.items():
            text = re.sub(rf"^{field}: .*$", f"{field}: {value}", text, flags=re.MULTILINE)
        (folder / info.name / "METADATA").write_text(text, encoding="utf-8")
        return folder

    @staticmethod
    def without_a_library(module):
        """The module with a library that no system has, in place of libsodium."""
        name = re.search(rb"libsodium\.so\.\d+\0", module)[0]
        return module.replace(name, b"libnosuch.so.7".ljust(len(name), b"\0")[:len(name)])

    def last_line(self, folder):
        failed = subprocess.run([sys.executable, "-c", "import stretto.torch"], check=False,
                                text=True, stderr=subprocess.PIPE, cwd=folder)
        self.assertNotEqual(failed.returncode, 0)
        return failed.stderr.splitlines()[-1]

    def test_import_names_the_packages_to_install(self):
        line = self.last_line(self.copy_of(self.without_a_library))
        self.assertRegex(line, r"^ImportError: the compiled module of stretto in .* cannot be "
                         r"loaded: libnosuch\.so\.7?.*: cannot open .*; install what it needs: "
                         r"apt-get install .*\blibfmt\d+.* libprotobuf32")

    def test_import_names_the_system_it_was_built_on(self):
        line = self.last_line(self.copy_of(self.without_a_library, Platform="Debian 3 (woody)"))
        self.assertRegex(line, r"built on Debian 3 \(woody\), and this is .*: install the wheel "
                         "for this system")
        self.assertNotIn("apt-get", line)

    def test_doctor_names_the_packages_to_install(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("stretto-scheduler", "stretto-server", "stretto-launch"):
            (folder / name).write_text(f"#!/bin/sh\necho '{name}: {self.LOST}' >&2\nexit 127\n",
                                       encoding="utf-8")
            (folder / name).chmod(0o755)
        said = subprocess.run([sys.executable, "-m", "stretto.doctor", "--no-job"], check=False,
                              text=True, stdout=subprocess.PIPE,
                              env=os.environ | {"STRETTO_BIN_DIR": str(folder)})
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"BAD +\S+/stretto-server cannot be run: .*libnosuch.*: "
                         "install what it needs: apt-get install lib")


class WithoutTqdm(unittest.TestCase):

    def test_reader_warns_and_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "records"
            data.write_tfrecord(path, [b"1", b"2"])
            with unittest.mock.patch.dict(sys.modules, tqdm=None):
                with self.assertWarnsRegex(RuntimeWarning, "no bar is shown; install"):
                    samples = list(data.Reader(path, format="tfrecord", progress=True))
        self.assertEqual([bytes(sample) for sample in samples], [b"1", b"2"])


if __name__ == "__main__":
    unittest.main()
