# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of among_test.py that may lose some: an exchange among workers is
refused there, and servers go on to serve. Prints "done" if so.
"""

import unittest

import torch

import stretto.torch as st
import work
from stretto import errors


class AmongElastic(unittest.TestCase):

    def test_it_is_refused_with_the_way_out(self):
        wanted = "exchange ring is for jobs of fixed size.*use exchange servers"
        layer = torch.nn.Linear(2, 2)
        optimizer = st.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1),
                                            layer.named_parameters(), exchange="ring")
        with self.assertRaisesRegex(errors.Unsupported, wanted):
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        with self.assertRaisesRegex(errors.Unsupported, wanted):
            st.push_pull(torch.ones(3), "refused", exchange="ring")
        # Who is done may have left when the other one looks.
        self.assertEqual(st.push_pull(torch.ones(1), "served", average=False).item(), 2)


if __name__ == "__main__":
    work.run_tests()
    print("done", flush=True)
