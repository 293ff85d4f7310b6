# SPDX-License-Identifier: Apache-2.0
"""stretto-checkpoint on the golden checkpoint, and on checkpoints of parts_files.py. Readers that
know nothing of Stretto read its exports: numpy's, and a reader of safetensors here by the published
format. Needs STRETTO_BUILD_DIR and STRETTO_SOURCE_DIR.
"""

import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import numpy

import parts_files
from parts_files import Entry

SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
PROGRAM = pathlib.Path(os.environ["STRETTO_BUILD_DIR"]) / "bin" / "stretto-checkpoint"
GOLDEN = SOURCE / "tests" / "checkpoint" / "golden"
SECONDS = 60

# Name, type and shape, as in golden_checkpoint.h.
LONG = "n" * 300
TENSORS = (("fc1.weight", "F32", [3, 7]), ("fc1.bias", "F64", [9]), ("half", "F16", [4, 10]),
           ("brain", "BF16", [2, 3]), ("i8", "I8", [70]), ("u8", "U8", [5]), ("i32", "I32", [17]),
           ("i64", "I64", [3]), ("coded", None, None), ("never pushed", None, None),
           ("empty", "F32", [0]), ("../layer/0: \u00e9\n", "F32", [2]),
           (b"no text \xff", "I32", [2]), ("__metadata__", "I32", [1]), (LONG + "1", "U8", [1]),
           (LONG + "2", "U8", [1]))
BYTES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I8": 1, "U8": 1, "I32": 4, "I64": 8}


def run(*words):
    """Status, stdout and stderr."""
    done = subprocess.run([str(word) for word in (PROGRAM, *words)], capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def wanted(tensor, kind, shape):
    """The numbers of a tensor, by its place among them."""
    numbers = [(7 * i + 3 * tensor) % 101 - 50 for i in range(math.prod(shape))]
    if kind == "U8":
        return [number + 50 for number in numbers]
    return [number / 4 for number in numbers] if "F" in kind else numbers


def floats_of_bf16(data):
    return list(struct.unpack(f"<{len(data) // 2}f", b"".join(
        b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))))


def read_safetensors(path):
    """Metadata and {key: (type, shape, numbers)}, checking all requirements of the format."""
    data = path.read_bytes()
    length, = struct.unpack_from("<Q", data)
    head, data = data[8:8 + length], data[8 + length:]
    if length % 8 or not head.startswith(b"{") or length > 100_000_000:
        raise ValueError("head")
    described = json.loads(head.decode("utf-8"))
    metadata = described.pop("__metadata__", {})
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("metadata")
    tensors, end_before = {}, 0
    for key, about in sorted(described.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = about["data_offsets"]
        kind, shape = about["dtype"], about["shape"]
        if begin != end_before or end - begin != BYTES[kind] * math.prod(shape):
            raise ValueError(f"{key} is at {begin} to {end}")
        if begin % BYTES[kind]:
            raise ValueError(f"{key} is not aligned")
        end_before = end
        letter = {"F32": "f", "F64": "d", "F16": "e", "I8": "b", "U8": "B", "I32": "i", "I64": "q"}
        if kind == "BF16":
            numbers = floats_of_bf16(data[begin:end])
        else:
            numbers = list(struct.unpack(f"<{math.prod(shape)}{letter[kind]}", data[begin:end]))
        tensors[key] = kind, shape, numbers
    if end_before != len(data):
        raise ValueError("there is more data than tensors")
    return metadata, tensors


class Checkpoints(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self):
        """A golden checkpoint that the test may change."""
        return shutil.copytree(GOLDEN, self.folder / "run")

    def refused(self, status, pattern, *words):
        """The program ends with this status, and one line with the reason."""
        found, said, complaint = run(*words)
        self.assertEqual(found, status, said + complaint)
        self.assertRegex(complaint, rf"^ERROR \w+(:| .*cause=).*{pattern}.*\n$")

    def named(self, registry, field):
        """Each exported tensor: (index, type, shape, name in the export)."""
        self.assertEqual((registry["number"], registry["step"], registry["part_bytes"]),
                         (1, 100, 64))
        servers = [each for each in registry["tensors"] if "attached" not in each]
        self.assertEqual(len(servers), len(TENSORS))
        for place, (name, kind, shape) in enumerate(TENSORS):
            about = servers[place]
            told = bytes.fromhex(about["name_hex"]) if "name_hex" in about else about["name"]
            self.assertEqual(told, name)
            self.assertEqual(field in about, kind is not None, name)
            self.assertEqual("skipped" in about, kind is None, name)
            if kind is not None:
                yield place, kind, shape, about[field]


class Export(Checkpoints):

    def test_safetensors(self):
        path = self.folder / "out.safetensors"
        status, said, complaint = run("export", GOLDEN, "--to", path)
        self.assertEqual((status, complaint), (0, ""))
        self.assertIn("checkpoint 2 is passed over", said)
        self.assertIn("tensor 'coded' is left out: values are encoded by a codec", said)
        self.assertIn("tensor 'never pushed' is left out: no part is saved", said)
        self.assertIn("attached 'random state' of worker 1 is left out: each worker has its own",
                      said)
        self.assertIn("14 of 16 tensors and 0 of 3 attachments", said)
        metadata, tensors = read_safetensors(path)
        self.assertEqual(metadata, {"number": "1", "step": "100", "release": "0.1.0"})
        registry = json.loads((self.folder / "out.safetensors.registry.json").read_text())
        for place, kind, shape, key in self.named(registry, "key"):
            self.assertEqual(tensors.pop(key), (kind, shape, wanted(place, kind, shape)), key)
        self.assertEqual(tensors, {})
        self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()),
                         ["out.safetensors", "out.safetensors.registry.json"])

    def test_npy(self):
        folder = self.folder / "out"
        folder.mkdir()  # An empty folder may exist.
        status, said, complaint = run("export", GOLDEN, "--to", folder, "--format", "npy",
                                      "--number", "1")
        self.assertEqual((status, complaint), (0, ""), said)
        registry = json.loads((folder / "registry.json").read_text())
        names = {"registry.json"}
        for place, kind, shape, name in self.named(registry, "file"):
            self.assertRegex(name, r"^[A-Za-z0-9_%-][A-Za-z0-9._%~-]*\.npy$")
            names.add(name)
            array = numpy.load(folder / name, allow_pickle=False)
            self.assertEqual(list(array.shape), shape, name)
            types = {"F": "f4" if kind == "BF16" else f"f{BYTES[kind]}",
                     "I": f"i{BYTES[kind]}", "U": "u1"}
            self.assertEqual(array.dtype, numpy.dtype(types[kind.replace("BF", "F")[0]]), name)
            self.assertEqual(array.ravel().tolist(), wanted(place, kind, shape), name)
        self.assertEqual({entry.name for entry in folder.iterdir()}, names)
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["out"])

    def test_nothing_is_written_over(self):
        for form in ("safetensors", "npy"):
            for there in ("out", "out.new"):
                with self.subTest(f"{form} {there}"):
                    (self.folder / there).write_text("mine")
                    self.refused(1, f"'[^']*{there}' is there already", "export", GOLDEN, "--to",
                                 self.folder / "out", "--format", form)
                    self.assertEqual((self.folder / there).read_text(), "mine")
                    (self.folder / there).unlink()
        (self.folder / "out").mkdir()
        (self.folder / "out" / "mine").touch()
        self.refused(1, "no empty folder", "export", GOLDEN, "--to", self.folder / "out",
                     "--format", "npy")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["out"])

    def test_what_fails_leaves_nothing(self):
        run_folder = self.copy()
        parts = run_folder / "ckpt-1" / "server-1.0.parts"
        last_of_i32 = struct.pack("<i", wanted(6, "I32", [17])[16])
        parts.write_bytes(parts.read_bytes().replace(last_of_i32, b"\0\0\0\0"))
        before = sorted(run_folder.parent.iterdir())
        for form in ("safetensors", "npy"):
            self.refused(1, "server-1.0.parts' is damaged: part 1 of tensor 'i32' has another "
                         "checksum", "export", run_folder, "--to", self.folder / "out", "--format",
                         form)
            self.assertEqual(sorted(run_folder.parent.iterdir()), before)


class Others(Checkpoints):

    def test_inspect(self):
        status, said, complaint = run("inspect", GOLDEN)
        self.assertEqual((status, complaint), (0, ""))
        self.assertIn("tensor 'fc1.weight': f32[3x7] async momentum(", said)
        self.assertIn(r"tensor '../layer/0: é\n': f32[2] sync sum, 1 of 1 parts", said)
        self.assertIn("checkpoint 2 is not complete: ", said)
        status, said, complaint = run("inspect", GOLDEN, "--json")
        self.assertEqual((status, complaint, len(said.splitlines())), (0, "", 1))
        first, second = json.loads(said)["checkpoints"]
        self.assertEqual((first["number"], first["complete"], first["step"], first["workers"]),
                         (1, True, 100, 2))
        self.assertEqual([tensor["parts_saved"] for tensor in first["tensors"]],
                         [2, 2, 2, 1, 2, 1, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1])
        self.assertEqual(
            [(each["name"], each["rank"], each["bytes"], each["dtype"])
             for each in first["attached"]],
            [("progress", None, 7, None), ("random state", 0, 100, None),
             ("random state", 1, 100, None)])
        self.assertEqual((second["number"], second["complete"]), (2, False))
        self.assertIn("writing was not finished", second["why"])

    def test_verify(self):
        status, said, complaint = run("verify", GOLDEN)
        self.assertEqual((status, complaint), (0, ""))
        self.assertIn("checkpoint 1 is right: step 100, 3 files, 23 entries, 3134 bytes", said)
        self.assertIn("checkpoint 2 is not complete", said)

    def test_verify_finds_any_byte(self):
        folder = self.copy() / "ckpt-1"
        for name in ("MANIFEST", "server-0.0.parts", "server-1.0.parts", "worker-0.parts"):
            good = (folder / name).read_bytes()
            for at in range(0, len(good), 23):
                bad = bytearray(good)
                bad[at] ^= 0x10
                (folder / name).write_bytes(bad)
                self.refused(1, f"'[^']*{name}'", "verify", folder.parent)
            (folder / name).write_bytes(good[:-1])
            self.refused(1, f"'[^']*{name}'", "verify", folder.parent)
            (folder / name).unlink()
            self.refused(1, "no complete checkpoint" if name == "MANIFEST" else f"'[^']*{name}'",
                         "verify", folder.parent)
            (folder / name).write_bytes(good)
        self.assertEqual(run("verify", folder.parent)[0], 0)

    def test_prune(self):
        folder = self.copy()
        shutil.rmtree(folder / "ckpt-2")
        (folder / "ckpt-0").mkdir()
        self.assertEqual(run("prune", folder), (0, "removed: none\nkept: 1\n", ""))
        (folder / "ckpt-2").mkdir()
        self.assertEqual(run("prune", folder, "--keep", "1"), (0, "removed: none\nkept: 1, 2\n",
                                                               ""))

    def test_bad_input(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for command in ("inspect", "verify", "prune", "export"):
            more = ("--to", self.folder / "out") if command == "export" else ()
            self.refused(1, "No such file", command, self.folder / "none", *more)
            self.refused(1, "Not a directory", command, GOLDEN / "LATEST", *more)
            self.refused(1, "no folder of checkpoints", command, empty, *more)
            self.refused(1, "a checkpoint itself; name the folder that it is in", command,
                         GOLDEN / "ckpt-1", *more)
            self.refused(2, "wanted one of inspect, verify", command)
            self.refused(2, "wanted one of inspect, verify", command, GOLDEN, "more")
        self.refused(1, "has no checkpoint 7", "export", GOLDEN, "--to", self.folder / "out",
                     "--number", "7")
        self.refused(1, "writing was not finished", "export", GOLDEN, "--to", self.folder / "out",
                     "--number", "2")
        self.refused(1, "No such file", "export", GOLDEN, "--to", self.folder / "no" / "out")

    def test_wrong_flags(self):
        for words, pattern in (
                ((), "found neither"), (("look", GOLDEN), "found 'look"),
                (("verify", GOLDEN, "--json"), "--json is for inspect, and this is verify"),
                (("inspect", GOLDEN, "--keep", "3"), "--keep is for prune"),
                (("prune", GOLDEN, "--keep", "0"), "at least 1, and this is 0"),
                (("export", GOLDEN), "--to OUT is missing"),
                (("export", GOLDEN, "--to", "/"), "something new"),
                (("export", GOLDEN, "--to", ".."), "something new"),
                (("export", GOLDEN, "--to", "x", "--format", "gguf"), "'gguf' is no --format"),
                (("export", GOLDEN, "--to", "x", "--number", "-1"), "is no value of --number"),
                (("inspect", GOLDEN, "--deep"), "there is no flag --deep")):
            with self.subTest(words):
                self.refused(2, pattern, *words)


class Attached(Checkpoints):
    """Servers' files are golden; this class writes the workers' files."""

    def setUp(self):
        super().setUp()
        self.kept = self.copy()
        shutil.rmtree(self.kept / "ckpt-2")
        self.average = numpy.arange(2400, dtype="<f4").reshape(300, 8) / 7
        self.narrow = numpy.arange(-3, 4, dtype="<f4")
        self.weight = numpy.arange(6, dtype="<f8")

    def attach(self, *files):
        """Replaces the attachments of checkpoint 1 by these entries of each file."""
        folder = self.kept / "ckpt-1"
        manifest = parts_files.read_manifest(folder / "MANIFEST")
        manifest["files"] = [file for file in manifest["files"] if "worker" not in file["name"]]
        for number, entries in enumerate(files):
            parts_files.write_parts(folder / f"worker-{number}.parts", manifest, entries)
        parts_files.write_manifest(folder / "MANIFEST", manifest)

    def attach_all(self):
        """Attaches the files of three workers. Stripes are cut in the middle of elements."""
        average, weight = self.average.tobytes(), self.weight.tobytes()
        narrow = b"".join(each.tobytes()[2:] for each in self.narrow)

        def cut(name, data, begin, end, part, dtype, shape):
            return Entry(name, data[begin:end], part=part, total=len(data), dtype=dtype,
                         shape=shape)

        first = "optimizer/0.weight/exp_avg", average
        self.attach(
            [cut(*first, 0, 4801, 0, "f32", "300x8"), Entry("mine", b"a" * 16424, rank=0)],
            [cut(*first, 4801, 9599, 1, "f32", "300x8"), Entry("mine", b"b" * 16424, rank=1),
             cut("narrow", narrow, 0, 5, 0, "bf16", "")],
            [cut("narrow", narrow, 5, 14, 1, "bf16", ""),
             cut(*first, 9599, 9600, 2, "f32", "300x8"),
             Entry("text", b"epoch 3"), Entry("fc1.weight", weight, dtype="f64", shape="3x2"),
             Entry("i8", b"", dtype="i8", shape="0x4")])

    def test_inspect(self):
        self.attach_all()
        status, said, complaint = run("inspect", self.kept)
        self.assertEqual((status, complaint), (0, ""))
        self.assertEqual([line for line in said.splitlines() if "attached" in line], [
            "  attached 'optimizer/0.weight/exp_avg' of all workers: f32[300x8], 9600 bytes",
            "  attached 'mine' of worker 0: 16424 bytes",
            "  attached 'mine' of worker 1: 16424 bytes",
            "  attached 'narrow' of all workers: bf16[7], 14 bytes",
            "  attached 'text' of all workers: 7 bytes",
            "  attached 'fc1.weight' of all workers: f64[3x2], 48 bytes",
            "  attached 'i8' of all workers: i8[0x4], 0 bytes"])
        found = json.loads(run("inspect", self.kept, "--json")[1])["checkpoints"][0]["attached"]
        self.assertEqual(found[:2], [
            {"name": "optimizer/0.weight/exp_avg", "rank": None, "bytes": 9600,
             "bytes_saved": 9600, "dtype": "f32", "shape": "300x8"},
            {"name": "mine", "rank": 0, "bytes": 16424, "bytes_saved": 16424, "dtype": None,
             "shape": ""}])

    def test_export(self):
        self.attach_all()
        self.assertEqual(run("verify", self.kept)[0], 0)
        status, said, complaint = run("export", self.kept, "--to", self.folder / "out")
        self.assertEqual((status, complaint), (0, ""))
        self.assertIn("attached 'text' of all workers is left out: there are bytes, and no element "
                      "type", said)
        self.assertIn("14 of 16 tensors and 4 of 7 attachments", said)
        tensors = read_safetensors(self.folder / "out")[1]
        registry = json.loads((self.folder / "out.registry.json").read_text())
        for place, kind, shape, key in self.named(registry, "key"):
            self.assertEqual(tensors.pop(key), (kind, shape, wanted(place, kind, shape)), key)
        self.assertEqual(tensors, {
            "optimizer/0.weight/exp_avg": ("F32", [300, 8], self.average.ravel().tolist()),
            "narrow": ("BF16", [7], self.narrow.tolist()),
            "attached/fc1.weight": ("F64", [3, 2], self.weight.tolist()),
            "attached/i8": ("I8", [0, 4], [])})
        attached = [each for each in registry["tensors"] if each.get("attached")]
        self.assertEqual([(each["name"], each["rank"], "skipped" in each) for each in attached], [
            ("optimizer/0.weight/exp_avg", None, False), ("mine", 0, True), ("mine", 1, True),
            ("narrow", None, False), ("text", None, True), ("attached/fc1.weight", None, False),
            ("attached/i8", None, False)])
        self.assertEqual((attached[0]["dtype"], attached[0]["shape"], attached[0]["elements"]),
                         ("f32", "300x8", 2400))

    def test_export_for_numpy(self):
        self.attach_all()
        folder = self.folder / "out"
        self.assertEqual(run("export", self.kept, "--to", folder, "--format", "npy")[0], 0)
        registry = json.loads((folder / "registry.json").read_text())
        model = {tensor.get("name"): numpy.load(folder / tensor["file"])
                 for tensor in registry["tensors"] if "file" in tensor}
        self.assertTrue((model["optimizer/0.weight/exp_avg"] == self.average).all())
        self.assertEqual(model["narrow"].tolist(), self.narrow.tolist())
        self.assertEqual(model["attached/fc1.weight"].tolist(), self.weight.reshape(3, 2).tolist())
        self.assertEqual(model["fc1.weight"].shape, (3, 7))
        self.assertEqual(model["attached/i8"].shape, (0, 4))

    def refused_by_all(self, pattern, *files, exported=False):
        """verify refuses the files; with `exported` the valid rest can still be exported."""
        self.attach(*files)
        self.refused(1, pattern, "verify", self.kept)
        self.assertEqual(run("inspect", self.kept)[0], 0)
        for form in ("safetensors", "npy"):
            with self.subTest(f"{pattern} as {form}"):
                words = "export", self.kept, "--to", self.folder / form, "--format", form
                if not exported:
                    self.refused(1, pattern, *words)
                    self.assertEqual(list(self.folder.iterdir()), [self.kept])
                    continue
                self.assertEqual(run(*words)[0], 0)
                for path in self.folder.glob(f"{form}*"):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_stripes_that_do_not_make_up_the_whole(self):
        def stripe(part, size, total=12, dtype="f32", shape="3"):
            return Entry("model", b"x" * size, part=part, total=total, dtype=dtype, shape=shape)

        model = "'model' of all workers "
        part = model + "is there in part: its stripe "
        self.attach([stripe(0, 4)], [stripe(1, 8)])
        self.assertEqual(run("verify", self.kept)[0], 0)
        self.refused_by_all(part + "1 is not saved, and 4 of 12 bytes are", [stripe(0, 4)])
        self.assertIn("attached 'model' of all workers: f32[3], 4 of 12 bytes",
                      run("inspect", self.kept)[1])
        self.refused_by_all(part + "0 is not saved", [stripe(1, 4)])
        self.refused_by_all(part + "1 is not saved", [stripe(0, 4)], [stripe(2, 8)])
        self.refused_by_all(part + "1 is not saved, and 4 of 9223372036854775808",
                            [stripe(0, 4, total=1 << 63)])
        self.refused_by_all(model + "has 16 bytes in 2 stripes, and is said to have 12",
                            [stripe(0, 8)], [stripe(1, 8)])
        self.refused_by_all(model + "is in another file too", [stripe(0, 4)], [stripe(0, 8)])
        self.refused_by_all("says what cannot be", [stripe(0, 4), stripe(0, 8)])
        self.refused_by_all("'model', stripe 1 of all workers is said to be of 13 bytes in all",
                            [stripe(0, 4)], [stripe(1, 8, total=13)])
        self.refused_by_all("stripe 1 of all workers is said to be i32, and another .* f32",
                            [stripe(0, 4)], [stripe(1, 8, dtype="i32")])

    def test_elements_that_do_not_make_up_the_bytes(self):
        def model(size, dtype, shape):
            return [Entry("model", b"x" * size, dtype=dtype, shape=shape)]

        self.refused_by_all("says what cannot be", model(4, 255, ""))
        self.refused_by_all("'model' of all workers has 7 bytes, and elements of f32 have 4 each",
                            model(7, "f32", ""))
        for shape in ("0x0", "x", "2x2", "18446744073709551617x3"):
            self.refused_by_all(f"'model' of all workers has 3 elements of f32, and '{shape}' is "
                                "no shape of so many", model(12, "f32", shape), exported=True)

    def peak(self, *words):
        """The peak memory of the program, in bytes."""
        with subprocess.Popen([str(word) for word in (PROGRAM, *words)],
                              stdout=subprocess.DEVNULL) as program:
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(program.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_memory_is_not_for_what_is_exported(self):
        size = 24 * parts_files.CHUNK
        before = self.peak("export", GOLDEN, "--to", self.folder / "small")
        half = bytes(size // 2)
        self.attach([Entry("model", half, total=size, dtype="f32")],
                    [Entry("model", half, part=1, total=size, dtype="f32")])
        for form in ("safetensors", "npy"):
            used = self.peak("export", self.kept, "--to", self.folder / form, "--format", form)
            self.assertLess(used, before + size // 3)
        self.assertGreater((self.folder / "safetensors").stat().st_size, size)


if __name__ == "__main__":
    unittest.main()
