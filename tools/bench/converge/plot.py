#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the runs that converge.py made, and the numbers that they show as CSV:

  plot.py DIR docs/results/NAME     reads DIR/runs.csv and DIR/curves.jsonl, writes NAME-*.png, .csv
"""

import csv
import json
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
        axis.legend(fontsize=6, loc="lower right", ncol=2)
    save(figure, f"{name}-curves.png")
    with open(f"{name}-curves.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "slow", "scheme", "rate", "seconds", "median_accuracy"))
        writer.writerows(written)


def plot_rates(results, name):
    """Gradients to the target over the step size: how wide the range is that works."""
    places = results.places()
    figure, axes = pyplot.subplots(len(places), 2, figsize=(11, 3.6 * len(places)), squeeze=False)
    never = 1.05 * max(row["gradients"] for row in results.rows)
    for row, (task, slow) in zip(axes, places):
        for axis, modes in zip(row, (("sync", "async"), ("eager", "eager_async"))):
            for scheme in (s for s in SHOWN if s.mode in modes):
                rates = sorted({each["rate"] for each in results.of(task, slow, scheme)})
                medians = [statistics.median(tables.reached(
                    results.of(task, slow, scheme, rate), "gradients_to_target"))
                           for rate in rates]
                if rates:
                    axis.plot(rates, [min(y, never) for y in medians], label=str(scheme),
                              marker=MARKS[scheme.rule], markersize=4, **look(scheme))
            axis.axhline(never, color="lightgray", zorder=0)
            axis.annotate("not reached", (0.02, never), xycoords=("axes fraction", "data"),
                          fontsize=6, va="bottom")
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            axis.set_xticks(sorted({each["rate"] for each in results.of(task, slow)}))
            axis.set_ylim(0, 1.08 * never)
            axis.set_title(f"{task}, " + (f"one worker {slow:g}x slower" if slow > 1 else
                                          "no straggler"), fontsize=9)
            axis.set_xlabel("step size of one gradient")
            axis.set_ylabel("gradients to target, median")
            axis.legend(fontsize=6)
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
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    print(path)


def main(words):
    """All pictures."""
    if len(words) != 2:
        raise SystemExit("usage: plot.py DIR docs/results/NAME")
    folder = pathlib.Path(words[0])
    results = tables.Results(cells.read_runs(folder / "runs.csv"))
    plot_curves(results, curves_of(folder), words[1])
    plot_rates(results, words[1])
    plot_times(results, words[1])


if __name__ == "__main__":
    main(sys.argv[1:])
