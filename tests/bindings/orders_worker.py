# SPDX-License-Identifier: Apache-2.0
"""A worker that trains with an order of layers, checks files of orders, and records one."""

import pathlib
import sys
import tempfile
import unittest

import torch
import work

import stretto.torch as st
from stretto.torch.optim import orders

WIDTH = 100  # A weight is too large for a shared bucket.


class Backwards(torch.nn.Sequential):
    """Registers layers in another order than it computes them."""

    def forward(self, inputs):
        for layer in reversed(self):
            inputs = layer(inputs)
        return inputs


def build():
    """The model, equal at all workers."""
    torch.manual_seed(1)
    return Backwards(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
                     torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH),
                     torch.nn.Linear(WIDTH, WIDTH))


def wrapped(model, order):
    """Its optimizer, layer by layer."""
    return st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                   model.named_parameters(), model=model, order=order)


def trained(order):
    """The parameters after some steps."""
    model = build()
    optimizer = wrapped(model, order)
    for step in range(4):
        torch.manual_seed(10 * step + st.rank())
        optimizer.zero_grad()
        model(torch.randn(8, WIDTH)).square().mean().backward()
        optimizer.step()
    optimizer.synchronize()
    return torch.cat([each.detach().reshape(-1) for each in model.parameters()])


class Orders(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "order.txt"

    def priorities(self, order):
        exchange = wrapped(build(), order)._stretto_exchange
        return {bucket.slots[0].name.split("/")[-1]: exchange._priority(bucket)
                for bucket in exchange.buckets}

    def test_every_form_of_an_order_gives_the_same_bits(self):
        names = [name for name, _ in build().named_parameters()]
        wanted = trained(None)
        for order in (names, names[::-1], {name: 7 for name in names}):
            self.assertTrue(torch.equal(trained(order), wanted))

    def test_priorities_follow_the_order(self):
        names = [name for name, _ in build().named_parameters()]
        for order in (names, names[::-1]):
            found = self.priorities(order)
            for name in ("0.weight", "2.weight", "4.weight"):
                place, = [priority for key, priority in found.items() if key.endswith(name)]
                self.assertEqual(place, -order.index(name))

    def test_recorded_order_is_that_of_use(self):
        model = build().train()
        before = model[3].running_mean.clone()
        st.record_order(self.path, model, torch.ones(8, WIDTH))
        self.assertTrue(torch.equal(model[3].running_mean, before))
        self.assertTrue(model.training and model[3].training)
        ranks = orders.ranks_of(self.path)
        self.assertEqual(sorted(ranks, key=ranks.get)[:2], ["4.weight", "4.bias"])
        self.assertEqual(sorted(ranks.values()), list(range(len(ranks))))
        self.assertRegex(self.path.read_text(), r"# 0\.weight: [0-9.]+ ms\n0\.weight\t6\n")
        self.assertEqual(self.priorities(self.path), self.priorities(ranks))

    def test_unused_parameters_follow_relatives(self):
        inputs = torch.ones(2, 3, 8)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        model = Backwards(torch.nn.Linear(8, 4), torch.nn.TransformerEncoder(layer, 2),
                          torch.nn.Linear(8, 8))
        words = r"no call of a module used 1\.layers\.0\.self_attn\.out_proj\.weight"
        with self.assertWarnsRegex(RuntimeWarning, words):
            st.record_order(self.path, model, inputs)
        ranks = orders.ranks_of(self.path)
        names = sorted(ranks, key=ranks.get)
        self.assertEqual([name[:10] for name in names],
                         [name[:10] for part in ("2.", "1.layers.0", "1.layers.1", "0.")
                          for name in dict(model.named_parameters()) if name.startswith(part)])
        attention = [name for name in names if name.startswith("1.layers.1.self_attn")]
        at = names.index(attention[0])
        self.assertEqual(names[at:at + 4], attention)
        self.assertEqual(attention[2:], ["1.layers.1.self_attn.out_proj.weight",
                                         "1.layers.1.self_attn.out_proj.bias"])
        self.assertEqual(self.path.read_text().count("not used"), 4)

    def test_names_of_a_trace_are_understood(self):
        self.path.write_text("# by TAC\r\nGradient.0.bias+3\t2\r\nGradient.0.weight\t1\r\n\n")
        ranks = orders.ranks_of(self.path)
        self.assertEqual((ranks["0.bias"], ranks["0.weight"]), (2, 1))
        self.path.write_text("Gradient.optimizer2/0.weight\t4\nGradient.0.weight as bf16\t6\n"
                             "Gradient.0.weight\t5\nGradient.optimizer2/0.bias+3 as f16\t3\n")
        ranks = orders.ranks_of(self.path)
        self.assertEqual((ranks["0.bias"], ranks["0.weight"]), (3, 5))
        self.assertEqual(ranks["optimizer2/0.weight"], 4)

    def test_what_is_no_order_is_refused(self):
        for text, words in (("0.weight 1", "line 1: found '0.weight 1', wanted a name, a tab"),
                            ("a\t1\na\t2", "line 2: found 'a' for the second time"),
                            ("a\t-1", "the rank is '-1', wanted a whole number")):
            self.path.write_text(text)
            with self.assertRaisesRegex(ValueError, words):
                orders.ranks_of(self.path)
        for order, words in ((5, "wanted the path of a file"), (["a", "a"], "is there twice"),
                             ({"a": -1}, "order: 'a': the rank is -1"), ([1], "a name is no str"),
                             (["2.weight"], "parameter '0.bias' is not in it")):
            with self.assertRaisesRegex(ValueError, words):
                wrapped(build(), order)
        model = build()
        with self.assertRaisesRegex(ValueError, "order= is for mode 'sync' with model="):
            st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                    model.named_parameters(), order=["a"])


def differs():
    """Each worker gives another order."""
    names = [name for name, _ in build().named_parameters()]
    trained(names if st.rank() == 0 else names[::-1])


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    if sys.argv[1:] == ["differs"]:
        st.init()
        differs()
    else:
        work.run_tests()
    print("done", flush=True)
