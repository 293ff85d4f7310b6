# SPDX-License-Identifier: Apache-2.0
"""Mistakes of a first use: another Python than the extension module's, and a progress bar without
tqdm.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import jobs

jobs.use_packages()

import stretto  # pylint: disable=wrong-import-position
from stretto.input import Reader, write_tfrecord  # pylint: disable=wrong-import-position


class Extension(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def complaint(self, *words):
        """The last line of a Python whose package is the copy in the folder."""
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60,
                              check=False, env={"PYTHONPATH": str(self.folder)})
        self.assertEqual(done.returncode, 1)
        return done.stderr.splitlines()[-1]

    def test_another_python_is_named(self):
        package = pathlib.Path(stretto.__file__).parent
        shutil.copytree(package, self.folder / "stretto", ignore=shutil.ignore_patterns("_core.*"))
        for words in (("-c", "import stretto.torch"), ("-m", "stretto.doctor")):
            self.assertIn("has no extension module", self.complaint(*words))
        (self.folder / "stretto" / "_core.cpython-3999-x86_64-linux-gnu.so").touch()
        for words in (("-c", "import stretto.torch"), ("-m", "stretto.doctor")):
            said = self.complaint(*words)
            self.assertIn("is built for Python 3.999, and this is Python", said)
            self.assertIn(f"({sys.executable})", said)

    def test_no_bar_without_tqdm(self):
        path = str(self.folder / "a")
        write_tfrecord(path, [b"one", b"two"])
        with mock.patch.dict(sys.modules, {"tqdm": None}), \
                warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual([bytes(one) for one in Reader([path], progress=True)],
                             [b"one", b"two"])
        self.assertEqual(len([one for one in caught if "pip install tqdm" in str(one.message)]), 1)


if __name__ == "__main__":
    unittest.main()
