# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of layers_test.py: trains models that use their layers in every way
PyTorch supports, layer by layer, and compares bit by bit with steps that wait. Prints "done" on
success.
"""

import copy
import unittest

import torch
from torch import nn

import stretto.torch as st
import work

WIDTH = 96  # Large enough that a weight travels alone.
STEPS = 4


class Lists(nn.Module):
    """Parameters in lists and dicts, which have no call."""

    def __init__(self):
        super().__init__()
        self.first = nn.ParameterList([nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH)])
        self.second = nn.ParameterDict({"w": nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH)})

    def forward(self, inputs):
        """Uses them all."""
        return torch.tanh(inputs @ self.first[0]) @ self.second["w"]


class Borrowed(nn.Module):
    """Uses the weight of a layer before it calls that layer, and of one that it never calls."""

    def __init__(self):
        super().__init__()
        self.called = nn.Linear(WIDTH, WIDTH)
        self.never = nn.Linear(WIDTH, WIDTH)

    def forward(self, inputs):
        """Uses both."""
        mixed = nn.functional.linear(inputs, self.called.weight) @ self.never.weight
        return self.called(mixed) + self.never.bias


class Attention(nn.Module):
    """nn.MultiheadAttention of its inputs to themselves; it never calls its out_proj."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

    def forward(self, inputs):
        """The result without the weights."""
        return self.attention(inputs, inputs, inputs)[0]


class Recurrent(nn.Module):
    """An LSTM, which keeps references to its weights."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)

    def forward(self, inputs):
        """The outputs without the state."""
        return self.layers(inputs)[0]


def linear():
    """One layer."""
    return nn.Linear(WIDTH, WIDTH)


def encoder():
    """Its evaluation has a separate code path, which calls no layer."""
    layer = nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


MODELS = {
    "encoder": encoder,
    "attention": Attention,
    "lists": Lists,
    "borrowed": Borrowed,
    "recurrent": Recurrent,
    "weight_norm": lambda: nn.Sequential(nn.utils.weight_norm(linear()), nn.Tanh(), linear()),
    "spectral_norm": lambda: nn.Sequential(nn.utils.spectral_norm(linear()), nn.Tanh(), linear()),
    "parametrized": lambda: nn.Sequential(
        nn.utils.parametrizations.spectral_norm(linear()), linear()),
    "scripted": lambda: nn.Sequential(linear(), torch.jit.script(nn.Sequential(linear()))),
    # Without a tanh, for which compiled TorchScript computes other bits.
    "scripted_all": lambda: torch.jit.script(nn.Sequential(linear(), linear())),
    "traced": lambda: torch.jit.trace(nn.Sequential(linear(), linear()), torch.ones(1, WIDTH)),
}


def made(make, layerwise):
    """A model, the same everywhere, and its optimizer."""
    torch.manual_seed(1)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, st.DistributedOptimizer(optimizer, model.named_parameters(),
                                          model=model if layerwise else None)


def batch(step, rank):
    """Inputs: the same in every run."""
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(2, 3, WIDTH, generator=generator)


def backward(model, step):
    """Gradients of one batch."""
    model(batch(step, st.rank())).square().mean().backward()


def weights(model):
    """All parameters as one vector."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


class Layers(unittest.TestCase):

    def assert_same(self, run, name):
        """run(layerwise) has bit-identical results with steps that wait and layer by layer."""
        waiting, layerwise = run(False), run(True)
        self.assertEqual(len(waiting), len(layerwise))
        for ours, theirs in zip(layerwise, waiting):
            self.assertTrue(torch.equal(ours, theirs), name)

    def test_training(self):
        for name, make in MODELS.items():
            def run(layerwise, make=make):
                model, optimizer = made(make, layerwise)
                for step in range(STEPS):
                    optimizer.zero_grad()
                    backward(model, step)
                    optimizer.step()
                return [weights(model)]

            self.assert_same(run, name)

    def test_evaluation_between_steps(self):
        for name, make in MODELS.items():
            def run(layerwise, make=make):
                model, optimizer = made(make, layerwise)
                outputs = []
                for step in range(STEPS):
                    model.train()
                    optimizer.zero_grad()
                    backward(model, step)
                    optimizer.step()
                    model.eval()
                    with torch.no_grad():
                        outputs.append(model(batch(step, 9)))
                return outputs

            self.assert_same(run, name)

    def test_whoever_reads_parameters_gets_those_after_the_step(self):
        readers = {
            "a weight": lambda model: model.called.weight.detach().clone(),
            "parameters()": weights,
            "state_dict() of a layer": lambda model: model.called.state_dict()["bias"].clone(),
            "a copy of the model": lambda model: weights(copy.deepcopy(model)),
            "a dict": lambda model: model.never._parameters.get("weight").detach().clone(),
        }
        for name, read in readers.items():
            def run(layerwise, read=read):
                model, optimizer = made(Borrowed, layerwise)
                found = []
                for step in range(STEPS):
                    optimizer.zero_grad()
                    backward(model, step)
                    optimizer.step()
                    found.append(read(model))
                return found

            self.assert_same(run, name)

    def test_gradients_are_cleared_by_the_model(self):
        for to_none in (True, False):
            def run(layerwise, to_none=to_none):
                model, optimizer = made(Borrowed, layerwise)
                for step in range(STEPS):
                    model.zero_grad(to_none)
                    backward(model, step)
                    optimizer.step()
                return [weights(model)]

            self.assert_same(run, f"set_to_none={to_none}")

    def test_two_optimizers_of_one_model(self):
        def run(layerwise):
            torch.manual_seed(1)
            model = Borrowed()
            optimizers = [st.DistributedOptimizer(
                torch.optim.SGD(layer.parameters(), lr=0.1),
                [(name, parameter) for name, parameter in model.named_parameters()],
                model=model if layerwise else None) for layer in (model.called, model.never)]
            for step in range(STEPS):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                backward(model, step)
                for optimizer in optimizers:
                    optimizer.step()
            return [weights(model)]

        self.assert_same(run, "two optimizers")

    def test_a_parameter_of_no_layer(self):
        def run(layerwise):
            torch.manual_seed(1)
            model, scale = linear(), nn.Parameter(torch.ones(WIDTH, WIDTH))
            optimizer = st.DistributedOptimizer(
                torch.optim.SGD([*model.parameters(), scale], lr=0.1),
                [*model.named_parameters(), ("scale", scale)],
                model=model if layerwise else None)
            for step in range(STEPS):
                optimizer.zero_grad()
                (model(batch(step, st.rank())) @ scale).square().mean().backward()
                optimizer.step()
            return [weights(model), scale.detach()]

        self.assert_same(run, "a scale")

    def test_clipping_where_a_layer_is_left_out(self):
        """synchronize() after backward has the means of all new gradients, also while a step is
        pending for a layer that this forward did not use."""
        for width in (8, WIDTH):  # With 8, gradients travel together.
            def run(layerwise, width=width):
                torch.manual_seed(1)
                model = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                optimizer = st.DistributedOptimizer(optimizer, model.named_parameters(),
                                                    model=model if layerwise else None)
                for step in range(6):
                    optimizer.zero_grad()
                    for index in {0, 1 + step % 2}:
                        model[index](batch(step, st.rank())[..., :width]).square().sum().backward()
                    optimizer.synchronize()
                    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                    with optimizer.skip_synchronize():
                        optimizer.step()
                    optimizer.zero_grad()
                    for layer in model:
                        layer(batch(step, st.rank())[..., :width]).square().sum().backward()
                    optimizer.step()
                return [weights(model)]

            self.assert_same(run, f"width {width}")

    def test_a_reference_kept_elsewhere_is_told(self):
        model, optimizer = made(linear, True)
        weight = model.weight
        weight.sum().backward()
        optimizer.step()
        with self.assertRaisesRegex(AssertionError, "With model=.* synchronize"):
            weight.sum().backward()


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    work.run_tests()
    print("done", flush=True)
