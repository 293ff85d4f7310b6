#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does training reach the same accuracy with a codec? Trains the PyTorch examples (a convolutional
net on digits, a transformer on characters) through real processes with every codec, with and
without error feedback, from several seeds, and if wanted at several learning rates and with
momentum elsewhere; writes one line a run to FILE and prints tables. Started again, it goes on where
it was.

  tools/bench/converge/codecs.py --out runs.csv --seeds 3
  tools/bench/converge/codecs.py --out runs.csv --tasks digits --momenta default,0,worker \\
    --rates 0.05,0.025,0.0125 --codecs "lossless;onebit,scaling=true"
  tools/bench/converge/codecs.py --out runs.csv --short
"""

import argparse
import csv
import itertools
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "torch"
CODECS = ("lossless", "fp16", "int8", "onebit,scaling=true", "topk,k=0.01", "topk,k=0.1",
          "randomk,k=0.1", "dithering,k=1", "dithering,k=7")
FEEDBACK = "ef=vanilla"
SETTING = ("task", "codec", "feedback", "rate", "momentum", "workers", "seed", "short")
COLUMNS = (*SETTING, "result", "seconds")
# Of each: the program, its flags in the short form, what it tells last, and the results' name.
TASKS = {
    "digits": ("digits.py", ("--epochs", "2"), r"test_accuracy=(\S+)", "test accuracy"),
    "characters": ("characters.py", ("--steps", "20", "--width", "16", "--layers", "1"),
                   r"bits_per_character=(\S+)", "bits a character"),
}
PATIENCE_S = 1800


def arguments(words):
    """Of the command line."""
    def listed(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE",
                        help="a line for each run, as CSV")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "bin",
                        help="folder of stretto-launch")
    parser.add_argument("--tasks", type=listed, default=list(TASKS))
    parser.add_argument("--codecs", type=lambda text: text.split(";"), default=list(CODECS),
                        help="with semicolons between; lossless is none")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each, from seeds 1, 2 ...")
    parser.add_argument("--feedback", type=listed, default=["no", "yes"],
                        help="error feedback: no, yes or both with a comma between")
    parser.add_argument("--rates", type=listed, default=["default"], metavar="R,...",
                        help="learning rates; default: the examples' own")
    parser.add_argument("--momenta", type=listed, default=["default"], metavar="M,...",
                        help="default: the examples' own; a number: that, in the optimizer; "
                        "worker: none there, but Nesterov's before error feedback and codec")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--short", action="store_true",
                        help="a few steps from one seed with two codecs, to see whether all works")
    found = parser.parse_args(words)
    unknown = [task for task in found.tasks if task not in TASKS]
    if unknown:
        parser.error(f"--tasks: wanted some of {', '.join(TASKS)}, found {unknown[0]}")
    if found.momenta != ["default"] and found.tasks != ["digits"]:
        parser.error("--momenta: only digits.py has momentum; add --tasks digits")
    if not (found.programs / "stretto-launch").exists():
        parser.error(f"--programs: there is no stretto-launch in {found.programs}; build it first")
    if found.short:
        found.codecs, found.seeds = ["lossless", "onebit,scaling=true"], 1
    return found


def settings_of(found):
    """Of every run what SETTING names; seeds are outermost, so that what there is when it is cut
    off is of all codecs alike."""
    short = "yes" if found.short else "no"
    for seed, task, momentum, rate, codec, feedback in itertools.product(
            range(1, found.seeds + 1), found.tasks, found.momenta, found.rates, found.codecs,
            found.feedback):
        if codec != "lossless" or (feedback == "no" and momentum != "worker"):
            yield task, codec, feedback, rate, momentum, found.workers, seed, short


def command_of(setting, found):
    """What starts the run. Every gradient has the codec, however small."""
    task, codec, feedback, rate, momentum, workers, seed, short_form = setting
    rule = "none" if codec == "lossless" else codec
    if feedback == "yes":
        rule += f",{FEEDBACK}"
    if momentum == "worker":
        rule, momentum = f"{rule},momentum=nesterov", "0"
    program, short, _, _ = TASKS[task]
    words = [found.programs / "stretto-launch", "--workers", workers, "--servers", 2,
             "--start-timeout", PATIENCE_S,
             "--env", f"STRETTO_CODEC=*={rule}", "--env", "STRETTO_CODEC_MIN_BYTES=0", "--",
             sys.executable, EXAMPLES / program, "--seed", seed]
    words += () if rate == "default" else ("--rate", rate)
    words += () if momentum == "default" else ("--momentum", momentum)
    return [str(word) for word in (*words, *(short if short_form == "yes" else ()))]


def run(setting, found):
    """The run's row; ends the program with all that was said if the run fails."""
    task = setting[0]
    environment = {**os.environ, "PYTHONPATH": str(found.programs.parent / "python")}
    command = command_of(setting, found)
    try:
        done = subprocess.run(command, text=True, check=False, env=environment, timeout=PATIENCE_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, outcome = done.stdout, f"ended with status {done.returncode}"
        fine = done.returncode == 0
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        outcome, fine = f"was not done after {PATIENCE_S} s", False
    result = re.search(TASKS[task][2], said)
    seconds = re.search(r"seconds=(\S+)", said)
    if not fine or result is None or seconds is None:
        sys.exit(f"{' '.join(command)}\n{said}\n"
                 f"codecs.py: a run {outcome}; wanted status 0, a result and seconds=; what it "
                 "said is above")
    return dict(zip(COLUMNS, (*map(str, setting), result.group(1), seconds.group(1))))


def rows_in(path):
    """The runs that the file has."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or COLUMNS) != COLUMNS:
            sys.exit(f"codecs.py: {path} has the columns {','.join(reader.fieldnames)}, wanted "
                     f"{','.join(COLUMNS)}; name another file with --out")
        return list(reader)


def make_runs(found):
    """Adds to the file what it lacks."""
    done = {tuple(row[name] for name in SETTING) for row in rows_in(found.out)}
    for setting in settings_of(found):
        if tuple(map(str, setting)) in done:
            continue
        row = run(setting, found)
        is_new = not found.out.exists() or found.out.stat().st_size == 0
        with open(found.out, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)
        print(" ".join(row.values()), flush=True)


def group_of(row):
    """What rows of one table have in common."""
    return row["task"], row["momentum"], row["workers"], row["short"]


def columns_of(mine):
    """Of a group's table, each its heading and what its rows say: without and with error feedback,
    or if there are several learning rates, each of them."""
    rates = list(dict.fromkeys(row["rate"] for row in mine))
    if len(rates) > 1:
        return [(rate, {"rate": rate}) for rate in rates]
    return [(TASKS[mine[0]["task"]][3], {"feedback": "no"}),
            ("with error feedback", {"feedback": "yes"})]


def table(mine):
    """Markdown of a group's rows: the median, least and most of each cell's seeds."""

    def cell(wanted):
        numbers = [float(row["result"]) for row in mine if wanted.items() <= row.items()]
        if not numbers:
            return ""
        return f"{statistics.median(numbers):.3f} ({min(numbers):.3f} to {max(numbers):.3f})"

    columns = columns_of(mine)
    by_rate = "rate" in columns[0][1]
    lines = [f"| codec | {' | '.join(heading for heading, _ in columns)} |",
             "|---" * (1 + len(columns)) + "|"]
    for codec, feedback in dict.fromkeys(
            (row["codec"], row["feedback"] if by_rate else "any") for row in mine):
        own = {"codec": codec} | ({"feedback": feedback} if by_rate else {})
        name = f"{codec},{FEEDBACK}" if feedback == "yes" else codec
        cells = " | ".join(cell(own | wanted) for _, wanted in columns)
        lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines)


def main(words):
    """All runs, then the tables."""
    found = arguments(words)
    found.out.parent.mkdir(parents=True, exist_ok=True)
    make_runs(found)
    rows = rows_in(found.out)
    for group in dict.fromkeys(map(group_of, rows)):
        task, momentum, workers, short = group
        form = ", short form" if short == "yes" else ""
        print(f"\n{task}, momentum: {momentum}, {workers} workers{form}\n\n"
              f"{table([row for row in rows if group_of(row) == group])}")


if __name__ == "__main__":
    main(sys.argv[1:])
