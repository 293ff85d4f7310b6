# SPDX-License-Identifier: Apache-2.0
"""The order and form in which gradients travel: it follows from the mode's waits."""

import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

import stretto.torch as st
from stretto import done, session
from stretto.torch.gradients import buckets, gradients

LAYERS = 3


class Recorder:
    """A session that pretends to have peers. Exchanges of gradients end immediately, and are
    recorded."""

    alone = False
    rank = 0
    size = 1
    seat = 0
    seats = 1
    elastic = False
    listens = False
    era = 0
    place = mock.Mock(usual_way="servers")

    def __init__(self):
        self.declared = []
        self.sent = []

    def declare(self, name, _dtype, elements, **options):
        """Records the declaration of a tensor."""
        if name.startswith("Gradient."):
            self.declared.append(options)
        return mock.Mock(bytes=4 * elements, called=name)

    def push_pull(self, routes, priority, _owner):
        """Records the exchange and its priority."""
        if routes[0][0].called.startswith("Gradient."):
            self.sent.append((routes[0][0].called, priority))
        return done.Done()

    def note_span(self, *_):
        """No tracing."""


class UsedOtherwise(torch.nn.Module):
    """Three layers, used in another order than that of registration."""

    def __init__(self):
        super().__init__()
        for name in "abc":
            setattr(self, name, torch.nn.Linear(100, 100, bias=False))

    def forward(self, data):
        """c, then a, then b."""
        return self.b(self.a(self.c(data)))


class Order(unittest.TestCase):

    def setUp(self):
        self.recorder = Recorder()
        patch = mock.patch.object(session, "current", lambda: self.recorder)
        patch.start()
        self.addCleanup(patch.stop)
        # Too large to travel together.
        self.model = torch.nn.Sequential(
            *(torch.nn.Linear(100, 100, bias=False) for _ in range(LAYERS)))

    def rounds(self, **options):
        """The exchanges of two backward passes, separately."""
        exchange = gradients.GradientExchange(list(self.model.named_parameters()), **options)
        passes = []
        for _ in range(2):
            self.recorder.sent.clear()
            self.model(torch.ones(1, 100)).sum().backward()
            exchange.synchronize()
            passes.append(list(self.recorder.sent))
        return passes

    def test_a_step_that_waits_for_all_sends_them_as_they_come(self):
        for sent in self.rounds():
            self.assertEqual(sent, [(f"Gradient.{layer}.weight", 0)
                                    for layer in reversed(range(LAYERS))])

    def test_layers_that_wait_for_their_own_send_the_first_ones_first(self):
        for sent in self.rounds(layerwise=True):
            urgency = {name: priority for name, priority in sent}
            first_to_last = [urgency[f"Gradient.{layer}.weight"] for layer in range(LAYERS)]
            self.assertEqual(first_to_last, sorted(set(first_to_last), reverse=True))

    def test_the_first_layer_is_the_one_used_first_however_they_are_registered(self):
        """Estimated by registration until all gradients have come once, and then by their order:
        the last is of the layer that was used first."""
        self.model = UsedOtherwise()
        first, second = self.rounds(layerwise=True)
        self.assertEqual(first[0], ("Gradient.b.weight", -1))  # Registered second.
        urgency = dict(second)
        used = [urgency[f"Gradient.{layer}.weight"] for layer in "cab"]
        self.assertEqual(used, sorted(set(used), reverse=True))

    def test_a_layer_that_is_the_only_one_is_the_first(self):
        self.model = torch.nn.Linear(100, 100, bias=False)
        self.assertEqual(self.rounds(layerwise=True), [[("Gradient.weight", 0)]] * 2)

    def test_gradients_are_bulk(self):
        self.rounds()
        self.assertEqual([options["bulk"] for options in self.recorder.declared], [True] * LAYERS)


class Sized:
    """A parameter's interface for buckets, which counts the calls."""

    dtype, device = torch.float32, torch.device("cpu")
    asked = 0

    def __init__(self, elements):
        self.elements = elements

    def numel(self):
        """The number of its elements."""
        Sized.asked += 1
        return self.elements

    def element_size(self):
        """The element size of its type."""
        return 4


class Buckets(unittest.TestCase):

    def sizes(self, elements, coded_from=None):
        """The names in each bucket of parameters of these sizes."""
        named = {f"{place}": Sized(count) for place, count in enumerate(elements)}
        made = buckets.bucketed(buckets.slots_of(reversed(named.items()), "g/"), coded_from)
        return [[slot.name for slot in bucket.slots] for bucket in made]

    def test_small_ones_travel_together_by_name(self):
        self.assertEqual(self.sizes([3, 4, 5000, 5, 6]), [["g/0", "g/1"], ["g/2"], ["g/3", "g/4"]])
        full = self.sizes([4096] * 20)
        self.assertEqual([len(names) for names in full], [8, 8, 4])
        self.assertEqual(full[1][2:4], ["g/10", "g/11"])
        self.assertEqual(self.sizes([3, 25, 4], coded_from=100), [["g/0"], ["g/1"], ["g/2"]])

    def test_ten_thousand_are_asked_as_often_as_ten(self):
        Sized.asked = 0
        self.sizes([1] * 10)
        for_ten, Sized.asked = Sized.asked, 0
        self.sizes([1] * 10_000)
        self.assertEqual(Sized.asked, 1000 * for_ten)


class Counted(list):
    """A group's parameters; counts the iterations."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


class Steps(unittest.TestCase):

    def test_a_step_by_layers_looks_at_all_parameters_as_often_for_any_number_of_layers(self):
        st.init()
        self.addCleanup(st.shutdown)
        passes = set()
        for layers in (2, 40):
            model = torch.nn.Sequential(*(torch.nn.Linear(70, 70) for _ in range(layers)))
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)
            sgd.param_groups[0]["params"] = counted = Counted(sgd.param_groups[0]["params"])
            optimizer = st.DistributedOptimizer(sgd, model.named_parameters(), model=model)
            for _ in range(2):
                counted.passes = 0
                optimizer.zero_grad()
                model(torch.ones(1, 70)).sum().backward()
                optimizer.step()
            passes.add(counted.passes)
        self.assertEqual(len(passes), 1, passes)


if __name__ == "__main__":
    unittest.main()
