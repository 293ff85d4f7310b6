# SPDX-License-Identifier: Apache-2.0
"""A worker of experiments/compare/elastic: trains a model of one task, in an elastic job of Stretto
or under torchrun with checkpoints, as users of each do. It records each step in its own file, which
stays complete when the worker is killed."""

import argparse
import json
import math
import os
import pathlib
import sys
import time

import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))

import characters  # pylint: disable=wrong-import-position
import datasets  # pylint: disable=wrong-import-position
import digits  # pylint: disable=wrong-import-position

WORKERS = 3
_FIRST_GROUP = 100_000


class Digits:
    """Handwritten digits, and a convolutional net."""

    batch = 16
    rate = 0.05

    def __init__(self):
        (self._images, self._labels), self._testing = datasets.digits()
        self.samples = len(self._images)

    build = staticmethod(digits.build)

    def optimizer(self, model):
        return torch.optim.SGD(model.parameters(), lr=self.rate, momentum=0.9)

    def loss(self, model, chosen):
        return functional.cross_entropy(model(self._images[chosen]), self._labels[chosen])

    def test(self, model):
        images, labels = self._testing
        return functional.cross_entropy(model(images), labels).item()


class Characters:
    """Passages of a text, and a small transformer."""

    batch = 8
    rate = 3e-3
    length, stride = 32, 16

    def __init__(self):
        text, self._kinds, testing = datasets.characters("/usr/share/common-licenses/GPL-3")
        self._text = text
        self._places = torch.arange(0, testing - self.length - 1, self.stride)
        self._testing = torch.arange(testing, len(text) - self.length, self.length)
        self.samples = len(self._places)

    def build(self):
        return characters.Model(self._kinds, self.length, width=64, layers=2)

    def optimizer(self, model):
        return torch.optim.Adam(model.parameters(), lr=self.rate)

    def loss(self, model, chosen):
        return self._loss(model, self._places[chosen])

    def test(self, model):
        return self._loss(model, self._testing).item() / math.log(2)

    def _loss(self, model, places):
        return characters.loss_of(model, characters.passages_at(self._text, places, self.length))


class ResNet:
    """Synthetic pictures of ten kinds, and torchvision's ResNet-18."""

    batch = 8
    rate = 0.02
    samples, pixels, kinds = 480, 32, 10

    def __init__(self):
        made = torch.Generator().manual_seed(1)
        patterns = torch.randn(self.kinds, 3, self.pixels, self.pixels, generator=made)
        self._labels = torch.arange(self.samples + 200) % self.kinds
        noise = torch.randn(len(self._labels), 3, self.pixels, self.pixels, generator=made)
        self._images = 0.3 * patterns[self._labels] + noise

    @staticmethod
    def build():
        import torchvision  # pylint: disable=import-outside-toplevel
        return torchvision.models.resnet18(weights=None, num_classes=ResNet.kinds)

    def optimizer(self, model):
        return torch.optim.SGD(model.parameters(), lr=self.rate, momentum=0.9)

    def loss(self, model, chosen):
        return functional.cross_entropy(model(self._images[chosen]), self._labels[chosen])

    def test(self, model):
        return self.loss(model, torch.arange(self.samples, len(self._labels))).item()


TASKS = {"digits": Digits, "characters": Characters, "resnet18": ResNet}


class Account:
    """The record of this process, a line for each step."""

    def __init__(self, folder):
        path = pathlib.Path(folder) / f"steps-{os.getpid()}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, **what):
        os.write(self._file, (json.dumps(what | {"at": time.monotonic()}) + "\n").encode())

    def step(self, epoch, steps, chosen):
        self.note(epoch=epoch, steps=steps, chosen=chosen.tolist())


def rate_of(task, steps, arguments):
    """The learning rate: falls to a twentieth over the epochs."""
    all_steps = arguments.epochs * task.samples / (task.batch * WORKERS)
    return task.rate * max(0.05, 1 - steps / all_steps)


def make_step(task, model, optimizer, chosen, rate):
    """Makes one step, in place."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    task.loss(model, chosen).backward()
    optimizer.step()


def tell(task, model, account, steps):
    """Records the result at the end."""
    model.eval()
    with torch.no_grad():
        account.note(loss=task.test(model), steps=steps)


def by_stretto(task, arguments, account):
    """As docs/ELASTIC.md describes, with the same samples a step for any number of workers."""
    import stretto.torch as st  # pylint: disable=import-outside-toplevel
    st.init()
    model = task.build()
    sampler = st.elastic.ElasticSampler(range(task.samples), seed=arguments.seed * 1000)
    loader = torch.utils.data.DataLoader(torch.arange(task.samples),
                                         batch_sampler=sampler.batches(task.batch))
    optimizer = st.DistributedOptimizer(task.optimizer(model), model.named_parameters(),
                                        sampler=sampler)
    state = st.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, epoch=0,
                                  steps=0)

    @st.elastic.run
    def train(state):
        model.train()
        while state.epoch < arguments.epochs:
            for index, chosen in enumerate(loader):
                make_step(task, model, optimizer, chosen, rate_of(task, state.steps, arguments))
                sampler.record_batch(index, task.batch)
                state.steps += 1
                account.step(state.epoch, state.steps, chosen)
                if state.steps % arguments.checkpoint_every == 0:
                    state.commit()
                else:
                    state.check_host_updates()
            state.epoch += 1
            sampler.set_epoch(state.epoch)

    train(state)
    if st.rank() == 0:
        tell(task, model, account, state.steps)
    st.shutdown()


def by_torchrun(task, arguments, account):
    """DistributedDataParallel; rank 0 writes a checkpoint periodically, from which all workers
    continue after a restart by torchrun."""
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(task.build())
    optimizer = task.optimizer(model)
    path = pathlib.Path(arguments.folder) / "checkpoint"
    first = steps = within = 0
    if path.exists():
        kept = torch.load(path)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        first, within, steps = kept["epoch"], kept["within"], kept["steps"]
    sampler = torch.utils.data.DistributedSampler(range(task.samples), seed=arguments.seed * 1000)
    for epoch in range(first, arguments.epochs):
        sampler.set_epoch(epoch)
        batches = torch.tensor(list(sampler)).split(task.batch)
        for index in range(within, len(batches)):
            make_step(task, model, optimizer, batches[index], rate_of(task, steps, arguments))
            steps += 1
            account.step(epoch, steps, batches[index])
            if dist.get_rank() == 0 and steps % arguments.checkpoint_every == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "epoch": epoch, "within": index + 1, "steps": steps}, f"{path}.new")
                os.rename(f"{path}.new", path)
        within = 0
    if dist.get_rank() == 0:
        tell(task, model.module, account, steps)
    dist.barrier()


def main():
    """Trains."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--by", choices=("stretto", "torchrun"), required=True)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--checkpoint-every", type=int, required=True)
    parser.add_argument("--folder", required=True)
    arguments = parser.parse_args()
    if os.geteuid() == 0:
        os.setgid(_FIRST_GROUP + os.getpid())  # Packet filter rules identify it by its group.
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    by = {"stretto": by_stretto, "torchrun": by_torchrun}[arguments.by]
    by(TASKS[arguments.task](), arguments, Account(arguments.folder))


if __name__ == "__main__":
    main()
