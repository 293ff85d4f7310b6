# SPDX-License-Identifier: Apache-2.0
"""The data sets of the examples, without downloads: pictures of digits from this repository, and a
text that every Debian has. This file does not depend on the number of workers.
"""

import math
import os
import pathlib
import sys

import numpy
import torch

_DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits" / "data" / "digits.csv"
_PIXELS = 8
_BRIGHTEST = 16.0
_EVERY = 5  # Every 5th line is for testing, as in the C++ example.
_LEAST_CHARACTERS = 4096


def _read(path, what, flag):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"cannot read the {what}: {error}; name another by {flag} FILE")


def digits(path=None):
    """(images, labels) for training and (images, labels) for testing: 1 x 8 x 8 pixels from 0 to
    1, and integers from 0 to 9. Ends the program if the file cannot be read."""
    path = path or _DIGITS
    rows = []
    for number, line in enumerate(_read(path, "digits", "--data").splitlines(), start=1):
        fields = line.split(",")
        if len(fields) != _PIXELS * _PIXELS + 1 or not all(map(str.isdecimal, fields)):
            sys.exit(f"{path}:{number}: wanted {_PIXELS * _PIXELS} pixels and a digit, as whole "
                     "numbers with commas between them")
        rows.append([int(field) for field in fields])
    if len(rows) < _EVERY:
        sys.exit(f"{path} has {len(rows)} lines; there must be at least {_EVERY}")
    table = torch.tensor(rows)
    images = (table[:, :-1] / _BRIGHTEST).reshape(-1, 1, _PIXELS, _PIXELS)
    labels = table[:, -1]
    testing = torch.arange(1, len(rows) + 1) % _EVERY == 0
    return (images[~testing], labels[~testing]), (images[testing], labels[testing])


def write_digits(images, labels, folder, magnify=1):
    """Writes the samples as a TFRecord file to `folder`: 8 N x 8 N pixels, where N is `magnify`,
    and a digit, one byte each. Returns its path. Several workers may write at the same time: the
    file appears atomically."""
    from stretto.input import write_tfrecord  # pylint: disable=import-outside-toplevel
    path = pathlib.Path(folder) / "digits-train.tfrecord"
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    pixels = (images.squeeze(1) * _BRIGHTEST).to(torch.uint8).numpy()
    records = (picture.repeat(magnify, axis=0).repeat(magnify, axis=1).tobytes() + bytes([label])
               for picture, label in zip(pixels, labels.tolist()))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tfrecord(unfinished, records)
        unfinished.rename(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        sys.exit(f"cannot write the digits: {error}; name another folder by --records")
    return path


def decode_digit(record):
    """(image, label) of a record that write_digits wrote: each pixel is the mean of its
    magnified square. Thread: any."""
    pixels = numpy.frombuffer(record, numpy.uint8)[:-1]
    magnify = math.isqrt(pixels.size) // _PIXELS
    picture = pixels.reshape(_PIXELS, magnify, _PIXELS, magnify).mean(axis=(1, 3))
    return torch.from_numpy(picture / _BRIGHTEST).float().unsqueeze(0), record[-1]


def characters(path):
    """The text as a number from 0 for each character; the number of different characters; and the
    index where the test part, the last tenth, begins. Ends the program if the file cannot be
    read."""
    text = _read(path, "text", "--text")
    if len(text) < _LEAST_CHARACTERS:
        sys.exit(f"{path} has {len(text)} characters; there must be at least {_LEAST_CHARACTERS}")
    alphabet = {character: number for number, character in enumerate(sorted(set(text)))}
    encoded = torch.tensor([alphabet[character] for character in text])
    return encoded, len(alphabet), len(text) - len(text) // 10
