# SPDX-License-Identifier: Apache-2.0
"""CMake's options: their accepted words, and their complete list in docs/CONFIGURATION.md. Runs
only the file that reads the options, as a script. Needs STRETTO_SOURCE_DIR.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
OPTIONS = SOURCE / "cmake" / "StrettoOptions.cmake"


class Options(unittest.TestCase):

    def read(self, name, word):
        """The value of the option for a given word; None if the word is refused."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "read.cmake")
            script.write_text(f'cmake_policy(VERSION 3.22)\nset(PROJECT_IS_TOP_LEVEL ON)\n'
                              f'include("{OPTIONS}")\nmessage(STATUS "is ${{{name}}}.")\n',
                              encoding="utf-8")
            done = subprocess.run(["cmake", f"-D{name}={word}", "-P", script], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                  check=False)
        if done.returncode != 0:
            self.assertIn(f"{name} is '{word}', wanted one of ON, OFF", " ".join(
                done.stdout.split()))
            return None
        return re.search(r"is (\w+)\.", done.stdout)[1]

    def test_words(self):
        for name in ("STRETTO_FABRIC", "STRETTO_TESTS"):
            for word in ("ON", "on", "Yes", "TRUE", "1"):
                self.assertEqual(self.read(name, word), "ON", word)
            for word in ("OFF", "off", "No", "FALSE", "0"):
                self.assertEqual(self.read(name, word), "OFF", word)
            self.assertIsNone(self.read(name, "nonsense"))
        self.assertEqual(self.read("STRETTO_FABRIC", "auto"), "AUTO")
        self.assertIsNone(self.read("STRETTO_TESTS", "auto"))

    def test_pages_have_them(self):
        told = (SOURCE / "docs" / "CONFIGURATION.md").read_text(encoding="utf-8")
        told = set(re.findall(r"`([A-Z_]+)`", told[told.index("## Building and testing"):]))
        options = set(re.findall(r"^(?:stretto_(?:switch|feature)|set)\((\w+)",
                                 OPTIONS.read_text(encoding="utf-8"), re.MULTILINE))
        self.assertGreaterEqual(len(options), 9)
        self.assertEqual(options - told, set())


if __name__ == "__main__":
    unittest.main()
