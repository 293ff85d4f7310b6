#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the runs that converge.py made, and the numbers that they show as CSV:

  plot.py DIR docs/results/NAME     reads DIR/runs.csv and DIR/curves.jsonl, writes NAME-*.png, .csv
  plot.py RUNS.csv docs/results/NAME    the figure NAME-rates.png alone, of a file that was kept
"""

import csv
import json
import math
import pathlib
import statistics
import sys

import cells
import protocol
import tables

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker
except ImportError as missing:
    raise SystemExit("plot.py needs matplotlib; on Debian: apt-get install python3-matplotlib"
                     ) from missing

SHOWN = tuple(protocol.Scheme(*words) for words in (
    ("sync",), ("eager",), ("bounded",), ("async",), ("async", "inverse"),
    ("async", "inverse_root"), ("async", "relative"), ("async", "compensated"), ("eager_async",),
    ("eager_async", "inverse"), ("eager_async", "inverse_root"), ("eager_async", "relative"),
    ("eager_async", "compensated")))
DRAWN = tuple(scheme for scheme in SHOWN if scheme.mode in protocol.ROUNDS + ("bounded",)
              or scheme.rule in ("constant", "inverse_root", "relative"))  # As curves.
COLOURS = {"sync": "black", "eager": "tab:green", "bounded": "tab:gray", "async": "tab:orange",
           "eager_async": "tab:blue"}
STYLES = {"constant": "-", "inverse": ":", "inverse_root": "--", "relative": "-.",
          "compensated": (0, (6, 1, 1, 1, 1, 1))}
SHIFT = 0.09  # Of a scheme's points beside the next one's, in powers of two.
MARKS = {"constant": "o", "inverse": "v", "inverse_root": "s", "relative": "D", "compensated": "x"}


def look(scheme):
    """Colour is the mode, line and mark are the rule."""
    return {"color": COLOURS[scheme.mode], "linestyle": STYLES[scheme.rule], "linewidth": 1.3}


def median_curve(curves, points=60):
    """(seconds, median accuracy) of several curves, which are cut where the shortest ends."""
    end = min(curve[-1][1] for curve in curves)
    found = []
    for i in range(points + 1):
        at = end * i / points
        values = [[p for p in curve if p is curve[0] or p[1] <= at][-1][2] for curve in curves]
        found.append((at, statistics.median(value or 0 for value in values)))
    return found


def curves_of(folder):
    """By cell, of the runs that count."""
    found = {}
    with (folder / "curves.jsonl").open(encoding="utf-8") as file:
        for text in file:
            point = json.loads(text)
            curve = point.pop("curve")
            found[cells.Cell(**point)] = curve
    return found


def plot_curves(results, curves, name):
    """Accuracy over time, each scheme with its own step size."""
    places = results.places()
    figure, axes = pyplot.subplots(len(places), 1, figsize=(8, 4 * len(places)), squeeze=False)
    written = []
    for axis, (task, slow) in zip(axes[:, 0], places):
        for scheme in (s for s in DRAWN if s in results.schemes(task, slow)):
            rate = results.tuned(task, slow, scheme)[0]
            rows = results.told(task, slow, scheme, rate)
            found = [curves[cell] for cell in curves if (cell.task, cell.slow, cell.rate) == (
                task, slow, rate) and (cell.mode, cell.rule, cell.warm_up) == (
                    scheme.mode, scheme.rule, scheme.warm_up)
                     and cell.seed not in protocol.TUNING_SEEDS]
            if not found:
                continue
            points = median_curve(found)
            written += [(task, slow, scheme, rate, f"{x:.3f}", f"{y:.4f}") for x, y in points]
            axis.plot(*zip(*points), label=f"{scheme} ({rate:g})", **look(scheme))
            axis.axhline(rows[0]["target"], color="lightgray", linewidth=0.8, zorder=0)
        axis.set_ylim(0.7, 1.0)
        axis.set_xlim(0, 8 if slow > 1 else 3.5)
        axis.set_title(f"{task}, " + (f"one worker {slow:g}x slower" if slow > 1 else
                                      "no straggler") + " (each scheme's own step size)")
        axis.set_xlabel("seconds")
        axis.set_ylabel("test accuracy, median")
        axis.legend(fontsize=8, loc="lower right", ncol=2)
    save(figure, f"{name}-curves.png")
    with open(f"{name}-curves.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "slow", "scheme", "rate", "seconds", "median_accuracy"))
        writer.writerows(written)


def median_and_quartiles(values, never):
    """The middle, and what half of the runs lie between; who did not reach it is at `never`."""
    reached = sorted(min(value, never) for value in values)
    return (min(statistics.median(values), never), reached[(len(reached) - 1) // 4],
            reached[math.ceil((len(reached) - 1) * 3 / 4)])


def plot_scheme(axis, results, place, scheme, shift, never):
    """The medians as a line, the quartiles as bars; beside those of the other schemes."""
    rates = sorted({each["rate"] for each in results.of(*place, scheme)})
    if not rates:
        return
    found = [median_and_quartiles(tables.reached(results.of(*place, scheme, rate),
                                                 "gradients_to_target"), never) for rate in rates]
    places = [rate * 2 ** shift for rate in rates]
    axis.plot(places, [median for median, _, _ in found], label=str(scheme),
              marker=MARKS[scheme.rule], markersize=4.5, **look(scheme))
    axis.vlines(places, [low for _, low, _ in found], [high for _, _, high in found],
                color=COLOURS[scheme.mode], linewidth=3, alpha=0.3)


def plot_rates(results, name):
    """Gradients to the target over the step size: how wide the range is that works."""
    places = results.places()
    figure, axes = pyplot.subplots(len(places), 2, figsize=(11, 3.4 * len(places) + 1.4),
                                   squeeze=False, sharey=True, layout="constrained")
    never = 1.05 * max(row["gradients"] for row in results.rows)
    for row, (task, slow) in zip(axes, places):
        for axis, modes in zip(row, (("sync", "async"), ("eager", "eager_async"))):
            schemes = [s for s in SHOWN if s.mode in modes and results.of(task, slow, s)]
            for number, scheme in enumerate(schemes):
                shift = SHIFT * (number - (len(schemes) - 1) / 2)
                plot_scheme(axis, results, (task, slow), scheme, shift, never)
            axis.axhline(never, color="lightgray", zorder=0)
            axis.annotate("not reached", (0.5, never), xycoords=("axes fraction", "data"),
                          xytext=(0, 4), textcoords="offset points", fontsize=9, ha="center")
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            rates = sorted({each["rate"] for each in results.of(task, slow)})
            axis.set_xticks(rates)
            axis.set_xlim(rates[0] / 1.4, rates[-1] * 1.4)
            axis.set_ylim(0, 1.12 * never)
            axis.set_title(f"{task}, " + (f"one worker {slow:g}x slower" if slow > 1 else
                                          "no straggler"), fontsize=11)
            axis.set_xlabel("step size of one gradient")
    for axis in axes[:, 0]:
        axis.set_ylabel("gradients to target")
    for axis in axes[-1]:
        shown = {label: line for each in axes[:, list(axes[-1]).index(axis)]
                 for line, label in zip(*each.get_legend_handles_labels())}
        axis.legend(shown.values(), shown.keys(), fontsize=9, ncol=2, loc="upper center",
                    bbox_to_anchor=(0.5, -0.2), frameon=False, handlelength=3.5)
    figure.suptitle("line: median; bar: from the first to the third quartile of the runs",
                    fontsize=10)
    save(figure, f"{name}-rates.png")


def plot_times(results, name):
    """Seconds to the target with each scheme's own step size: median, least and most."""
    places = results.places()
    figure, axes = pyplot.subplots(1, len(places), figsize=(4.2 * len(places), 4.5), squeeze=False)
    for axis, (task, slow) in zip(axes[0], places):
        schemes = [s for s in SHOWN if s in results.schemes(task, slow)]
        for place, scheme in enumerate(reversed(schemes)):
            rate = results.tuned(task, slow, scheme)[0]
            times = [row["seconds_to_target"] for row in results.told(task, slow, scheme, rate)
                     if row["seconds_to_target"] is not None]
            if not times:
                continue
            axis.plot((min(times), max(times)), (place, place), color=COLOURS[scheme.mode])
            axis.plot(times, [place] * len(times), "|", color=COLOURS[scheme.mode])
            axis.plot(statistics.median(times), place, "o", color=COLOURS[scheme.mode])
        axis.set_yticks(range(len(schemes)))
        axis.set_yticklabels([str(scheme) for scheme in reversed(schemes)], fontsize=7)
        axis.set_xlim(0, None)
        axis.set_xlabel("seconds to target")
        axis.set_title(f"{task}, " + (f"one {slow:g}x slower" if slow > 1 else "no straggler"),
                       fontsize=9)
    save(figure, f"{name}-times.png")


def save(figure, path):
    """Small enough for a repository."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    print(path)


def main(words):
    """All pictures."""
    if len(words) != 2:
        raise SystemExit("usage: plot.py DIR|RUNS.csv docs/results/NAME")
    folder = pathlib.Path(words[0])
    if folder.is_file():
        plot_rates(tables.Results(cells.read_runs(folder)), words[1])
        return
    results = tables.Results(cells.read_runs(folder / "runs.csv"))
    plot_curves(results, curves_of(folder), words[1])
    plot_rates(results, words[1])
    plot_times(results, words[1])


if __name__ == "__main__":
    main(sys.argv[1:])
