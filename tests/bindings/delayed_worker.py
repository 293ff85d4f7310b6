# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of delayed_test.py: trains in mode delayed, and compares the result
of each step with the recursion in plain PyTorch (delayed_reference.py). Prints "done" on success;
`endless` trains until it is killed.
"""

import contextlib
import copy
import io
import os
import sys
import unittest
from unittest import mock

import torch
from torch import nn

import delayed_reference as reference
import stretto.torch as st
import work
from delayed_reference import flat
from stretto import session
from stretto.torch.core import ways
from stretto.torch.optim import delayed, windows

STEPS = 6
FOLLOWED = 8  # Steps compared with the reference; the fifth and the last end with finish().
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9,
                                                   weight_decay=0.01),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, amsgrad=True),
}


def perceptron():
    """The same at each rank; some gradients travel alone, others together."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(12, 400), nn.Tanh(), nn.Linear(400, 90), nn.Tanh(),
                         nn.Linear(90, 3))


def prepared(kind="momentum", make=perceptron, **options):
    """A model, its optimizer in mode delayed, and the inner optimizer."""
    model = make()
    inside = OPTIMIZERS[kind](model.parameters())
    options = {"mode": "delayed", "stale": "all"} | options
    return model, st.DistributedOptimizer(inside, model.named_parameters(), **options), inside


def backward(model, optimizer, step):
    """Gradients of this rank's batch."""
    optimizer.zero_grad()
    reference.loss_of(model, step, st.rank()).backward()


def train(model, optimizer, steps=STEPS, first=0):
    """A plain loop."""
    for step in range(first, first + steps):
        backward(model, optimizer, step)
        optimizer.step()


def weights_in_sync(kind, steps=STEPS, **options):
    """The weights after the same training in mode sync."""
    model = perceptron()
    optimizer = st.DistributedOptimizer(OPTIMIZERS[kind](model.parameters()),
                                        model.named_parameters(), **options)
    train(model, optimizer, steps)
    return flat(model)


def states(optimizer):
    """All tensors of the optimizer's state, as one vector."""
    found = [torch.as_tensor(value, dtype=torch.float32).reshape(-1)
             for group in optimizer.param_groups for parameter in group["params"]
             for _, value in sorted(optimizer.state[parameter].items()) if value is not None]
    return torch.cat([torch.zeros(1), *found])


class Comparisons(unittest.TestCase):
    """Common methods of the tests below."""

    def assert_equal(self, found, expected, what):
        """Bit-identical; sums of three or more numbers depend on their order."""
        if st.size() <= 2:
            self.assertTrue(torch.equal(found, expected), what)
        self.assertTrue(torch.allclose(found, expected, rtol=1e-3, atol=1e-5), what)

    def assert_alike(self, found, what):
        """Bit-identical at all workers."""
        rows = st.allgather(found.view(1, -1))
        for row in rows:
            self.assertTrue(torch.equal(row, rows[0]), f"{what}: the workers differ")


class Recursion(Comparisons):

    def follow(self, kind, approximate, stale, **options):
        """Trains, and compares each step with the reference."""
        what = f"{kind}, {approximate}, {stale}, {options}"
        model, optimizer, inside = prepared(kind, approximate=approximate, stale=stale, **options)
        count = len(list(model.parameters()))
        expected = reference.Reference(model, inside, st.size(), approximate,
                                       count if stale == "all" else stale)
        for step in range(FOLLOWED):
            for group in (*optimizer.param_groups, *expected.optimizer.param_groups):
                group["lr"] = 0.05 / (1 + step // 2)  # As a schedule does.
            expected.step(step)
            backward(model, optimizer, step)
            optimizer.step()
            self.assert_equal(flat(model), flat(expected.copies[st.rank()]), f"shadow of {what}")
            with optimizer.committed():
                self.assert_equal(flat(model), flat(expected.model), what)
                self.assert_alike(flat(model), what)
            if step in (FOLLOWED // 2, FOLLOWED - 1):  # Also midway; training continues.
                expected.finish()
                optimizer.finish()
                self.assert_equal(flat(model), flat(expected.model), f"end of {what}")
                self.assert_alike(flat(model), f"end of {what}")
                self.assert_equal(states(optimizer), states(expected.optimizer), what)
                self.assert_alike(states(optimizer), f"state of {what}")

    def test_every_approximation(self):
        """Each with all optimizers for two workers and servers, with some in other jobs."""
        everything = st.size() == 2 and session.current().place.servers > 0
        for row, kind in enumerate(OPTIMIZERS):
            for column, approximate in enumerate(delayed.APPROXIMATIONS):
                for shift, stale in enumerate(("all", 3)):
                    if everything or (row + column + shift) % len(OPTIMIZERS) == 0:
                        self.follow(kind, approximate, stale)

    def test_every_exchange(self):
        for way in ways.EXCHANGES:
            if way != "servers" or session.current().place.servers:
                self.follow("momentum", "local_previous", 2, exchange=way)

    def test_nothing_stale_is_mode_sync(self):
        for kind in OPTIMIZERS:
            expected = weights_in_sync(kind)
            for approximate in delayed.APPROXIMATIONS:
                model, optimizer, _ = prepared(kind, approximate=approximate, stale=0)
                train(model, optimizer)
                self.assert_equal(flat(model), expected, kind)


class Alone(Comparisons):
    """A job of one worker: its own gradient predicts the mean."""

    def test_shadows_are_what_mode_sync_makes(self):
        if st.size() > 1:
            return
        for kind in OPTIMIZERS:
            expected = [weights_in_sync(kind, steps) for steps in range(STEPS)]
            for stale in ("all", 2):
                model, optimizer, _ = prepared(kind, stale=stale)
                for steps in range(1, STEPS):
                    train(model, optimizer, 1, steps - 1)
                    self.assertTrue(torch.equal(flat(model), expected[steps]), f"{kind} {steps}")
                    with optimizer.committed():
                        if stale == "all":
                            self.assertTrue(torch.equal(flat(model), expected[steps - 1]), kind)

    def test_without_approximation_means_come_a_step_later(self):
        """With gradients independent of weights that is mode sync, shifted by a step."""
        def weights_after(steps, **options):
            model = nn.Linear(50, 200)
            for parameter in model.parameters():
                nn.init.ones_(parameter)
            optimizer = st.DistributedOptimizer(
                torch.optim.Adam(model.parameters(), lr=0.1), model.named_parameters(), **options)
            for step in range(steps):
                optimizer.zero_grad()
                model(torch.full((1, 50), 1.0 + step)).sum().backward()
                optimizer.step()
            return flat(model)

        for steps in range(STEPS):
            late = weights_after(steps + 1, mode="delayed", approximate="none", stale="all")
            self.assertTrue(torch.equal(late, weights_after(steps)), steps)


class Loops(Comparisons):
    """Other calls in a training loop."""

    def test_accumulating(self):
        model, optimizer, _ = prepared(backward_passes_per_step=2)
        other, whole, _ = prepared()
        for step in range(STEPS):
            optimizer.zero_grad()
            whole.zero_grad()
            losses = [reference.loss_of(one, 2 * step + half, st.rank()) / 2
                      for one in (model, other) for half in range(2)]
            losses[0].backward()
            losses[1].backward()
            (losses[2] + losses[3]).backward()
            optimizer.step()
            whole.step()
        optimizer.finish()
        whole.finish()
        self.assertTrue(torch.allclose(flat(model), flat(other), rtol=1e-3, atol=1e-5))
        self.assert_alike(flat(model), "accumulated")

    def test_clipping(self):
        """synchronize() has the means that the step applies: the same at all workers."""
        most = 0.01
        model = perceptron()
        optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                            model.named_parameters(), mode="delayed", stale=3)
        before = flat(model)
        for step in range(STEPS):
            backward(model, optimizer, step)
            optimizer.synchronize()
            optimizer.synchronize()
            gradients = [parameter.grad for parameter in model.parameters()]
            self.assertEqual([one is None for one in gradients], [step == 0] * 3 + [False] * 3)
            nn.utils.clip_grad_norm_([one for one in model.parameters() if one.grad is not None],
                                     most)
            self.assert_alike(torch.cat([one.grad.reshape(-1) for one in model.parameters()
                                         if one.grad is not None]), "clipped")
            with optimizer.skip_synchronize():
                optimizer.step()
            with optimizer.committed():
                self.assertLessEqual((flat(model) - before).norm(), most * 1.01)
                self.assertGreater((flat(model) - before).norm(), most * 0.99)
                before = flat(model)
                self.assert_alike(before, "clipped")

    def test_backward_after_synchronize(self):
        """Its gradients are exchanged too."""
        for stale in (3, "auto"):
            model, optimizer, _ = prepared(stale=stale)
            for step in range(STEPS):
                backward(model, optimizer, step)
                optimizer.synchronize()
                reference.loss_of(model, STEPS + step, st.rank()).backward()
                with optimizer.skip_synchronize():
                    with self.assertRaisesRegex(RuntimeError, "synchronize.. was not called since"):
                        optimizer.step()
                optimizer.step()
            optimizer.finish()
            self.assert_alike(flat(model), "exchanged twice")

    def test_saving_and_going_on(self):
        """A model saved after finish() trains like one that was not saved."""
        for kind in OPTIMIZERS:
            model, optimizer, _ = prepared(kind)
            train(model, optimizer)
            optimizer.finish()
            saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
            train(model, optimizer, first=STEPS)
            optimizer.finish()
            other, again, _ = prepared(kind)
            train(other, again, 2)
            again.finish()
            other.load_state_dict(saved[0])
            again.load_state_dict(saved[1])
            train(other, again, first=STEPS)
            again.finish()
            self.assert_equal(flat(other), flat(model), kind)

    def test_the_saved_state_is_the_committed_one(self):
        model, optimizer, _ = prepared("Adam")
        train(model, optimizer, 3)
        self.assertEqual({int(one["step"]) for one in optimizer.state_dict()["state"].values()},
                         {2})
        optimizer.finish()
        self.assertEqual({int(one["step"]) for one in optimizer.state_dict()["state"].values()},
                         {3})
        self.assert_alike(states(optimizer), "state")

    def test_one_worker_looks_while_others_train(self):
        """finish() and a copy wait for the gradients that all have sent, and for no worker."""
        model, optimizer, _ = prepared()
        for step in range(STEPS):
            backward(model, optimizer, step)
            optimizer.step()
            if step == 2 and st.rank() == 0:
                optimizer.finish()
            if step == 4 and st.rank() == 0:
                copied = copy.deepcopy(optimizer).param_groups[0]["params"]
            with optimizer.committed():
                if step == 4 and st.rank() == 0:
                    self.assertTrue(all(map(torch.equal, copied, model.parameters())))
        optimizer.finish()
        self.assert_alike(flat(model), "looked at")
        self.assert_alike(states(optimizer), "state looked at")

    def test_frozen_and_unused_layers(self):
        for used in (True, False):
            model = nn.ModuleList([nn.Linear(12, 90), nn.Linear(90, 3), nn.Linear(12, 90)])
            st.broadcast_parameters(model.state_dict(), root_rank=0)
            optimizer = st.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.01),
                                                model.named_parameters(), mode="delayed",
                                                stale="all")
            kept = model[2].weight.detach().clone()
            for step in range(STEPS):
                model[0].requires_grad_(step not in (2, 3))
                inputs, targets = reference.data(step, st.rank())
                optimizer.zero_grad()
                hidden = model[0](inputs)
                if used and step >= 4 and st.rank() == 0:
                    hidden = hidden + model[2](inputs)
                nn.functional.mse_loss(model[1](hidden), targets).backward()
                optimizer.step()
            optimizer.finish()
            self.assertEqual(torch.equal(kept, model[2].weight), not used)
            self.assertEqual(model[2].weight in optimizer.state, used)
            self.assert_alike(flat(model), f"used: {used}")

    def test_sparse_gradients(self):
        for kind in (torch.optim.SparseAdam, torch.optim.Adagrad):
            for approximate in delayed.APPROXIMATIONS:
                torch.manual_seed(1)
                model = nn.Embedding(10, 4, sparse=True)
                optimizer = st.DistributedOptimizer(kind(model.parameters(), lr=0.1),
                                                    model.named_parameters(), mode="delayed",
                                                    stale="all", approximate=approximate)
                before = model.weight.detach().clone()
                with self.assertWarnsRegex(RuntimeWarning, "sparse"):
                    for step in range(5):
                        optimizer.zero_grad()
                        model(torch.tensor([step, step + st.rank()])).sum().backward()
                        optimizer.step()
                optimizer.finish()
                self.assert_alike(model.weight.detach(), approximate)
                changed = (model.weight != before).any(1).tolist()
                self.assertEqual(changed, [row < 4 + st.size() for row in range(10)])

    def test_halves(self):
        if session.current().place.servers:
            model, optimizer, _ = prepared(compression=st.Compression.fp16)
            train(model, optimizer)
            optimizer.finish()
            self.assert_alike(flat(model), "fp16")
            model, optimizer, _ = prepared(
                compression_params={"compressor": "onebit", "scaling": True, "ef": "vanilla"})
            train(model, optimizer)
            optimizer.finish()
            self.assert_alike(flat(model), "onebit")

    def test_parameters_that_are_written_to(self):
        model, optimizer, _ = prepared()
        train(model, optimizer, 2)
        model.load_state_dict(copy.deepcopy(model.state_dict()))
        for call in (optimizer.finish, lambda: train(model, optimizer, 1, first=2)):
            with self.assertRaisesRegex(RuntimeError, r"changed between two steps.*finish\(\)"):
                call()

    def test_no_step_among_committed_weights(self):
        model, optimizer, _ = prepared()
        train(model, optimizer, 2)
        with optimizer.committed(), optimizer.committed():
            with self.assertRaisesRegex(RuntimeError, r"within committed\(\)"):
                optimizer.finish()
        optimizer.finish()
        self.assert_alike(flat(model), "after it")


class Staged(Loops):
    """The tests of Loops with a thread that copies gradients, as to and from a GPU."""

    def setUp(self):
        patched = mock.patch.dict(os.environ, STRETTO_STAGE="1")
        patched.start()
        self.addCleanup(patched.stop)

    def test_it_follows_the_recursion(self):
        """With staged gradients."""
        for approximate in delayed.APPROXIMATIONS:
            for stale in ("all", 3):
                Recursion.follow(self, "momentum", approximate, stale)
        _, optimizer, _ = prepared()
        self.assertIsNotNone(optimizer._stretto_exchange._staging)


class Auto(Comparisons):

    def test_rank_0_decides_for_all(self):
        model, optimizer, _ = prepared(stale="auto")
        self.assertEqual(optimizer.stale(), [])
        with mock.patch.object(windows, "least_prefix", lambda *_: 3 + st.rank()):
            train(model, optimizer, delayed.PROFILED)
        self.assert_equal(flat(model), weights_in_sync("momentum", delayed.PROFILED), "auto")
        # Gradients of the first layer come last.
        self.assertEqual([name.split(".")[0] for name in optimizer.stale()], ["0", "0", "2"])
        train(model, optimizer, first=delayed.PROFILED)
        optimizer.finish()
        self.assert_alike(flat(model), "auto")

    def test_no_layers_are_reported_once(self):
        model, optimizer, _ = prepared(stale="auto")
        said = io.StringIO()
        with mock.patch.object(windows, "least_prefix", lambda *_: 0), \
                contextlib.redirect_stderr(said):
            train(model, optimizer, 2 * delayed.PROFILED)
        self.assertEqual(optimizer.stale(), [])
        self.assertEqual(said.getvalue().count("chose no layers"), 1 if st.rank() == 0 else 0)

    def test_it_decides(self):
        model, optimizer, _ = prepared(stale="auto")
        train(model, optimizer, 2 * delayed.PROFILED)
        optimizer.finish()
        self.assertIsNone(optimizer._stretto_exchange.profile)
        self.assertEqual(optimizer.stale(), st.broadcast_object(optimizer.stale()))
        self.assert_alike(flat(model), "auto")


class Disagreeing(unittest.TestCase):

    def test_all_are_told(self):
        if st.size() == 1:
            return
        for mine, words in (
                ({"approximate": "local" if st.rank() else "previous"}, "approximate is"),
                ({"stale": 2 if st.rank() else 3}, "stale is"),
                ({"mode": "delayed" if st.rank() else "sync", "stale": "auto"}, "mode is")):
            with self.assertRaisesRegex(st.errors.Mismatch, f"other gradients.*{words}"):
                model, optimizer, _ = prepared(**mine)
                train(model, optimizer)
        st.barrier()


def endless():
    """Trains until it is killed."""
    st.init()
    model, optimizer, _ = prepared()
    step = 0
    while True:
        train(model, optimizer, 20, step)
        step += 20
        print("progress", step, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["endless"]:
        endless()
    torch.use_deterministic_algorithms(True)
    work.run_tests()
    print("done", flush=True)
