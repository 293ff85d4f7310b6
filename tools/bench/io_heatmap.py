#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heat maps of what `stretto-bench io --csv FILE` wrote, with the tuner's way over them:

  io_heatmap.py OUT.png FILE.csv...     one map for each device in the files
"""

import collections
import csv
import math
import pathlib
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError as missing:
    raise SystemExit("io_heatmap.py needs matplotlib; on Debian: apt-get install "
                     "python3-matplotlib") from missing

COLUMNS = 3
PROBES = ("first", "climb", "shrink")


def rows_by_device(paths):
    found = collections.defaultdict(list)
    for path in paths:
        with pathlib.Path(path).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[row["device"]].append(row)
    return found


def size_name(size):
    return f"{size >> 20}M" if size >= 1 << 20 else f"{size >> 10}K"


def draw_grid(axes, rows):
    """The map; the depths and sizes along its sides."""
    cells = {(int(r["depth"]), int(r["read_bytes"])): float(r["bytes_per_s"])
             for r in rows if r["action"] == "grid"}
    depths = sorted({depth for depth, _ in cells})
    sizes = sorted({size for _, size in cells})
    best = max(cells.values())
    table = [[cells.get((depth, size), math.nan) / best for size in sizes] for depth in depths]
    image = axes.imshow(table, origin="lower", aspect="auto", vmin=0, vmax=1, cmap="viridis")
    axes.set_xticks(range(len(sizes)), [size_name(size) for size in sizes], rotation=60, fontsize=9)
    axes.set_yticks(range(len(depths)), depths, fontsize=9)
    axes.set_xlabel("read size", fontsize=9)
    axes.set_ylabel("depth", fontsize=9)
    return image, best, depths, sizes


def draw_way(axes, rows, depths, sizes):
    """Numbers in the order of the probes, and a ring around what was kept."""
    at = {}
    number = 0
    for row in rows:
        place = sizes.index(int(row["read_bytes"])), depths.index(int(row["depth"]))
        if row["action"] in PROBES:
            number += 1
            at.setdefault(place, []).append(str(number))
        elif row["action"] == "choose":
            axes.plot(*place, "o", markersize=17, markerfacecolor="none", markeredgecolor="red",
                      markeredgewidth=2)
    for place, numbers in at.items():
        axes.text(*place, ",".join(numbers), ha="center", va="center", fontsize=8, color="white",
                  fontweight="bold", bbox={"boxstyle": "round,pad=0.12", "fc": "#00000090",
                                           "ec": "none"})


def main(out, paths):
    devices = rows_by_device(paths)
    lines = math.ceil(len(devices) / COLUMNS)
    figure, all_axes = pyplot.subplots(lines, COLUMNS, figsize=(4.6 * COLUMNS, 3.6 * lines),
                                       squeeze=False, layout="constrained")
    flat = [axes for line in all_axes for axes in line]
    for axes, (device, rows) in zip(flat, devices.items()):
        image, best, depths, sizes = draw_grid(axes, rows)
        draw_way(axes, rows, depths, sizes)
        axes.set_title(f"{device}: best {best / 1e6:.0f} MB/s", fontsize=11)
    for axes in flat[len(devices):]:
        axes.axis("off")
    figure.colorbar(image, ax=all_axes, label="rate, of the best of the grid", shrink=0.6)
    figure.savefig(out, dpi=80)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
