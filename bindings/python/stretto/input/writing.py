# SPDX-License-Identifier: Apache-2.0
"""Writing record files, for those who have none yet."""

import io
import os
import tarfile
from typing import Iterable, Mapping, Tuple, Union

from stretto import _core

_Path = Union[str, "os.PathLike[str]"]


def write_tfrecord(path: _Path, payloads: Iterable[bytes]) -> None:
    """A TFRecord file of these payloads."""
    with open(path, "wb") as file:
        for payload in payloads:
            file.write(_core.tfrecord(bytes(payload)))


def write_tar(path: _Path, samples: Iterable[Tuple[str, Mapping[str, bytes]]]) -> None:
    """A WebDataset shard: of each sample its name, and its files' bytes by their extension."""
    with tarfile.open(path, "w") as shard:
        for key, members in samples:
            for extension, content in members.items():
                about = tarfile.TarInfo(f"{key}.{extension}")
                about.size = len(content)
                shard.addfile(about, io.BytesIO(content))
