# SPDX-License-Identifier: Apache-2.0
"""Workers with the same parameters in another order train one model. Workers with other parameters
get an error that names them (agreement_worker.py).
"""

import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto.torch.core import agreement  # pylint: disable=wrong-import-position


class Agreement(jobs.PythonTest):

    def test_two_workers(self):
        self.assert_done(self.python("agreement_worker.py"))

    def test_three_workers(self):
        self.assert_done(self.python("agreement_worker.py", workers=3), workers=3)


class Words(unittest.TestCase):

    def test_order(self):
        names = ["b", "layer10.w", "layer2.w", "layer02.w", "10", "9", "", "a"]
        self.assertEqual([name for name, _ in agreement.in_order((name, 0) for name in names)],
                         ["", "9", "10", "a", "b", "layer02.w", "layer2.w", "layer10.w"])

    def test_what_a_tensor_is(self):
        self.assertEqual(agreement.fact_of(torch.ones(2, 3)), "float32[2, 3]")
        self.assertEqual(agreement.fact_of(torch.tensor(1)), "int64[]")

    def test_differences(self):
        mine = {"a": "1", "b": "2", "c": "3"}
        self.assertEqual(agreement.difference(mine, dict(mine)), "")
        self.assertEqual(agreement.difference(mine, {"a": "1", "b": "4", "d": "5"}),
                         "b is 2 here and 4 there; c (3) is not there; d (5) is not here")
        self.assertEqual(agreement.difference({}, {str(place): "x" for place in range(9)}),
                         "0 (x) is not here; 1 (x) is not here; 2 (x) is not here; "
                         "and 6 more differ")

    def test_differences_of_values(self):
        named = [(name, torch.full((2,), fill)) for name, fill in (("a", 1.0), ("b", 2.0))]
        mine = agreement.values_of(named)
        self.assertEqual(mine, agreement.values_of([(name, tensor.clone())
                                                    for name, tensor in named]))
        theirs = agreement.values_of([("a", torch.ones(2)), ("b", torch.tensor([2.0, 3.0]))])
        self.assertRegex(agreement.difference(mine, theirs), "^the values of 'b' differ before")
        self.assertEqual(agreement.difference(mine | {"mode": "1"}, theirs | {"mode": "2"}),
                         "mode is 1 here and 2 there")


if __name__ == "__main__":
    unittest.main()
