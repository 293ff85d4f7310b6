# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer to predict the next character of a text.

    stretto-launch -n 2 -s 2 -- python3 examples/torch/characters.py

The text is the GNU General Public License, which every Debian has, or that of --text. The last
line of rank 0 is `bits_per_character=B seconds=S workers=N with=W mode=M`, on a tenth of the text
that is reserved for testing. An untrained model needs log2 of the number of distinct characters.
"""

import argparse
import math
import time

import datasets
import frameworks
import torch
from torch.nn import functional

_TEXT = "/usr/share/common-licenses/GPL-3"


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    frameworks.add_arguments(parser)
    parser.add_argument("--text", default=_TEXT, metavar="FILE", help=f"instead of {_TEXT}")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16, help="passages of a step, of all workers")
    parser.add_argument("--length", type=int, default=32, help="characters of a passage")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5e-3, help="learning rate at its highest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--save", metavar="FILE", help="rank 0 writes the trained model there, "
                        "for torch.load()")
    return parser.parse_args()


class Block(torch.nn.Module):
    """Attention to what came before, then a perceptron; each adds to its input."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.before_attention = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        self.perceptron = torch.nn.Sequential(
            torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
            torch.nn.Linear(4 * width, width))

    def forward(self, x, hidden):
        """`hidden` is true where a place must not be looked at."""
        y = self.before_attention(x)
        x = x + self.attention(y, y, y, attn_mask=hidden, need_weights=False)[0]
        return x + self.perceptron(x)


class Model(torch.nn.Module):
    """For each place of a passage, a score for every character that may come next."""

    def __init__(self, characters, length, width, layers):
        super().__init__()
        self.characters = torch.nn.Embedding(characters, width)
        self.places = torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(layers))
        self.scores = torch.nn.Sequential(torch.nn.LayerNorm(width),
                                          torch.nn.Linear(width, characters))

    def forward(self, passages):
        """Passages of at most the length that it was made for, one a row."""
        length = passages.shape[1]
        x = self.characters(passages) + self.places(torch.arange(length))
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        for block in self.blocks:
            x = block(x, hidden)
        return self.scores(x)


def loss_of(model, passages):
    """Mean cross-entropy, in nats a character: each passage is one longer than what is read."""
    scores = model(passages[:, :-1])
    return functional.cross_entropy(scores.flatten(0, 1), passages[:, 1:].flatten())


def passages_at(text, places, length):
    """The passages that begin at these places, one a row."""
    return text[places.unsqueeze(1) + torch.arange(length + 1)]


def train(model, optimizer, framework, text, arguments):
    """Trains; the learning rate rises over the first tenth, and then falls to 0."""
    rise = max(1, arguments.steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rise, 1 - step / arguments.steps))
    places = torch.Generator().manual_seed(arguments.seed)  # The same at all workers.
    for step in range(arguments.steps):
        batch = torch.randint(len(text) - arguments.length, (arguments.batch,), generator=places)
        mine = batch[framework.rank::framework.size]
        optimizer.zero_grad()
        loss = loss_of(model, passages_at(text, mine, arguments.length))
        loss.backward()
        optimizer.step()
        schedule.step()
        if framework.rank == 0 and (step + 1) % rise == 0:
            print(f"step {step + 1} bits {loss.item() / math.log(2):.2f}")
    framework.finish(optimizer)


def main():
    """Trains, tests and prints."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    text, characters, testing = datasets.characters(arguments.text)
    framework = frameworks.make(arguments)
    if arguments.batch < framework.size:
        raise SystemExit(f"--batch {arguments.batch} is less than one for each of the "
                         f"{framework.size} workers")
    torch.manual_seed(arguments.seed)
    model = Model(characters, arguments.length, arguments.width, arguments.layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.rate * framework.share_of_rate)
    model, optimizer = framework.wrap(model, optimizer)
    started = time.perf_counter()
    train(model, optimizer, framework, text[:testing], arguments)
    seconds = time.perf_counter() - started

    model.eval()
    places = torch.arange(testing, len(text) - arguments.length, arguments.length)
    with torch.no_grad():
        bits = loss_of(model, passages_at(text, places, arguments.length)).item() / math.log(2)
    if framework.rank == 0:
        if arguments.save:
            torch.save(model.state_dict(), arguments.save)
        print(f"bits_per_character={bits:.3f} seconds={seconds:.1f} {framework.told}")
    framework.close()


if __name__ == "__main__":
    main()
