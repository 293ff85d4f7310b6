# SPDX-License-Identifier: Apache-2.0
"""Mode delayed, in jobs of one, two and three workers, with servers and without: each mean gradient
is applied once, as in the recursion in plain PyTorch (delayed_worker.py, delayed_reference.py).
"""

import copy
import io
import os
import pickle
import signal
import time
import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position
from stretto.torch.gradients import late  # pylint: disable=wrong-import-position
from stretto.torch.optim import delayed  # pylint: disable=wrong-import-position

LONG = 300.0  # Seconds for all training of one job on a busy machine.
UNSTAGED = ("Recursion", "Alone", "Loops", "Auto", "Disagreeing")
"""All of delayed_worker.py but Staged, which one job runs."""
SOON = 20.0  # Far above the documented time, far below any timeout.


class Delayed(jobs.PythonTest):

    def test_with_servers(self):
        self.assert_done(self.python("delayed_worker.py"), seconds=LONG)
        for workers in jobs.some(3, 1, least=1):
            self.assert_done(self.python("delayed_worker.py", *UNSTAGED, workers=workers), workers,
                             LONG)

    def test_without_servers(self):
        self.assert_done(self.python("delayed_worker.py", *UNSTAGED, servers=0), seconds=LONG)
        # With three workers, sums among workers have an order, and trees have branches.
        self.assert_done(self.python("delayed_worker.py", "Recursion", "Auto", workers=3,
                                     servers=0), 3, LONG)

    def test_a_worker_is_killed(self):
        job = self.python("delayed_worker.py", "endless")
        for rank in range(2):
            job.expect(rf"\[worker {rank}\] progress", jobs.TORCH_PATIENCE)
        started = time.monotonic()
        os.kill(job.member("worker 1"), signal.SIGKILL)
        self.assertEqual(job.end(SOON), 128 + signal.SIGKILL, job.output())
        self.assertLess(time.monotonic() - started, SOON)
        job.expect(r"\[worker 0\] stretto.errors.PeerLost: .*worker 1")
        self.assert_nobody_left()

    def test_elastic_jobs_are_refused(self):
        job = self.python("delayed_worker.py", "endless", workers="1:2")
        job.expect("ValueError: mode 'delayed' is for jobs of fixed size", jobs.TORCH_PATIENCE)
        self.assertNotEqual(job.end(SOON), 0, job.output())


class Alone(unittest.TestCase):
    """A process without a launcher is a job of one worker."""

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)
        torch.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))

    def wrap(self, kind=torch.optim.SGD, settings=None, **options):
        return st.DistributedOptimizer(
            kind(self.model.parameters(), **{"lr": 0.1} | (settings or {})),
            self.model.named_parameters(), **{"mode": "delayed"} | options)

    def backward(self, optimizer):
        optimizer.zero_grad()
        self.model(torch.ones(4, 2)).pow(2).sum().backward()

    def train(self, optimizer, steps=3):
        for _ in range(steps):
            self.backward(optimizer)
            optimizer.step()

    def weights(self):
        return [parameter.detach().clone() for parameter in self.model.parameters()]

    def committed(self, optimizer):
        with optimizer.committed():
            return self.weights()

    def assert_same(self, found, expected, same=True):
        self.assertEqual(all(map(torch.equal, found, expected)), same)


class Misuse(Alone):

    def test_options(self):
        for words, options in (
                ("approximate is 'lokal', wanted one of none, local, previous, local_previous",
                 {"approximate": "lokal"}),
                ("stale is -1, wanted 'all', 'auto', or a whole number", {"stale": -1}),
                ("stale is 0.5, wanted", {"stale": 0.5}),
                ("stale is True, wanted", {"stale": True}),
                ("stale is None, wanted", {"stale": None}),
                ("stale is 5, and 4 parameters are trained", {"stale": 5}),
                ("approximate= and stale= are for mode 'delayed', and the mode is 'sync'",
                 {"mode": "sync", "stale": 0}),
                ("approximate= and stale= are for mode 'delayed', and the mode is 'eager'",
                 {"mode": "eager", "approximate": "none"}),
                ("LBFGS looks at all of them", {"kind": torch.optim.LBFGS}),
                ("model= is for mode 'sync'", {"model": self.model}),
                ("digest_every is for mode 'sync'", {"digest_every": 5})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.wrap(**options)

    def test_calls(self):
        optimizer = self.wrap(stale="all")
        with self.assertRaisesRegex(ValueError, "mode 'delayed' takes no closure"):
            optimizer.step(lambda: None)
        with optimizer.skip_synchronize():
            with self.assertRaisesRegex(RuntimeError, "synchronize.. was not called since"):
                optimizer.step()
        optimizer.finish()  # Nothing is pending.
        self.assertEqual(len(optimizer.stale()), 4)

    def test_finish_between_synchronize_and_step(self):
        """finish() would apply means in the wrong order."""
        optimizer = self.wrap(stale=2)
        self.train(optimizer)
        self.backward(optimizer)
        optimizer.synchronize()
        before = self.weights()
        for call in (optimizer.finish, lambda: optimizer.load_state_dict(optimizer.state_dict())):
            with self.assertRaisesRegex(RuntimeError, r"between synchronize\(\) and step\(\)"):
                call()
        self.assert_same(self.weights(), before)
        optimizer.step()
        optimizer.finish()

    def test_writes_to_shadows(self):
        optimizer = self.wrap(stale="all")
        self.train(optimizer)
        self.model.load_state_dict(copy.deepcopy(self.model.state_dict()))
        for call in (optimizer.finish, lambda: self.committed(optimizer),
                     lambda: copy.deepcopy(optimizer), lambda: pickle.dumps(optimizer)):
            with self.assertRaisesRegex(RuntimeError, r"changed between two steps.*finish\(\)"):
                call()
        other = self.wrap(stale="all")
        self.train(other)
        with self.assertRaisesRegex(RuntimeError, r"changed within committed\(\)"):
            with other.committed():
                nn.init.zeros_(self.model[0].weight)
        with self.assertRaises(ZeroDivisionError):  # The program must get this error.
            with other.committed():
                nn.init.zeros_(self.model[0].weight)
                _ = 1 / 0

    def test_a_parameter_that_comes_later(self):
        optimizer = self.wrap(stale="all")
        self.train(optimizer)
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})
        with self.assertRaisesRegex(ValueError, "is trained now, and was not when"):
            self.train(optimizer, 1)


class Stumbling(torch.optim.SGD):
    """Raises once, after it has stepped."""

    fails_at = None  # Number of steps from now.

    def step(self, closure=None):
        """As SGD's."""
        super().step(closure)
        if self.fails_at is not None:
            self.fails_at -= 1
            if self.fails_at == 0:
                self.fails_at = None
                raise ArithmeticError("as asked for")


class Counting(torch.optim.SGD):
    """Keeps in its groups how many steps it has made, and changes their rate itself."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr)
        for group in self.param_groups:
            group.update(steps=0, clock=torch.zeros(2), history=[])

    def step(self, closure=None):
        """As SGD's."""
        super().step(closure)
        for group in self.param_groups:
            group["steps"] += 1
            group["clock"].add_(1)
            group["history"].append(group["steps"])
            group["momentum"] = group["steps"] / 100
            group["seen"] = True


class OneWorker(Alone):

    def test_a_process_of_its_own(self):
        """A job of one worker: each mean still arrives a step later."""
        optimizer = self.wrap(stale="all", approximate="none")
        before = self.model[0].bias.detach().clone()
        for step in range(2):
            optimizer.zero_grad()
            self.model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
            self.assertEqual(torch.equal(before, self.model[0].bias), step == 0)
        optimizer.finish()

    def test_copies(self):
        """Copies have committed weights, also together with the model, and change nothing."""
        def by_torch(what):
            file = io.BytesIO()
            torch.save(what, file)
            file.seek(0)
            return torch.load(file, weights_only=False)

        for stale in ("all", 2):
            optimizer = self.wrap(settings={"momentum": 0.9}, stale=stale)
            self.train(optimizer)
            shadows, expected = self.weights(), self.committed(optimizer)
            self.assert_same(shadows, expected, False)
            for copied in (copy.deepcopy, lambda what: pickle.loads(pickle.dumps(what)), by_torch):
                model, other = copied((self.model, optimizer))
                again, same = copied((optimizer, self.model))
                with optimizer.committed():
                    third = copied(optimizer)
                for one, its in ((other, model), (again, same), (third, None)):
                    parameters = one.param_groups[0]["params"]
                    self.assertIs(type(one), torch.optim.SGD)
                    self.assert_same(parameters, expected)
                    if its is not None:
                        self.assertTrue(all(mine is own for mine, own
                                            in zip(parameters, its.parameters())))
                    for mine, own in zip(parameters, self.model.parameters()):
                        self.assertTrue(torch.equal(one.state[mine]["momentum_buffer"],
                                                    optimizer.state[own]["momentum_buffer"]))
                self.assert_same(self.weights(), shadows)
                self.assert_same(self.committed(optimizer), expected)
            self.assertIs(copy.copy(optimizer).param_groups, optimizer.param_groups)
            before = copy.deepcopy(expected)
            optimizer.finish()  # The mean can still be applied.
            self.assert_same(self.weights(), before, False)

    def test_a_shadow_step_that_fails(self):
        """A failed step leaves committed weights, and training can continue."""
        start = copy.deepcopy(self.model.state_dict())
        optimizer = self.wrap(Stumbling, settings={"momentum": 0.9}, stale=2)
        self.train(optimizer)
        self.train(optimizer, 1)
        expected, state = self.committed(optimizer), copy.deepcopy(optimizer.state_dict())
        self.model.load_state_dict(start)

        optimizer = self.wrap(Stumbling, settings={"momentum": 0.9}, stale=2)
        self.train(optimizer)
        self.backward(optimizer)
        optimizer.fails_at = 2
        with self.assertRaises(ArithmeticError):
            optimizer.step()
        self.assert_same(self.weights(), expected)
        self.assertEqual(str(optimizer.state_dict()), str(state))
        self.assertIsNone(self.model[0].weight.grad)
        optimizer.finish()
        self.assert_same(self.weights(), expected, False)
        self.train(optimizer)

    def weights_of_constant_gradients(self, kind, settings, steps, **options):
        """The weights after each step, of a layer whose gradient does not depend on them."""
        torch.manual_seed(1)
        self.model = nn.Embedding(10, 4, sparse=kind is torch.optim.SparseAdam)
        optimizer = self.wrap(kind, settings=settings, **options)
        found = []
        for _ in range(steps):
            optimizer.zero_grad()
            self.model(torch.tensor([1, 5])).sum().backward()
            optimizer.step()
            found += self.weights()
        optimizer.finish()
        return found + self.weights()

    def test_estimates_of_gradients_that_do_not_change(self):
        """Estimates are right from the second step on, also for sparse optimizers and for
        optimizers that write to gradients."""
        for kind, settings in ((torch.optim.SparseAdam, {}), (torch.optim.Adagrad, {}), (
                torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "foreach": True})):
            expected = self.weights_of_constant_gradients(kind, settings, 6, mode="sync")
            for approximate in delayed.APPROXIMATIONS:
                with self.subTest(f"{kind} {settings} {approximate}"):
                    found = self.weights_of_constant_gradients(
                        kind, settings, 6, approximate=approximate, stale="all")
                    self.assert_same(found[6:], expected[6:])
                    if approximate != "none":
                        self.assert_same(found[1:6], expected[1:6])

    def test_what_an_optimizer_writes_to_its_groups(self):
        """Written values stay, also after changes of rates; values of shadow steps do not."""
        for stale in ("all", 2, 0):
            for is_scheduled in (True, False):
                with self.subTest(f"{stale} {is_scheduled}"):
                    optimizer = self.wrap(Counting, stale=stale)
                    [group] = optimizer.param_groups
                    clock = group["clock"]
                    for step in range(4):
                        self.train(optimizer, 1)
                        if is_scheduled:
                            group["lr"] = 0.01 / (step + 2)
                    optimizer.finish()
                    steps = 4 if stale == 0 else 5  # finish() makes a step.
                    self.assertEqual(group["steps"], steps)
                    self.assertEqual(clock.tolist(), [steps] * 2)
                    self.assertIs(group["clock"], clock)
                    self.assertEqual(group["history"], list(range(1, steps + 1)))
                    self.assertEqual((group["momentum"], group["seen"]), (steps / 100, True))
                    self.assertEqual(group["lr"], 0.002 if is_scheduled else 0.1)

    def test_a_profile_waits_for_the_device(self):
        """Each reading of the clock waits first: a GPU runs asynchronously."""
        seen = []
        with mock.patch.object(late, "wait_for_device", seen.append):
            optimizer = self.wrap(stale="auto")
            exchanged = optimizer._stretto_exchange
            exchanged._clock = lambda: seen.append("clock") or len(seen)
            self.train(optimizer, delayed.PROFILED)
            # Readings of a step: four gradients, the end of backward, both ends of the exchange.
            self.assertEqual(seen, [torch.device("cpu"), "clock"] * 7 * delayed.PROFILED)
            self.train(optimizer, 2)  # The profile is complete, and records no more.
            self.assertEqual(len(seen), 2 * 7 * delayed.PROFILED)
        with mock.patch.object(torch.cuda, "synchronize") as waits:
            late.wait_for_device(torch.device("cpu"))
            waits.assert_not_called()
            late.wait_for_device(torch.device("cuda", 1))
            waits.assert_called_once_with(torch.device("cuda", 1))


if __name__ == "__main__":
    unittest.main()
