# SPDX-License-Identifier: Apache-2.0
"""What the packages say where their Python is another one, or lacks a package that is optional."""

import pathlib
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
