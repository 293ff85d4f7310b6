# SPDX-License-Identifier: Apache-2.0
"""Each binding of stretto._core can be called: its types have conversions, and one job calls it."""

import re
import types
import unittest

import jobs
import kept

jobs.use_packages()

from stretto import _core  # pylint: disable=wrong-import-position


def bindings():
    """{name: docstring} of functions, constructors, methods and properties of the module."""
    found = {}
    for name, value in vars(_core).items():
        if isinstance(value, type):
            for member, what in vars(value).items():
                if isinstance(what, types.WrapperDescriptorType):  # It has no constructor.
                    continue
                if not member.startswith("_") or member in ("__init__", "__len__"):
                    of = what.fget if isinstance(what, property) else what
                    found[f"{name}.{member}"] = getattr(of, "__doc__", None) or ""
        elif callable(value):
            found[name] = value.__doc__ or ""
    return found


class Signatures(unittest.TestCase):

    def test_types_have_conversions(self):
        """pybind11 shows a type without a conversion by its name in C++."""
        for name, signature in bindings().items():
            with self.subTest(name):
                self.assertNotRegex(signature, r"\w::\w", "include the header of its conversion")


class Calls(kept.KeptTest):

    def test_job_calls_each_binding(self):
        called = set()
        for _ in range(2):  # The second job restores what the first one has saved.
            job = self.python("bindings_worker.py", flags=("--checkpoint", self.folder))
            self.assert_done(job)
            for rank in range(2):
                for line in job.lines_of(f"worker {rank}"):
                    called.update(re.findall(r"\S+", line[6:]) if line[:7] == "called " else ())
        self.assertEqual(set(bindings()) - called, set())


if __name__ == "__main__":
    unittest.main()
