# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of fixed size of local_test.py: compares local steps with one
process that computes on all workers' data. Prints "done" on success."""

import copy
import sys
import unittest

import torch

import stretto.torch as st
import work
from stretto import errors, session

INNER = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
}
INT8 = {"compressor": "int8", "ef": "vanilla"}


def net(seed=1, width=16):
    """A small model; the same everywhere for one seed."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.Tanh(),
                               torch.nn.Linear(width, 1))


def loss_of(model, step, rank):
    """The loss on that worker's data for that step."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 8, generator=generator)
    return (model(inputs) - inputs.sum(1, keepdim=True).div(3).tanh()).square().mean()


def train(model, optimizer, steps, first=0):
    """`steps` steps of this worker."""
    for step in range(first, first + steps):
        optimizer.zero_grad()
        loss_of(model, step, st.rank()).backward()
        optimizer.step()


def flat(model):
    """All its parameters as one vector."""
    return torch.cat([each.detach().double().reshape(-1) for each in model.parameters()])


def servers():
    """The job's number of servers."""
    return session.current().place.servers


class Reference:
    """The computation of all workers, in this process, in plain PyTorch."""

    def __init__(self, inner, every, outer="mean", rate=1.0, momentum=0.9, weights=None):
        self.start = net()
        self.models = [copy.deepcopy(self.start) for _ in range(st.size())]
        self.optimizers = [INNER[inner](model.parameters()) for model in self.models]
        self.every, self.weights = every, weights or [1.0] * st.size()
        self.outer = torch.optim.SGD(
            self.start.parameters(), lr=rate, nesterov=outer == "nesterov",
            momentum=momentum if outer == "nesterov" else 0)
        self.step = 0

    def go_on(self, steps):
        """`steps` steps of each worker."""
        for _ in range(steps):
            for rank, (model, optimizer) in enumerate(zip(self.models, self.optimizers)):
                optimizer.zero_grad()
                loss_of(model, self.step, rank).backward()
                optimizer.step()
            self.step += 1
            if self.step % self.every == 0:
                self.end_round()

    def end_round(self):
        """The outer step."""
        for start, *each in zip(self.start.parameters(),
                                *(model.parameters() for model in self.models)):
            total = sum(weight * value.detach() for weight, value in zip(self.weights, each))
            start.grad = start.detach() - total / sum(self.weights)
        self.outer.step()
        for model in self.models:
            model.load_state_dict(self.start.state_dict())


class LocalSteps(unittest.TestCase):

    def assert_same_everywhere(self, tensor, name="same"):
        """Bit by bit."""
        bits = tensor.detach().contiguous().reshape(-1).view(torch.uint8).reshape(1, -1)
        rows = st.allgather(bits, name=f"{name}.{bits.numel()}")
        self.assertTrue((rows == rows[0]).all())

    def assert_near(self, model, expected):
        self.assertTrue(torch.allclose(flat(model), flat(expected), rtol=1e-4, atol=1e-5),
                        (flat(model) - flat(expected)).abs().max())

    def test_every_step_by_mean_is_sync(self):
        for inner in INNER:
            with self.subTest(inner):
                models = [net(), net()]
                train(models[0], st.DistributedOptimizer(
                    INNER[inner](models[0].parameters()), models[0].named_parameters()), 10)
                each = st.LocalSteps(INNER[inner](models[1].parameters()),
                                     models[1].named_parameters(), every=1)
                train(models[1], each, 10)
                each.finish()
                if st.size() < 3:  # Sums of more numbers depend on their order.
                    self.assertTrue(torch.equal(flat(models[0]), flat(models[1])))
                self.assert_near(*models)
                self.assertEqual(each.outer_round, 10)
                self.assert_same_everywhere(torch.cat(
                    [value.reshape(-1) for value in each.outer_values().values()]))

    def test_rounds_are_those_of_one_process(self):
        for options in ({}, {"outer": "nesterov"}, {"outer_rate": 0.5},
                        {"outer": "nesterov", "outer_rate": 0.4, "momentum": 0.5}):
            for inner in ("momentum", "adamw"):
                with self.subTest(inner, **options):
                    model = net()
                    each = st.LocalSteps(INNER[inner](model.parameters()),
                                         model.named_parameters(), every=4, **options)
                    rate = options.get("outer_rate", 0.7 if options.get("outer") else 1.0)
                    expected = Reference(inner, 4, options.get("outer", "mean"), rate,
                                         options.get("momentum", 0.9))
                    for turn in range(5):
                        train(model, each, 4, first=4 * turn)
                        self.assert_same_everywhere(flat(model))
                    expected.go_on(20)
                    self.assert_near(model, expected.start)
                    self.assertEqual(each.outer_round, 5)

    def test_they_begin_alike(self):
        model = net(seed=st.rank())
        each = st.LocalSteps(torch.optim.SGD(model.parameters(), lr=0.0),
                             model.named_parameters(), every=2, outer="nesterov")
        train(model, each, 2)
        self.assertTrue(torch.equal(flat(model), flat(net(seed=0))))

    def test_a_gradient_of_other_parameters_makes_no_step(self):
        for by_closure in (False, True):
            model, start = net(seed=st.rank()), net(seed=0)
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=2)

            def closure():
                each.zero_grad()  # pylint: disable=cell-var-from-loop
                loss = loss_of(model, 0, st.rank())  # pylint: disable=cell-var-from-loop
                loss.backward()
                return loss

            if by_closure:
                each.step(closure)
            else:
                closure()
                each.step()
            expected = copy.deepcopy(start)
            if by_closure or st.rank() == 0:
                train(expected, INNER["sgd"](expected.parameters()), 1)
            self.assert_near(model, expected)
            train(model, each, 1, first=1)
            train(expected, INNER["sgd"](expected.parameters()), 1, first=1)
            mean = st.push_pull(flat(expected), f"second.{by_closure}")
            self.assertTrue(torch.allclose(flat(model), mean, atol=1e-5))
            self.assertEqual(each.outer_round, 1)

    def test_weights(self):
        weights = [rank + 1.0 for rank in range(st.size())]
        told = []

        def samples():
            told.append(len(told))
            return 1000 * weights[st.rank()]

        for given in (samples, 7 * weights[st.rank()]):
            model = net()
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=5, weight=given)
            train(model, each, 15)
            expected = Reference("sgd", 5, weights=weights)
            expected.go_on(15)
            self.assert_near(model, expected.start)
            self.assert_same_everywhere(flat(model))
        self.assertEqual(len(told), 3)
        model = net()
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(), every=4,
                             fragments=3, weight=samples)
        train(model, each, 9)  # A round starts at its first fragment's turn, after one step.
        each.finish()
        self.assertEqual((len(told), each.outer_round), (6, 3))
        if st.size() > 1:
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=5, weight=float(st.rank() == 1))
            train(model, each, 4)
            alone = copy.deepcopy(model)
            train(alone, INNER["sgd"](alone.parameters()), 1, first=4)
            train(model, each, 1, first=4)
            if st.rank() == 1:
                self.assert_near(model, alone)

    def test_no_weight_at_all(self):
        model = net()
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(), every=2,
                             weight=0)
        with self.assertRaisesRegex(ValueError, "all workers' weights are 0"):
            train(model, each, 2)
        session.current().barrier()

    def test_rounds_end_after_an_error(self):
        for fragments in (1, 2):
            model, fails = net(), [False, True, False, False]
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=2, fragments=fragments,
                                 weight=lambda: 1 / 0 if fails.pop(0) else 2.0)
            train(model, each, 2)
            with self.assertRaises(ZeroDivisionError):
                train(model, each, 2, first=2)
            train(model, each, 2, first=4)
            self.assertEqual(each.outer_round, 2)
            each.finish()
            self.assertEqual(fails, [])
            self.assert_same_everywhere(flat(model))

    def test_fragments_are_sent_in_turn(self):
        for overlap in (False, True):
            model = net()
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=4, fragments=4, overlap=overlap)
            before = {}
            for step in range(8):
                train(model, each, 1, first=step)
                values = each.outer_values()
                changed = [name for name, value in values.items()
                           if step and not torch.equal(value, before[name])]
                before = values
                if step and st.size() > 1 and (step > 3 or not overlap):
                    self.assertEqual(len(changed), 1, (step, changed))
                self.assert_same_everywhere(torch.cat(
                    [value.reshape(-1) for value in values.values()]), "values")
            each.finish()
            self.assert_same_everywhere(flat(model))

    def test_an_overlapped_mean_is_applied_a_round_later(self):
        model, gone = net(), []
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(), every=3,
                             overlap=True)
        for turn in range(4):
            before = flat(model)
            train(model, each, 2, first=3 * turn)
            probe = copy.deepcopy(model)
            train(probe, INNER["sgd"](probe.parameters()), 1, first=3 * turn + 2)
            gone.append(st.push_pull(before - flat(probe), f"gone.{before.numel()}"))
            train(model, each, 1, first=3 * turn + 2)
            values = torch.cat([value.double().reshape(-1)
                                for value in each.outer_values().values()])
            # All rounds but the last are in the values, and that is in this worker's parameters.
            expected = flat(net()) - sum(gone[:-1])
            by_name = dict(net().named_parameters())
            ordered = torch.cat([dict(zip(by_name, split(expected)))[name].reshape(-1)
                                 for name in each.outer_values()])
            self.assertTrue(torch.allclose(values, ordered, atol=1e-5))
            self.assertTrue(torch.allclose(flat(model), expected - (before - flat(probe)),
                                           atol=1e-5))
        each.finish()
        self.assert_same_everywhere(flat(model))
        self.assertTrue(torch.allclose(flat(model), flat(net()) - sum(gone), atol=1e-5))

    def test_overlapped_rounds_of_workers_that_are_alike_are_the_usual_ones(self):
        for options in ({"outer": "nesterov"}, {"outer": "nesterov", "fragments": 2}):
            models = [net(), net()]
            optimizers = [st.LocalSteps(
                INNER["sgd"](model.parameters()), model.named_parameters(), every=4,
                overlap=overlap, **options) for overlap, model in zip((False, True), models)]
            for step in range(16):
                for model, optimizer in zip(models, optimizers):
                    optimizer.zero_grad()
                    loss_of(model, step, 0).backward()
                    optimizer.step()
                self.assertTrue(torch.allclose(flat(models[0]), flat(models[1]), atol=1e-5), step)

    def test_overlapped_rounds_learn(self):
        for options in ({"outer": "nesterov", "momentum": 0.6}, {"fragments": 2}):
            model = net()
            each = st.LocalSteps(INNER["adamw"](model.parameters()), model.named_parameters(),
                                 every=5, overlap=True, **options)
            before = loss_of(model, 10**6, 0).item()
            train(model, each, 100)
            each.finish()
            self.assertLess(loss_of(model, 10**6, 0).item(), before / 4)
            self.assert_same_everywhere(flat(model))

    def test_int8_with_error_feedback(self):
        if servers() == 0:
            with self.assertRaisesRegex(ValueError, r"this job has no servers .*'direct', which "
                                        "is for gradients as they are; compression= is for"):
                st.LocalSteps(INNER["sgd"](net().parameters()), every=4, compression_params=INT8)
            return
        losses = []
        for options in ({}, {"compression_params": INT8}, {"compression": st.Compression.fp16}):
            model = net(width=4096)  # A layer of 128 KiB: smaller ones are sent uncompressed.
            each = st.LocalSteps(torch.optim.SGD(model.parameters(), lr=0.002),
                                 model.named_parameters(), every=4, **options)
            train(model, each, 40)
            self.assert_same_everywhere(flat(model))
            losses.append(loss_of(model, 10**6, 0).item())
        self.assertLess(abs(losses[1] - losses[0]), 0.05 * losses[0], losses)
        self.assertLess(abs(losses[2] - losses[0]), 0.05 * losses[0], losses)

    def test_exchanges_among_workers(self):
        for way in ("direct", "ring"):
            model = net()
            each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                                 every=4, outer="nesterov", exchange=way)
            train(model, each, 8)
            expected = Reference("sgd", 4, "nesterov", 0.7)
            expected.go_on(8)
            self.assert_near(model, expected.start)
            self.assert_same_everywhere(flat(model))

    def test_types(self):
        for every, overlap in ((2, False), (2, True), (1, False)):
            with self.subTest(every=every, overlap=overlap):
                self.types(every, overlap)

    def types(self, every, overlap):
        """Parameters of narrow and wide types train, and end as the outer values."""
        model, double = net().to(torch.bfloat16), torch.nn.Linear(3, 2).double()
        named = [*model.named_parameters(), *((f"d.{name}", value)
                                              for name, value in double.named_parameters())]
        each = st.LocalSteps(torch.optim.SGD([value for _, value in named], lr=0.1), named,
                             every=every, outer="nesterov", overlap=overlap)
        for step in range(4):
            each.zero_grad()
            (model(torch.full((1, 8), 0.1 * (st.rank() + step), dtype=torch.bfloat16)).sum()
             + double(torch.ones(1, 3, dtype=torch.float64)).sum()).backward()
            each.step()
        each.finish()
        values = each.outer_values()
        self.assertEqual(values["0.weight"].dtype, torch.float32)
        self.assertEqual(values["d.weight"].dtype, torch.float64)
        self.assertTrue(torch.equal(model[0].weight, values["0.weight"].to(torch.bfloat16)))
        self.assert_same_everywhere(values["0.weight"])
        self.assert_same_everywhere(values["d.weight"])

    def test_rounding_to_a_narrow_type_is_no_step(self):
        for overlap in (False, True):
            model = net().to(torch.bfloat16)
            each = st.LocalSteps(torch.optim.SGD(model.parameters(), lr=0.3),
                                 model.named_parameters(), every=2, overlap=overlap)
            found = []
            for step in range(10):
                each.zero_grad()
                inputs = torch.full((1, 8), 0.1 * (st.rank() + 1), dtype=torch.bfloat16)
                model(inputs).sum().backward()
                each.step()
                if step == 1:
                    each.param_groups[0]["lr"] = 0.0
                if step % 2:
                    found.append(torch.cat([value.reshape(-1)
                                            for value in each.outer_values().values()]))
            moved, *rest = found[1:] if overlap else found
            self.assertFalse(torch.equal(moved, moved.bfloat16().float()))
            for later in rest:
                self.assertTrue(torch.equal(moved, later), (moved - later).abs().max())

    def test_schedules_closures_and_unused_parameters(self):
        model, unused = net(), torch.nn.Linear(2, 2)
        kept = unused.weight.detach().clone()
        named = [*model.named_parameters(), *((f"unused.{name}", value)
                                              for name, value in unused.named_parameters())]
        each = st.LocalSteps(torch.optim.SGD([value for _, value in named], lr=0.1), named,
                             every=2)
        schedule = torch.optim.lr_scheduler.StepLR(each, 2, 0.5)

        def closure():
            each.zero_grad()
            loss = loss_of(model, 0, st.rank())
            loss.backward()
            return loss

        for _ in range(4):
            self.assertIsInstance(each.step(closure).item(), float)
            schedule.step()
        self.assertEqual(each.param_groups[0]["lr"], 0.025)
        self.assert_same_everywhere(flat(model))
        self.assert_same_everywhere(unused.weight)
        if st.rank() == 0:
            self.assertTrue(torch.equal(unused.weight, kept))

    def test_state_is_saved_and_loaded(self):
        for options in ({"outer": "nesterov"}, {"outer": "nesterov", "overlap": True},
                        {"weight": 3.0, "fragments": 2}):
            for steps in (8, 10):  # At a round's end, and within a round.
                model = net()
                each = st.LocalSteps(INNER["adamw"](model.parameters()),
                                     model.named_parameters(), every=4, **options)
                train(model, each, steps)
                saved = copy.deepcopy((model.state_dict(), each.state_dict()))
                train(model, each, 10, first=steps)
                each.finish()
                again = net(seed=9)
                other = st.LocalSteps(INNER["adamw"](again.parameters()),
                                      again.named_parameters(), every=4, **options)
                again.load_state_dict(saved[0])
                other.load_state_dict(saved[1])
                self.assertEqual(other.outer_round, 2)
                train(again, other, 10, first=steps)
                other.finish()
                self.assertEqual(other.outer_round, each.outer_round)
                self.assertTrue(torch.allclose(flat(model), flat(again), atol=1e-6))
                if st.size() < 3:
                    self.assertTrue(torch.equal(flat(model), flat(again)))

    def test_states_that_do_not_fit(self):
        model = net()
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(), every=4)
        train(model, each, 2)
        saved = each.state_dict()
        again = net()
        five = st.LocalSteps(INNER["sgd"](again.parameters()), again.named_parameters(), every=5)
        with self.assertRaisesRegex(ValueError, "saved after 2 of a round's 4 steps"):
            five.load_state_dict(saved)
        each.finish()
        five.load_state_dict(each.state_dict())
        wide = net(width=32)
        wider = st.LocalSteps(INNER["sgd"](wide.parameters()), wide.named_parameters(), every=4)
        with self.assertRaisesRegex(ValueError, "of other parameters"):
            wider.load_state_dict(each.state_dict())
        plain = INNER["sgd"](wide.parameters())
        wider.load_state_dict(plain.state_dict())
        train(wide, wider, 4)
        self.assertEqual(wider.outer_round, 1)


def split(vector):
    """The inverse of flat()."""
    ends, result = 0, []
    for each in net().parameters():
        result.append(vector[ends:ends + each.numel()])
        ends += each.numel()
    return result


class Disagreement(unittest.TestCase):
    """Each is the last test of a job with local steps."""

    def mismatch(self, words, every=4, steps=4, finish=False, **options):
        model = net()
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(),
                             every=every, **options)
        with self.assertRaisesRegex(errors.Mismatch, words):
            train(model, each, steps)
            if finish:
                each.finish()
        st.barrier()

    def test_settings(self):
        words = "every is . here and . there"
        self.mismatch(words, every=4 + st.rank())
        self.mismatch("outer is mean with .* here and nesterov|outer is nesterov .* and mean",
                      outer=("mean", "nesterov")[st.rank() % 2])

    def test_numbers_of_steps(self):
        for steps, words in (
                ((10, 14), "worker 0 calls finish.. after 10 steps, and worker 1 goes on after 12"),
                ((8, 12), "worker 0 calls finish.. after 8"),
                ((8, 9), "worker 1 is at step 9, .* and worker 0 at step 8")):
            self.mismatch(words, steps=steps[min(st.rank(), 1)], finish=True)
        self.mismatch("worker 1 is at step 9", steps=8 + min(st.rank(), 1), finish=True,
                      overlap=True)

    def test_states_of_several_times(self):
        model = net()
        each = st.LocalSteps(INNER["sgd"](model.parameters()), model.named_parameters(), every=4)
        train(model, each, 4)
        state = each.state_dict()
        if st.rank() == 1:
            state["outer"]["round"] = 7
        each.load_state_dict(state)
        with self.assertRaisesRegex(errors.Mismatch, "load what was saved at one time"):
            train(model, each, 1)
        st.barrier()


if __name__ == "__main__":
    work.run_tests(sys.argv[1:] or None)
    print("done", flush=True)
