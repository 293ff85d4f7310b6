# SPDX-License-Identifier: Apache-2.0
"""How long a training step of torchvision's ResNet-18 takes, on random images.

    stretto-launch -n 2 -s 2 -- python3 examples/torch/resnet.py --with stretto

Prints a line `model=resnet18 workers=N with=W mode=M steps=S step_ms=median (quartiles)`.
"""

import argparse
import statistics
import time

import frameworks
import torch
import torchvision


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    frameworks.add_arguments(parser)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=3, help="steps that are not counted")
    parser.add_argument("--batch", type=int, default=4, help="images of each worker")
    parser.add_argument("--pixels", type=int, default=64, help="width and height of an image")
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--tiny", action="store_true",
                        help="a perceptron of 64-32-10 instead, for the cost of a step itself")
    return parser.parse_args()


def build(arguments):
    """The model, and a batch for it."""
    if arguments.tiny:
        model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(),
                                    torch.nn.Linear(32, 10))
        return model, torch.randn(arguments.batch, 64)
    model = torchvision.models.resnet18(weights=None)
    return model, torch.randn(arguments.batch, 3, arguments.pixels, arguments.pixels)


def main():
    """Trains and prints."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    framework = frameworks.make(arguments)
    torch.manual_seed(framework.rank)
    model, inputs = build(arguments)
    labels = torch.randint(0, 10, (arguments.batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    model, optimizer = framework.wrap(model, optimizer)

    times = []
    for step in range(arguments.warm_up + arguments.steps):
        started = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        if step >= arguments.warm_up:
            times.append((time.perf_counter() - started) * 1000)
    framework.finish(optimizer)
    slowest = framework.mean(statistics.median(times))
    if framework.rank == 0:
        low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
        print(f"model={'tiny' if arguments.tiny else 'resnet18'} {framework.told} "
              f"steps={arguments.steps} step_ms={slowest:.2f} ({low:.2f} to {high:.2f})")
    framework.close()


if __name__ == "__main__":
    main()
