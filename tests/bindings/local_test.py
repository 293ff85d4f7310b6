# SPDX-License-Identifier: Apache-2.0
"""stretto.torch.LocalSteps: its outer rules and fragments in this process, its errors, and jobs of
fixed size (local_worker.py) and elastic jobs (local_elastic_worker.py)."""

import os
import pathlib
import re
import tempfile
import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

import stretto.torch as st  # pylint: disable=wrong-import-position
from stretto.torch.local_sgd import outer, rounds  # pylint: disable=wrong-import-position
from stretto import errors  # pylint: disable=wrong-import-position

LONG = 300.0  # Seconds for all training of one job on a busy machine.


class Decisions(unittest.TestCase):

    def test_outer_steps_are_those_of_torchs_sgd(self):
        for name, options in (("mean", {}), ("nesterov", {"momentum": 0.9, "nesterov": True})):
            rule = outer.rule_of(name, 0.7, options.get("momentum"))
            weight = torch.nn.Parameter(torch.randn(100))
            sgd = torch.optim.SGD([weight], lr=0.7, **options)
            values, momentum = weight.detach().clone(), torch.zeros(100)
            for _ in range(5):
                weight.grad = torch.randn(100)
                rule.apply(values, momentum, weight.grad.clone())
                sgd.step()
                self.assertTrue(torch.allclose(values, weight, atol=1e-6))

    def test_usual_settings(self):
        self.assertEqual(outer.rule_of("mean", None, None)[:2], ("mean", 1.0))
        self.assertEqual(outer.rule_of("nesterov", None, None), ("nesterov", 0.7, 0.9))

    def test_turns(self):
        self.assertEqual(outer.due_after(100, 1), [100])
        self.assertEqual(outer.due_after(10, 3), [3, 6, 10])
        for every in range(1, 20):
            for fragments in range(1, every + 1):
                due = outer.due_after(every, fragments)
                self.assertEqual((len(due), due[-1]), (fragments, every))
                self.assertEqual(due, sorted(set(due)))
                self.assertGreater(due[0], 0)

    def test_fragments(self):
        self.assertEqual(outer.split([1, 1, 1, 1], 2), [2, 2])
        self.assertEqual(outer.split([9, 1, 1, 1], 3), [1, 1, 2])
        self.assertEqual(outer.split([1, 1, 9], 2), [2, 1])
        for sizes in ([0, 0, 0], [5, 1, 1, 7, 2, 2], [1] * 9):
            for parts in range(1, len(sizes) + 1):
                counts = outer.split(sizes, parts)
                self.assertEqual((len(counts), sum(counts)), (parts, len(sizes)))
                self.assertGreater(min(counts), 0)

    def test_who_is_not_in_step_is_named(self):
        one = rounds.Head(1, 3, 0, 4, 16, 0, 0)
        rounds.check({0: one, 2: one}, False)
        rounds.check({0: one, 2: one._replace(made=4, listens=1)}, True)
        rounds.check({0: one, 2: one._replace(turn=-1, open=0)}, True)
        for other, elastic in ((one._replace(round=2), True), (one._replace(made=12), False),
                               (one._replace(turn=-1), False)):
            with self.assertRaisesRegex(errors.Mismatch, "worker 2 .*all workers must make"):
                rounds.check({0: one, 2: other}, elastic)


class Refused(unittest.TestCase):

    def setUp(self):
        st.init()
        self.addCleanup(st.shutdown)
        self.model = torch.nn.Linear(2, 2)
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def refuses(self, words, kind=ValueError, sgd=None, every=4, **options):
        with self.assertRaisesRegex(kind, words):
            st.LocalSteps(sgd or self.sgd, every=every, **options)

    def test_settings(self):
        for every in (0, -1, 2.5, None):
            self.refuses("every is .*, wanted a whole number from 1", every=every)
        self.refuses("outer is 'adam', wanted one of mean, nesterov", outer="adam")
        self.refuses("outer_rate is 0, wanted a number above 0", outer_rate=0)
        self.refuses("momentum is for outer='nesterov'", momentum=0.9)
        self.refuses("momentum is 1, wanted", outer="nesterov", momentum=1)
        self.refuses("weight is -1, wanted a number from 0", weight=-1)
        self.refuses("weight is 'many', wanted", weight="many")
        self.refuses("fragments is 5, and a round has 4 steps", fragments=5)
        self.refuses("fragments is 3, and there are 2 parameters", fragments=3)
        self.refuses("overlap is 1, wanted True or False", overlap=1)
        self.refuses("exchange is 'star', wanted", exchange="star")
        self.refuses("compression_params: ", compression_params={"compressor": "zip"})
        self.refuses("compression is 'int8'", TypeError, compression="int8")

    def test_optimizers(self):
        self.refuses("the optimizer is a Linear", TypeError, sgd=self.model)
        for every in (1, 4):
            wrapped = st.LocalSteps(torch.optim.SGD(self.model.parameters(), lr=0.1), every=every)
            self.refuses("is a LocalSteps already; wrap the one of torch.optim", sgd=wrapped)
        sync = st.DistributedOptimizer(self.sgd, self.model.named_parameters())
        self.refuses("is a DistributedOptimizer already", sgd=sync)
        st.LocalSteps(self.sgd, every=4)
        with self.assertRaisesRegex(ValueError, "were wrapped again since"):
            sync.step()
        module = st.DistributedDataParallel(torch.nn.Linear(2, 2))
        self.refuses("is of a DistributedDataParallel",
                     sgd=torch.optim.SGD(module.parameters(), lr=0.1))

    def test_parameters(self):
        frozen = torch.nn.Linear(2, 2).requires_grad_(False)
        self.refuses("none of the optimizer's parameters requires a gradient",
                     sgd=torch.optim.SGD(frozen.parameters(), lr=0.1))
        complex_ = torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))
        self.refuses("parameter 'noname.0' is complex64, wanted a floating type",
                     sgd=torch.optim.SGD([complex_], lr=0.1))
        each = st.LocalSteps(self.sgd, self.model.named_parameters(), every=4)
        each.add_param_group({"params": list(frozen.requires_grad_().parameters())})
        with self.assertRaisesRegex(ValueError, "was not when LocalSteps was called"):
            each.step()
        with self.assertRaisesRegex(RuntimeError, "gradients stay with their worker"):
            each.synchronize()

    def test_alone_the_mean_changes_nothing(self):
        models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
        models[1].load_state_dict(models[0].state_dict())
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        optimizers[1] = st.LocalSteps(optimizers[1], models[1].named_parameters(), every=2)
        for model, optimizer in zip(models, optimizers):
            for step in range(5):
                optimizer.zero_grad()
                model(torch.ones(1, 2) * step).square().sum().backward()
                optimizer.step()
        optimizers[1].finish()
        self.assertEqual(optimizers[1].outer_round, 3)
        self.assertTrue(torch.equal(models[0].weight, models[1].weight))
        self.assertTrue(torch.equal(models[0].weight, optimizers[1].outer_values()["weight"]))

    def test_values_have_the_parameters_names(self):
        for every in (1, 2):
            for _ in range(2):  # The second optimizer has a scope of another name.
                each = st.LocalSteps(torch.optim.SGD(self.model.parameters(), lr=0.1),
                                     self.model.named_parameters(), every=every)
                each.step()
                self.assertEqual(sorted(each.outer_values()), ["bias", "weight"])

    def test_alone_nesterov_is_an_outer_optimizer(self):
        weight = torch.nn.Parameter(torch.zeros(3))
        each = st.LocalSteps(torch.optim.SGD([weight], lr=1.0), every=2, outer="nesterov")
        for _ in range(4):
            each.zero_grad()
            (-weight).sum().backward()
            each.step()
        each.finish()
        # 0.7 (2 + 0.9 2), and 0.7 (2 + 0.9 (2 + 0.9 2)).
        self.assertTrue(torch.allclose(weight, torch.full((3,), 0.7 * (3.8 + 5.42))))


class Jobs(jobs.PythonTest):

    def test_of_fixed_size(self):
        # Starting PyTorch takes longer than the work of these jobs.
        for workers, servers in ((2, 2), (3, 2), (3, 0)):
            with self.subTest(workers=workers, servers=servers):
                job = self.python("local_worker.py", workers=workers, servers=servers)
                self.assert_done(job, workers, LONG)


class Elastic(jobs.PythonTest):

    def ends(self, way, goes=-1):
        """The job's output: worker 1 was killed, a worker joined, worker `goes` has left, and all
        remaining workers have equal values."""
        with tempfile.TemporaryDirectory() as pipes:
            for seat in (0, 2):
                os.mkfifo(pathlib.Path(pipes) / f"{seat}")
            job = self.python("local_elastic_worker.py", way, goes, pipes, workers="1:3",
                              flags=("--restarts", 1))
            job.end(LONG)
        self.assertEqual(job.end(LONG), 0, job.output())
        output = job.output()
        self.assertRegex(output, r"\[worker 3\] in at round \d+")
        ends = re.findall(r"\] end (.*)", output)
        self.assertEqual(len(ends), 3 if goes < 0 else 2, output)
        self.assertEqual(len(set(ends)), 1, output)
        self.assertLess(float(ends[0].split()[2]), 0.2, output)  # Untrained: 0.35.
        self.assert_nobody_left()
        return output

    def test_one_is_killed_and_one_comes(self):
        for way in ("overlap", "fragments"):
            with self.subTest(way):
                self.ends(way)

    def test_one_that_is_told_to_go_leaves_at_a_rounds_end(self):
        output = self.ends("nesterov", goes=2)
        self.assertIn("[worker 2] stretto: this worker has left the job", output)
        self.assertNotRegex(output, "worker 2 is lost|lost worker 2")


if __name__ == "__main__":
    unittest.main()
