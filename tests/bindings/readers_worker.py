# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of readers_test.py: reads the files of a folder by a Reader that all
workers share. The second argument is the order at the last worker: "alike", or "reversed".
"""

import pathlib
import sys

from stretto import session
from stretto.input import Reader


def main(folder, how):
    """Prints "done" if each loop gave a part of the samples."""
    session.begin(lazy=False)
    now = session.current()
    paths = sorted(pathlib.Path(folder).iterdir())
    if how == "reversed" and now.rank == now.size - 1:
        paths.reverse()
    if now.rank == 0:
        assert len(list(Reader(paths[:1]))) == 3  # A reader of this worker alone: not compared.
    for shuffle in (False, True):
        reader = Reader(paths, shuffle=shuffle, rank=now.rank, world=now.size)
        for _ in range(2):
            assert sum(1 for _ in reader) == len(reader)
    now.barrier()
    session.end()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
