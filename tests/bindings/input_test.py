# SPDX-License-Identifier: Apache-2.0
"""stretto.input: loops and a DataLoader, batches, decoding, checkpoints and errors. The reader's
own contract is tested in tests/input.
"""

import array
import concurrent.futures
import gc
import itertools
import os
import pathlib
import tarfile
import tempfile
import threading
import unittest
import unittest.mock
import weakref

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import errors, input as data  # pylint: disable=wrong-import-position
from stretto.input import decoding  # pylint: disable=wrong-import-position


RECORD = 17  # Bytes of a record of one digit.


def number_of(view):
    """The number encoded in a sample."""
    return int(bytes(view))


class InputTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.paths = [self.folder / "a.tfrecord", self.folder / "b.tfrecord"]
        for first, path in zip((0, 50), self.paths):
            data.write_tfrecord(path, (str(i).encode() for i in range(first, first + 50)))

    def reader(self, **options):
        return data.Reader(self.paths, **options)


class Loops(InputTest):

    def test_names_need_not_be_utf8(self):
        path = self.folder / "latin.tar"
        with tarfile.open(path, "w", encoding="latin-1", format=tarfile.USTAR_FORMAT) as shard:
            shard.addfile(tarfile.TarInfo("gr\xfcn.txt"))
        sample, = data.Reader(path, format="tar")
        self.assertEqual(os.fsencode(sample["__key__"]), b"gr\xfcn")

    def test_errors_of_names_that_are_not_utf8(self):
        path = os.path.join(os.fsencode(self.folder), b"gr\xfcn.tfrecord")
        pathlib.Path(os.fsdecode(path)).write_bytes(self.paths[0].read_bytes()[:-1])
        for name in (path, os.fsdecode(path)):
            reader = data.Reader([name])
            with self.assertRaisesRegex(errors.Malformed, r"gr\\xfcn"):
                list(reader)
            self.assertEqual(list(reader), [])
            skipping = data.Reader(name, on_error="skip")
            self.assertEqual(len(list(skipping)), 49)
            self.assertIn("gr\\xfcn", skipping.problems()[0])

    def test_a_loop_that_another_took_over_ends(self):
        reader = self.reader()
        first = iter(reader)
        next(first)
        self.assertEqual(len(list(reader)), 99)
        with self.assertRaisesRegex(errors.InvalidArgument, "another one has begun"):
            next(first)
        self.assertEqual(len(list(reader)), 100)

    def test_ranks_take_equally_many_of_a_few(self):
        for shuffle in (False, True):
            readers = [self.reader(world=3, rank=rank, even=True, shuffle=shuffle)
                       for rank in range(3)]
            for _ in range(2):
                shares = [[number_of(view) for view in reader] for reader in readers]
                self.assertEqual([len(share) for share in shares], [33, 33, 33])
                self.assertEqual(len({number for share in shares for number in share}), 99)
        with self.assertRaisesRegex(errors.InvalidArgument, "100 samples for 101 workers"):
            self.reader(world=101, even=True)

    def test_a_loop_is_an_epoch(self):
        reader = self.reader()
        for epoch in range(3):
            self.assertEqual(reader.epoch, epoch)
            self.assertEqual([number_of(view) for view in reader], list(range(100)))
        self.assertEqual((len(reader), reader.samples), (100, 100))
        self.assertIn(reader.method, ("io_uring", "threads"))
        self.assertEqual(len(list(self.reader(epochs=3))), 300)

    def test_an_index_is_kept(self):
        data.write_tfrecord(self.paths[0], [bytes(300_000)] * 4)
        folder = self.folder / "kept"
        for _ in range(2):
            self.assertEqual(self.reader(index_folder=folder).samples, 54)
        self.assertEqual(len(list(folder.iterdir())), 1)

    def test_shuffled_over_ranks(self):
        def epochs(seed):
            readers = [self.reader(shuffle=True, seed=seed, rank=rank, world=3,
                                   shuffle_block_bytes=1) for rank in range(3)]
            self.assertEqual(len({reader.fingerprint for reader in readers}), 1)
            return [[number_of(v) for v in reader] + [number_of(v) for v in reader]
                    for reader in readers]
        first = epochs(1)
        self.assertEqual(sorted(sum(first, [])), sorted(2 * list(range(100))))
        self.assertEqual(first, epochs(1))
        self.assertNotEqual(first, epochs(2))

    def test_views_outlive_the_reader(self):
        views = list(self.reader())
        self.assertEqual([number_of(view) for view in views], list(range(100)))
        self.assertTrue(views[0].readonly)
        self.assertEqual(torch.frombuffer(bytearray(views[7]), dtype=torch.uint8).tolist(), [55])

    def test_batches(self):
        reader = self.reader(batch=30)
        sizes = [len(batch) for batch in reader]
        self.assertEqual((sizes, len(reader)), ([30, 30, 30, 10], 4))

    def test_decoding(self):
        for threads in (0, 3, "auto"):
            reader = self.reader(decode=number_of, decode_threads=threads)
            self.assertEqual(list(reader), list(range(100)))
            self.assertEqual(list(reader), list(range(100)))

    def test_what_is_left_of_an_epoch_is_left_out(self):
        for options in ({}, {"decode": number_of, "decode_threads": 8}):
            reader = self.reader(batch=16, **options)
            for epoch in range(3):
                self.assertEqual(len(list(itertools.islice(reader, 6))), 6)
                reader.next_epoch()
                self.assertEqual(reader.epoch, epoch + 1, options)
            reader.next_epoch()  # Between two epochs it does nothing.
            self.assertEqual(len([*reader]), 7)

    def test_what_is_left_out_is_not_read(self):
        self.paths[1].write_bytes(self.paths[1].read_bytes()[:-1])  # Its last sample is an error.
        reader = self.reader(epochs=2)
        next(iter(reader))
        reader.next_epoch()
        self.assertEqual(reader.epoch, 1)
        self.assertEqual(len(list(itertools.islice(reader, 99))), 99)

    def test_progress(self):
        self.assertEqual(len(list(self.reader(progress=True, batch=7))), 15)

    def test_knobs(self):
        reader = self.reader()
        reader.set_knobs(3, 8192)
        self.assertEqual(reader.knobs(), (3, 8192))
        list(reader)
        self.assertGreater(reader.take_window()["requests"], 0)

    def test_another_thread_may_watch(self):
        reader = self.reader(epochs=50)
        over = threading.Event()
        windows = []

        def watch():
            while not over.is_set():
                windows.append(reader.take_window()["delivered_bytes"] + sum(reader.knobs()))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            watching = pool.submit(watch)
            read = sum(1 for _ in reader)
            over.set()
            watching.result()
        self.assertEqual(read, 5000)
        self.assertTrue(windows)

    def test_other_threads_run_while_it_waits(self):
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(self.reader()))
        thread.start()
        self.assertEqual(len(list(self.reader())), 100)
        thread.join()
        self.assertEqual(len(seen), 100)


class ManualClock:
    """A clock that only the test advances."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        """Advances the time."""
        self.now += seconds


class DecodeThreads(unittest.TestCase):
    """The number of threads that "auto" chooses for a program that only waits for its samples, by
    its own clock, so that a busy machine has no effect."""

    def threads_for(self, decode_s, most_at_once, samples=20_000):
        """Threads after `samples` samples of `decode_s` seconds each; at most `most_at_once` of the
        decodes make progress at a time."""
        clock = ManualClock()
        gauge = decoding.Gauge(1, clock)
        for _ in range(samples):
            threads = gauge.threads()
            if threads == 0:
                gauge.awaited(lambda: gauge.timed(clock.advance, decode_s))
                continue
            at_once = min(threads, most_at_once)
            begun = clock.now
            gauge.timed(clock.advance, decode_s * threads / at_once)  # On another thread,
            clock.now = begun
            gauge.awaited(lambda share=decode_s / at_once: clock.advance(share))  # like the others.
        return gauge.threads(), gauge.log()

    def test_decoding_that_waits_gets_threads(self):
        with unittest.mock.patch.object(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}):
            threads, log = self.threads_for(0.002, most_at_once=64)
            self.assertEqual(threads, 8, log)
            self.assertRegex(log, r"first +0 decode threads")
            self.assertRegex(log, r"climb +[1-9]\d* decode threads.*: faster", log)

    def test_decoding_that_threads_make_no_faster_gets_none(self):
        threads, log = self.threads_for(0.002, most_at_once=1)
        self.assertEqual(threads, 0, log)

    def test_what_takes_no_time_is_left_alone(self):
        """The program itself takes the time: 2 ms for each sample, and 1 us to decode it."""
        clock = ManualClock()
        gauge = decoding.Gauge(1, clock)
        for _ in range(5000):
            gauge.threads()
            gauge.awaited(lambda: gauge.timed(clock.advance, 1e-6))
            clock.advance(0.002)
        self.assertEqual(gauge.threads(), 0, gauge.log())


class Formats(InputTest):

    def test_tar(self):
        path = self.folder / "shard.tar"
        data.write_tar(path, [("x/1", {"jpg": b"J" * 3000, "cls": b"3"}), ("x/2", {"jpg": b""})])
        samples = list(data.Reader(path, format="tar"))
        self.assertEqual([s["__key__"] for s in samples], ["x/1", "x/2"])
        self.assertEqual(bytes(samples[0]["jpg"]), b"J" * 3000)
        self.assertEqual(bytes(samples[0]["cls"]), b"3")
        self.assertEqual(len(samples[1]["jpg"]), 0)

    def test_tar_writes_what_a_reader_yields(self):
        one, two = self.folder / "one.tar", self.folder / "two.tar"
        data.write_tar(one, [("x/1", {"jpg": b"J" * 3000, "seg.png": b""}), ("x/2", {"cls": b"3"})])
        data.write_tar(two, data.Reader(one, format="tar"))
        self.assertEqual(one.read_bytes(), two.read_bytes())
        with self.assertRaisesRegex(errors.InvalidArgument, "'jpg' has no name: .*'__key__'"):
            data.write_tar(two, [{"jpg": b"J"}])

    def test_tar_refuses_to_write_what_would_not_come_back(self):
        path = self.folder / "shard.tar"
        one = {"jpg": b"J"}
        for words, samples in (("without a dot", [("v0.1", one)]), ("without a dot", [("a/", one)]),
                               ("twice in a row", [("a", one), ("a", {"cls": b""})]),
                               ("no files", [("a", {})]),
                               ("'jpg', 'JPG': .* lower", [("a", {"jpg": b"1", "JPG": b"2"})])):
            with self.assertRaisesRegex(errors.InvalidArgument, words):
                data.write_tar(path, samples)
        data.write_tar(path, [("v0.1/a", {"bin": array.array("q", [1, 2, 3])})])
        sample, = data.Reader(path, format="tar")
        self.assertEqual(array.array("q", bytes(sample["bin"])).tolist(), [1, 2, 3])

    def test_tar_as_python_writes_it(self):
        for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
            path = self.folder / f"{kind}.tar"
            name = "d" * 60 + "/" + ("ü" if kind != tarfile.USTAR_FORMAT else "u") * 80 + ".txt"
            (self.folder / "content").write_bytes(b"text")
            with tarfile.open(path, "w", format=kind) as shard:
                shard.add(self.folder / "content", name)
            sample, = data.Reader(path, format="tar")
            self.assertEqual((sample["__key__"], bytes(sample["txt"])), (name[:-4], b"text"))

    def test_files_and_records(self):
        path = self.folder / "records"
        path.write_bytes(b"abcdef")
        self.assertEqual([bytes(v) for v in data.Reader(path, format="records", record_bytes=2)],
                         [b"ab", b"cd", b"ef"])
        self.assertEqual([bytes(v) for v in data.Reader([path], format="files")], [b"abcdef"])


class Checkpoints(InputTest):

    def test_goes_on_where_it_was(self):
        for options in ({}, {"decode": number_of, "decode_threads": 2}, {"batch": 8}):
            reader = self.reader(shuffle=True, seed=5, shuffle_block_bytes=1, epochs=2, **options)
            whole = [self.plain(item) for item in reader]
            reader = self.reader(shuffle=True, seed=5, shuffle_block_bytes=1, epochs=2, **options)
            before = []
            for item in reader:
                before.append(self.plain(item))
                if len(before) == 9:
                    state = reader.state_dict()
                    break
            after = self.reader(shuffle=True, seed=5, shuffle_block_bytes=1, epochs=2, **options)
            after.load_state_dict(state)
            self.assertEqual(before + [self.plain(item) for item in after], whole)
            self.assertEqual(before + [self.plain(item) for item in reader], whole,
                             "a loop that was left goes on")

    def plain(self, item):
        if isinstance(item, list):
            return [number_of(view) for view in item]
        return item if isinstance(item, int) else number_of(item)

    def test_refuses_another(self):
        state = self.reader().state_dict()
        with self.assertRaises(errors.Mismatch):
            self.reader(shuffle=True).load_state_dict(state)
        with self.assertRaises(errors.Malformed):
            self.reader().load_state_dict({"cursor": b"x", "epochs_left": 0})


class Loader(InputTest):

    def test_data_loader(self):
        dataset = self.reader(decode=number_of).as_dataset()
        self.assertIsInstance(dataset, torch.utils.data.IterableDataset)
        loader = torch.utils.data.DataLoader(dataset, batch_size=25, num_workers=0)
        for _ in range(2):
            self.assertEqual(torch.cat(list(loader)).tolist(), list(range(100)))
        loader = torch.utils.data.DataLoader(self.reader().as_dataset(), batch_size=None)
        self.assertEqual(len(list(loader)), 100)

    def test_refuses_forks(self):
        loader = torch.utils.data.DataLoader(self.reader().as_dataset(), num_workers=1)
        with self.assertRaisesRegex(Exception, "num_workers=0"):
            list(loader)


class Errors(InputTest):

    def corrupt(self, number=0):
        content = bytearray(self.paths[0].read_bytes())
        content[RECORD * number + 12] ^= 1
        self.paths[0].write_bytes(content)

    def test_fail_names_file_and_offset_and_goes_on(self):
        self.corrupt()
        reader = self.reader()
        with self.assertRaises(errors.Malformed) as raised:
            list(reader)
        self.assertIn(f"'{self.paths[0]}' at offset 0: the CRC", str(raised.exception))
        self.assertEqual([number_of(view) for view in reader], list(range(1, 100)))

    def test_fail_loses_nothing_that_was_read_before(self):
        self.corrupt(6)
        for options in ({}, {"batch": 4}, {"decode": number_of, "decode_threads": 3},
                        {"decode": number_of, "decode_threads": "auto", "batch": 5}):
            reader = self.reader(**options)
            read = []
            for _ in range(2):
                try:
                    for item in reader:
                        read += item if isinstance(item, list) else [item]
                except errors.Malformed:
                    read.append("failed")
            numbers = [item if isinstance(item, (int, str)) else number_of(item) for item in read]
            self.assertEqual(numbers, [*range(6), "failed", *range(7, 100)], options)

    def test_skip_leaves_out_and_tells(self):
        self.corrupt()
        self.paths.append(self.folder / "missing")
        reader = self.reader(on_error="skip")
        self.assertEqual(len(list(reader)), 99)
        self.assertEqual(reader.problem_count, 2)
        self.assertIn("missing", reader.problems()[0])

    def test_decoding_fails(self):
        def odd(view):
            if number_of(view) % 10 == 3:
                raise KeyError("three")
            return number_of(view)
        reader = self.reader(decode=odd, on_error="skip")
        self.assertEqual((len(list(reader)), reader.problem_count), (90, 10))
        where = f"'{self.paths[0]}' at offset {3 * RECORD}: decoding it failed"
        self.assertEqual(reader.problems()[0], where + ": KeyError: 'three'")
        for threads in (0, 2):
            reader = self.reader(decode=odd, decode_threads=threads)
            with self.assertRaises(KeyError) as raised:
                list(reader)
            self.assertEqual(raised.exception.__notes__, [where])
            self.assertEqual(next(iter(reader)), 4)

    def test_decoding_a_sample_of_a_shard_fails(self):
        path = self.folder / "shard.tar"
        data.write_tar(path, [("x/1", {"cls": b"1"}), ("x/2", {"cls": b"two"})])
        reader = data.Reader(path, format="tar", decode=lambda sample: int(bytes(sample["cls"])))
        with self.assertRaises(ValueError) as raised:
            list(reader)
        self.assertEqual(raised.exception.__notes__, [
            f"'{path}' at offset 1024, sample 'x/2': decoding it failed"])

    def test_decoding_goes_on_while_its_error_is_kept(self):
        def third(view):
            if number_of(view) == 3:
                raise KeyError("three")
            return number_of(view)
        reader = self.reader(decode=third, decode_threads=2)
        kept = None
        try:
            list(reader)
        except KeyError as error:
            kept = error
        rest = iter(reader)
        self.assertEqual([next(rest), next(rest)], [4, 5])
        self.assertEqual(str(kept), "'three'")
        del kept  # Also the loop that it ended.
        self.assertEqual(list(rest), list(range(6, 100)))

    def test_a_thread_that_cannot_be_started_doubles_nothing(self):
        submit = concurrent.futures.ThreadPoolExecutor.submit
        calls = itertools.count()

        def scarce(*arguments):
            if next(calls) == 60:
                raise RuntimeError("can't start new thread")
            return submit(*arguments)
        reader = self.reader(decode=number_of, decode_threads=2)
        read = []
        with unittest.mock.patch.object(concurrent.futures.ThreadPoolExecutor, "submit", scarce):
            with self.assertRaises(RuntimeError):
                read.extend(reader)
            for number in reader:
                read.append(number)
        self.assertEqual(read, list(range(100)))

    def test_an_error_does_not_keep_the_reader(self):
        self.corrupt(6)
        gc.disable()
        self.addCleanup(gc.enable)
        for options in ({}, {"decode": number_of, "decode_threads": 2, "batch": 4},
                        {"decode": {}.__getitem__, "decode_threads": 2}):
            reader = self.reader(**options)
            alive = weakref.ref(reader)
            try:  # assertRaises() would clear the frames under test.
                for _ in reader:
                    pass
                self.fail("there was no error")
            except (errors.Malformed, KeyError):
                pass
            del reader
            self.assertIsNone(alive(), options)

    def test_what_is_decoded_in_vain_ends_with_the_loop(self):
        decoded = []
        reader = self.reader(decode=decoded.append, decode_threads=2)
        next(iter(reader))
        self.assertLess(len(decoded), 20)
        self.assertEqual(len(list(reader)) + 1, 100)

    def test_what_cannot_be_used(self):
        for words, options in (("cannot open", {"paths": [self.folder / "none"]}),
                               ("it is a folder", {"paths": self.folder}),
                               ("no format", {"format": "csv"}), ("rank 3", {"rank": 3}),
                               ("record_bytes", {"record_bytes": 7}), ("batch", {"batch": 0}),
                               ("epochs", {"epochs": 0}), ("on_error", {"on_error": "hope"}),
                               ("decode_threads", {"decode": number_of, "decode_threads": -1}),
                               ("decode_threads", {"decode": number_of, "decode_threads": "3"}),
                               ("without decode", {"decode_threads": "auto"})):
            with self.assertRaisesRegex(ValueError, words):
                data.Reader(**{"paths": self.paths, **options})
        with self.assertRaisesRegex(TypeError, "no option 'deep'"):
            self.reader(deep=1)

    def test_forked_children_may_not(self):
        reader = self.reader()
        next(iter(reader))
        child = os.fork()
        if child == 0:
            try:
                list(reader)
            except errors.UsedAfterFork:
                os._exit(7)  # pylint: disable=protected-access
            os._exit(1)  # pylint: disable=protected-access
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)


if __name__ == "__main__":
    unittest.main()
