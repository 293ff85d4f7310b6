# SPDX-License-Identifier: Apache-2.0
"""In what order gradients travel, and as what: it follows from what the mode waits for."""

import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import session
from stretto.torch import gradients

LAYERS = 3


class Recorder:
    """The session of a job of one that does not know it is. Exchanges of gradients end at once, and
    are noted."""

    alone = False
    rank = 0
    size = 1

    def __init__(self):
        self.declared = []
        self.sent = []

    def declare(self, name, _dtype, elements, **options):
        """Notes how a tensor is exchanged."""
        if name.startswith("Gradient."):
            self.declared.append(options)
        return mock.Mock(bytes=4 * elements, called=name)

    def push_pull(self, routes, priority, _owner):
        """Notes what travels, and how urgent it is."""
        if routes[0][0].called.startswith("Gradient."):
            self.sent.append((routes[0][0].called, priority))
        return session.Done()

    def note_span(self, *_):
        """Nobody traces."""


class UsedOtherwise(torch.nn.Module):
    """Three layers, used in another order than they are registered in."""

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
        """What two backward passes send, each by itself."""
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
        """Guessed by registration until all gradients have come once, and then by when they come:
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


if __name__ == "__main__":
    unittest.main()
