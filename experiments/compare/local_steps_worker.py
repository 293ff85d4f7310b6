# SPDX-License-Identifier: Apache-2.0
"""A worker of experiments/compare/local_steps: trains until the target is reached or time is up.
Rank 0's clock decides for all, at the end of a round."""

import argparse
import json
import pathlib
import sys
import time

import torch
import stretto.torch as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))

import datasets  # pylint: disable=wrong-import-position

TARGETS = {"digits": 0.97, "wide": 0.97}
BATCH = 32
LOOK = 20  # Steps between checks, at least.


def model_of(task):
    """The model, equal at all workers."""
    torch.manual_seed(1)
    if task == "digits":
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 1100), torch.nn.ReLU(),
        torch.nn.Linear(1100, 1100), torch.nn.ReLU(), torch.nn.Linear(1100, 10))


def reached(model, optimizer, images, labels):
    """The accuracy with the values of the last round."""
    values = {name: value for name, value in optimizer.outer_values().items()}
    mine = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(values)
    with torch.no_grad():
        share = (model(images).argmax(1) == labels).double().mean().item()
    model.load_state_dict(mine)
    return share


def main():
    """Prints the result at rank 0."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--task")
    parser.add_argument("--every", type=int)
    parser.add_argument("--limit-s", type=float)
    parser.add_argument("--outer")
    parser.add_argument("--codec", default="")
    parser.add_argument("--overlap", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    st.init(lazy=False)
    (images, labels), test = datasets.digits()
    model = model_of(arguments.task)
    options = {"outer": arguments.outer, "overlap": arguments.overlap}
    if arguments.codec:
        options["compression_params"] = {"compressor": arguments.codec, "ef": "vanilla"}
    optimizer = st.LocalSteps(torch.optim.AdamW(model.parameters(), lr=0.001),
                              model.named_parameters(), every=arguments.every, **options)
    torch.manual_seed(100 + st.rank())
    step, clock, share, best, is_over, computed = 0, 0.0, 0.0, 0.0, False, 0.0
    seconds = None
    st.barrier()
    while not is_over:
        began = time.monotonic()
        chosen = torch.randint(len(images), (BATCH,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
        computed += time.monotonic() - began
        optimizer.step()
        clock += time.monotonic() - began
        step += 1
        if step % max(LOOK, arguments.every):
            continue
        if st.rank() == 0:
            share = reached(model, optimizer, *test)
            best = max(best, share)
            if share >= TARGETS[arguments.task] and seconds is None:
                seconds = clock
        is_over = st.broadcast(torch.tensor([float(
            seconds is not None or clock > arguments.limit_s)]), 0, name="over").item() > 0
    if st.rank() == 0:
        print("result", json.dumps({
            "seconds": seconds and round(seconds, 2), "steps": step, "best": round(best, 4),
            "computing": round(computed / clock, 3)}), flush=True)


main()
