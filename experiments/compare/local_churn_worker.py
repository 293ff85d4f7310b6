# SPDX-License-Identifier: Apache-2.0
"""A worker of experiments/compare/local_churn: computes until the given second of the clock, or
until it must leave. It prints the fraction of its time that it computed, and a digest of its values
after each round."""

import argparse
import atexit
import hashlib
import json
import os
import statistics
import time

import torch
import stretto.torch as st


def main():
    """Prints digests by round, and the result at the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--until", type=float)
    parser.add_argument("--every", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    st.init(lazy=False)
    torch.manual_seed(os.getpid())
    width = arguments.width
    model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, 10))
    optimizer = st.LocalSteps(torch.optim.AdamW(model.parameters(), lr=0.001),
                              model.named_parameters(), every=arguments.every, overlap=True,
                              compression_params={"compressor": "int8", "ef": "vanilla"})
    known = {"steps": 0, "computing": 0.0, "seconds": 0.0}
    atexit.register(lambda: print("result", json.dumps(known), flush=True))
    teacher = torch.randn(64, 10, generator=torch.Generator().manual_seed(3))
    last, began, inner = None, None, []
    while time.time() < arguments.until:
        before = time.monotonic()
        inputs = torch.randn(arguments.batch, 64)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), (inputs @ teacher).argmax(1)).backward()
        computed = time.monotonic() - before
        optimizer.step()
        now = time.monotonic()
        # The inner optimizer computes, too: its time counts up to its median.
        inner.append(now - before - computed)
        computed += min(inner[-1], statistics.median(inner[-50:]))
        if last is None:
            # The first step gets the peers' state, and waits for their round.
            last, began = optimizer.outer_round, now
            known["parameters"] = sum(each.numel() for each in model.parameters())
            continue
        known["steps"] += 1
        known["computing"] += computed
        known["seconds"] = now - began
        if optimizer.outer_round != last:
            last = optimizer.outer_round
            before = time.monotonic()
            digest = hashlib.sha256()
            for value in optimizer.outer_values().values():
                digest.update(value.detach().contiguous().numpy().tobytes())
            print("round", json.dumps({"round": last, "digest": digest.hexdigest()[:16]}),
                  flush=True)
            began += time.monotonic() - before  # Excludes the measurement.


main()
