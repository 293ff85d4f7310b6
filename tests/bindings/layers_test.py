# SPDX-License-Identifier: Apache-2.0
"""Steps that end layer by layer (layers_worker.py): the same bits as steps that wait, however a
model uses its layers.
"""

import unittest

import jobs


class Layers(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("layers_worker.py"))


if __name__ == "__main__":
    unittest.main()
