# SPDX-License-Identifier: Apache-2.0
"""A training script in the style of BytePS: only its import byteps.torch knows about other
workers. It runs under bpslaunch as well as under stretto-launch.

    stretto-launch -n 2 -s 2 -- python3 examples/torch/byteps_digits.py
"""

import argparse

import byteps.torch as bps
import datasets
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(torch.nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = torch.nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.fc1 = torch.nn.Linear(128, 64)
        self.fc2 = torch.nn.Linear(64, 10)

    def forward(self, x):
        """Scores of the ten digits."""
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.relu(self.fc1(x.flatten(1)))
        return functional.log_softmax(self.fc2(x), dim=1)


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description="BytePS's calls, on handwritten digits")
    parser.add_argument("--batch-size", type=int, default=32, help="of each worker")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.02, help="of one worker; times the workers")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--fp16-pushpull", action="store_true",
                        help="gradients travel as 16-bit numbers")
    parser.add_argument("--no-cuda", action="store_true")
    return parser.parse_args()


def loaders(arguments):
    """(training, its sampler, testing, its sampler): each worker has a shard of both."""
    made = []
    for images, labels in datasets.digits():
        dataset = TensorDataset(images, labels)
        sampler = DistributedSampler(dataset, num_replicas=bps.size(), rank=bps.rank())
        made += [DataLoader(dataset, batch_size=arguments.batch_size, sampler=sampler), sampler]
    return made


def train(epoch, model, device, loader, sampler, optimizer, arguments):
    """One pass over this worker's shard."""
    model.train()
    sampler.set_epoch(epoch)
    for step, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if step % arguments.log_interval == 0 and bps.rank() == 0:
            print(f"Train Epoch: {epoch} [{step * len(data)}/{len(sampler)}]\t"
                  f"Loss: {loss.item():.6f}")


def metric_average(value, name):
    """The mean of a number over all workers."""
    return bps.push_pull(torch.tensor(value), name=name).item()


def test(model, device, loader, sampler):
    """Loss and accuracy on the test images, of which each worker evaluates its shard."""
    model.eval()
    loss, right = 0.0, 0.0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            loss += functional.nll_loss(output, target, reduction="sum").item()
            right += output.argmax(1).eq(target).sum().item()
    loss = metric_average(loss / len(sampler), "avg_loss")
    accuracy = metric_average(right / len(sampler), "avg_accuracy")
    if bps.rank() == 0:
        print(f"Test set: Average loss: {loss:.4f}, Accuracy: {accuracy:.4f}")


def main():
    """Trains and tests."""
    arguments = parse()
    bps.init()
    torch.manual_seed(arguments.seed)
    device = torch.device("cpu")
    if torch.cuda.is_available() and not arguments.no_cuda:
        torch.cuda.set_device(bps.local_rank())
        device = torch.device("cuda")
    torch.set_num_threads(1)
    training, training_sampler, testing, testing_sampler = loaders(arguments)

    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr * bps.size(),
                                momentum=arguments.momentum)
    bps.broadcast_parameters(model.state_dict(), root_rank=0)
    bps.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = bps.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(),
        compression=bps.Compression.fp16 if arguments.fp16_pushpull else bps.Compression.none)

    for epoch in range(1, arguments.epochs + 1):
        train(epoch, model, device, training, training_sampler, optimizer, arguments)
    test(model, device, testing, testing_sampler)


if __name__ == "__main__":
    main()
