# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional net on handwritten digits, each worker on its share of them.

    stretto-launch -n 2 -s 2 -- python3 examples/torch/digits.py --mode eager
    stretto-launch -n 2 -s 2 --checkpoint run -- python3 examples/torch/digits.py

With --checkpoint there is one after each epoch, from which the next start goes on. The last line
of rank 0 is `test_accuracy=A seconds=S workers=N with=W mode=M`.
"""

import argparse
import itertools
import time

import datasets
import frameworks
import torch
from torch.nn import functional


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    frameworks.add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64, help="images of a step, of all workers")
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate at the start")
    parser.add_argument("--momentum", type=float, default=0.9, help="of the optimizer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--data", help="another file of digits")
    parser.add_argument("--records", metavar="FOLDER", help="write the digits to a record file "
                        "there, and read them from it while training")
    parser.add_argument("--magnify", type=int, default=1, metavar="N",
                        help="with --records: each pixel becomes N x N there; 256 makes 6 GB")
    return parser.parse_args()


def build():
    """The model."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def batches(count, size, epoch, framework, seed):
    """This worker's indices for each step. All workers draw the same order, and each takes its
    part of every batch: parts differ as little as possible, and their number is equal."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed * 1000 + epoch))
    for first in range(0, count - size + 1, size):
        yield order[first:first + size][framework.rank::framework.size]


def from_memory(images, labels, framework, arguments):
    """A function that gives this worker's (images, labels) for each step of an epoch."""
    def epoch_of(epoch):
        for mine in batches(len(images), arguments.batch, epoch, framework, arguments.seed):
            yield images[mine], labels[mine]
    epoch_of.kept = {}
    return epoch_of


def from_records(images, labels, framework, arguments):
    """The same, read from a file while training; here it is written first."""
    from stretto.input import Reader  # pylint: disable=import-outside-toplevel
    path = datasets.write_digits(images, labels, arguments.records, arguments.magnify)
    reader = Reader(
        path, format="tfrecord", shuffle=True, seed=arguments.seed, shuffle_block_bytes=1,
        rank=framework.rank, world=framework.size, even=True,
        batch=max(1, arguments.batch // framework.size), decode=datasets.decode_digit,
        decode_threads="auto")
    steps = len(images) // arguments.batch

    def epoch_of(_):
        for samples in itertools.islice(iter(reader), steps):
            pictures, digits = zip(*samples)
            yield torch.stack(pictures), torch.tensor(digits)
        reader.next_epoch()  # The same number of steps at all workers.
    epoch_of.kept = {"reader": reader}
    return epoch_of


def train(model, optimizer, framework, epoch_of, steps_an_epoch, arguments):
    """Trains, with a learning rate that falls to 0."""
    steps = arguments.epochs * steps_an_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    begun = framework.restore(schedule=schedule, **epoch_of.kept)
    for epoch in range(begun, arguments.epochs):
        for mine, wanted in epoch_of(epoch):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(mine), wanted)
            loss.backward()
            optimizer.step()
            schedule.step()
        if framework.rank == 0:
            print(f"epoch {epoch + 1} loss {loss.item():.3f}")
        framework.checkpoint(epoch + 1)
    framework.finish(optimizer)


def main():
    """Trains, tests and prints."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)  # Then Stretto adds in the order of ranks, too.
    framework = frameworks.make(arguments)
    if arguments.batch < framework.size:
        raise SystemExit(f"--batch {arguments.batch} is less than one for each of the "
                         f"{framework.size} workers")
    if not 1 <= arguments.magnify <= 1024:
        raise SystemExit(f"--magnify {arguments.magnify}: wanted a number from 1 to 1024")
    (images, labels), (test_images, test_labels) = datasets.digits(arguments.data)

    torch.manual_seed(arguments.seed)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.rate * framework.share_of_rate,
                                momentum=arguments.momentum)
    model, optimizer = framework.wrap(model, optimizer)
    started = time.perf_counter()
    source = from_records if arguments.records else from_memory
    train(model, optimizer, framework, source(images, labels, framework, arguments),
          len(images) // arguments.batch, arguments)
    seconds = time.perf_counter() - started

    model.eval()
    with torch.no_grad():
        right = (model(test_images).argmax(1) == test_labels).float().mean().item()
    if framework.rank == 0:
        print(f"test_accuracy={right:.3f} seconds={seconds:.1f} {framework.told}")
    framework.close()


if __name__ == "__main__":
    main()
