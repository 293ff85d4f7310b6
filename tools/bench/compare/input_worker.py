# SPDX-License-Identifier: Apache-2.0
"""One worker of the job that tools/bench/compare/input measures: it trains a perceptron on files,
each of them a sample, with Stretto's reader or with PyTorch's DataLoader, and pushes and pulls all
gradients. Rank 0 prints a line of JSON.
"""

import argparse
import json
import pathlib
import resource
import time

import numpy
import torch

import stretto.torch as st
from stretto.input import Reader

CLASSES = 10
KNOBS = {"stretto": {}, "fixed": {"tune": False, "depth": 1, "read_bytes": 131072}}


class Files(torch.utils.data.Dataset):
    """What DataLoader's workers read: a file at a time, through the page cache."""

    def __init__(self, paths, features):
        self.paths = paths
        self.features = features

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return self.features(file.read())


class Features:
    """Some bytes of a sample, as a crop leaves. Both ways do this where they read: DataLoader in
    its processes."""

    def __init__(self, width):
        self.width = width

    def __call__(self, sample):
        return torch.from_numpy(numpy.frombuffer(sample, numpy.uint8, self.width).copy())


class ByReader:
    """Stretto's reader, past the page cache."""

    def __init__(self, paths, features, arguments):
        self.reader = Reader(paths, format="files", shuffle=True, seed=1, rank=st.rank(),
                             world=st.size(), even=True, batch=arguments.batch, decode=features,
                             direct=not arguments.cached, **KNOBS[arguments.way])

    def __iter__(self):
        return map(torch.stack, self.reader)

    def told(self):
        """What it found."""
        depth, read_bytes = self.reader.knobs()
        return {"depth": depth, "read_bytes": read_bytes, "method": self.reader.method,
                "log": self.reader.tuning_log().splitlines()}


class ByLoader:
    """PyTorch's DataLoader with so many processes."""

    def __init__(self, paths, features, arguments):
        files = Files(paths, features)
        sampler = torch.utils.data.DistributedSampler(files, st.size(), st.rank(), seed=1,
                                                      drop_last=True)
        self.loader = torch.utils.data.DataLoader(
            files, batch_size=arguments.batch, sampler=sampler,
            num_workers=int(arguments.way.removeprefix("loader")))

    def __iter__(self):
        return iter(self.loader)

    def told(self):
        """Nothing to be told."""
        return {}


def processor_seconds():
    """Of this process and of those that it started and that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in
               map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def train(batches, hidden, width):
    """Through one epoch: (samples, seconds, seconds of them spent waiting for data)."""
    model = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(),
                                torch.nn.Linear(hidden, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = st.DistributedOptimizer(optimizer, model.named_parameters())
    samples, waited = 0, 0.0
    started = asked = time.perf_counter()
    for batch in batches:
        waited += time.perf_counter() - asked
        inputs = batch.float().div_(255)
        labels = batch[:, 0].long() % CLASSES
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        samples += len(batch)
        asked = time.perf_counter()
    return samples, asked - started, waited


def main():
    """Trains and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--way", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--hidden", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--cached", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    st.init()
    torch.manual_seed(1)
    paths = sorted(arguments.folder.iterdir())
    size = paths[0].stat().st_size
    make = ByLoader if arguments.way.startswith("loader") else ByReader
    batches = make(paths, Features(arguments.width), arguments)
    before = processor_seconds()
    samples, seconds, waited = train(batches, arguments.hidden, arguments.width)
    told = batches.told()
    del batches  # DataLoader's processes end.
    if st.rank() == 0:
        print(json.dumps({"way": arguments.way, "samples": samples, "seconds": seconds,
                          "waited_s": waited, "gb_per_s": samples * size / seconds / 1e9,
                          "cpu_s": processor_seconds() - before, **told}))
    st.shutdown()


if __name__ == "__main__":
    main()
