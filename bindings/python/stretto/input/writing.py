# SPDX-License-Identifier: Apache-2.0
"""Writes record files that the Reader can read."""

import io
import os
import tarfile
from typing import Any, Iterable, Mapping, Optional, Tuple, Union

from stretto import _core, errors

_Path = Union[str, "os.PathLike[str]"]
_Sample = Union[Tuple[str, Mapping[str, Any]], Mapping[str, Any]]
_KEY = "__key__"


def write_tfrecord(path: _Path, payloads: Iterable[bytes]) -> None:
    """Writes a TFRecord file of these payloads."""
    with open(path, "wb") as file:
        for payload in payloads:
            file.write(_core.tfrecord(bytes(payload)))


def write_tar(path: _Path, samples: Iterable[_Sample]) -> None:
    """Writes a WebDataset shard. A sample is its name, and its files' bytes by their extension; or,
    as the Reader yields it, one mapping with the name under "__key__".

    Raises InvalidArgument for a sample without files, and for extensions that are equal in lower
    case. The same holds for a name that would be read back differently: with a dot or nothing
    behind its last slash, or equal to the name of the previous sample.
    """
    with tarfile.open(path, "w") as shard:
        last = None
        for key, members in map(_parts, samples):
            _check_sample(key, members, last)
            last = key
            for extension, content in members.items():
                view = memoryview(content).cast("B")
                about = tarfile.TarInfo(f"{key}.{extension}")
                about.size = view.nbytes
                shard.addfile(about, io.BytesIO(view))


def _parts(sample: _Sample) -> Tuple[str, Mapping[str, Any]]:
    if not isinstance(sample, Mapping):
        return sample
    if _KEY not in sample:
        raise errors.InvalidArgument(f"a sample of {', '.join(map(repr, sample)) or 'nothing'} has "
                                     f"no name: wanted it under '{_KEY}'")
    return sample[_KEY], {name: sample[name] for name in sample if name != _KEY}


def _check_sample(key: str, members: Mapping[str, Any], last: Optional[str]) -> None:
    name = key.rpartition("/")[2]
    if not name or "." in name:
        raise errors.InvalidArgument(
            f"sample {key!r}: wanted a name without a dot behind its last slash; what comes behind "
            "the first dot is taken for a file's extension")
    if key == last:
        raise errors.InvalidArgument(
            f"sample {key!r} comes twice in a row: they would be read as one; name them apart")
    extensions = {extension.encode("utf-8", "surrogateescape").lower() for extension in members}
    if len(extensions) < len(members):
        raise errors.InvalidArgument(
            f"sample {key!r} has files {', '.join(map(repr, members))}: extensions are read in "
            "lower case, and two of these would be equal; name them apart")
    if not members:
        raise errors.InvalidArgument(f"sample {key!r} has no files, and would not be there")
