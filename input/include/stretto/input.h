// SPDX-License-Identifier: Apache-2.0
// Reader: the samples of a data set, each exactly once an epoch over all workers, in an order that
// depends on nothing but the options; many reads in flight, as many and as large as suits the
// device.
//
//   stretto::input::Reader reader = stretto::input::Reader::open({
//       .paths = {"train-0.tfrecord", "train-1.tfrecord"},
//       .format = stretto::input::Format::kTfRecord,
//       .shuffle = true, .seed = 7, .rank = worker.rank(), .world = worker.size()}).or_exit();
//   while (std::optional<stretto::input::Sample> sample = reader.next().or_exit()) {
//     train(sample->bytes);
//   }
//
// A reader belongs to no job: `rank` and `world` are numbers that the program gives it, and readers
// of different workers exchange nothing. Threads: one thread at a time uses it; it plans and reads
// ahead on one of its own, and decodes in a pool. Memory: samples are lent to the program, which
// may keep them; they need not be given back in order.
//
// docs/INPUT.md is the guide, with formats, orders and checkpoints. Public: installed with the
// reader.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/input_account.h"
#include "stretto/knobs.h"
#include "stretto/status.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::input {

/// What the files are. Files of all formats are read as they are: none are decompressed.
enum class Format : std::uint8_t {
  kFiles,     ///< Each file is one sample.
  kRecords,   ///< Records of `record_bytes`, one after another; a shorter last one is kMalformed.
  kTfRecord,  ///< Length, CRC, bytes, CRC: TensorFlow's record files.
  kTar,  ///< WebDataset's shards: neighbours with one name but for their extension are a sample.
};

/// What becomes of a sample that cannot be read (after `retries`), is corrupt, is too large, or
/// cannot be decoded.
enum class OnError : std::uint8_t {
  kFail,  ///< next() returns the error in its place; the samples after it can still be taken.
  kSkip,  ///< It is left out, counted, and listed by problems(). So are files that open() misses.
};

/// How the files are read.
enum class Method : std::uint8_t {
  kAuto,     ///< io_uring where it is there and permitted, else threads.
  kUring,    ///< io_uring; open() is kUnsupported where it is not there or not permitted.
  kThreads,  ///< pread in a pool of threads.
};

/// Whether reads bypass the kernel's page cache (O_DIRECT). That saves a copy and processor time
/// where data does not fit into memory; where it does, the cache is faster from the second epoch
/// on. A file system that refuses it is read through the cache.
enum class Direct : std::uint8_t {
  kAuto,  ///< If the data set is larger than half of this machine's memory.
  kOn,
  kOff,
};

/// A file in a tar shard: `name` is what follows the sample's name, such as "jpg". Both are parts
/// of the sample's memory, under its lease.
struct Member {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// One sample, and a lease on its bytes and texts: they are valid as long as a copy of `lease`
/// exists, even when the reader is gone, and must not be changed. Memory that is lent does not
/// count towards Options::memory_bytes, so whoever keeps samples bounds them. Thread: any (a
/// value).
struct Sample {
  std::span<const std::byte> bytes;   ///< The payload; of a tar shard all headers and files.
  std::vector<Member> members;        ///< Of a tar shard only.
  std::string_view key;               ///< Of a tar shard only: what the members' names begin with.
  std::any decoded;                   ///< What Options::decode made of it.
  std::string_view path;              ///< Of its file.
  std::uint64_t offset = 0;           ///< Where in its file it begins, with what frames it.
  std::uint64_t number = 0;           ///< Among all samples of the data set, in the files' order.
  std::uint64_t epoch = 0;            ///< From 0.
  std::shared_ptr<const void> lease;  ///< May end on any thread.
};

/// Decodes a sample, on a thread of the pool; what it returns is Sample::decoded. It is called by
/// several threads at a time, whatever `decode_threads` says, unless that is 1 and `tune` is off,
/// and in no particular order. A result that refers to bytes of the sample needs a copy of the
/// lease. An error and an exception (kMalformed) are treated as Options::on_error says.
using Decode = std::function<Result<std::any>(const Sample& sample)>;

/// What to read, in which order and how. All workers of a job must have the same, but for `rank`
/// and what is tuned: paths, format, everything about shuffling, `even` and `world` decide who
/// reads what. What cannot be is kInvalidArgument from open().
struct Options {
  /// Files, 1 to 2^24 of them, in an order that is the same at all workers. No patterns.
  std::vector<std::string> paths = {};
  Format format = Format::kFiles;
  std::uint64_t record_bytes = 0;                           ///< Of kRecords, above 0; else 0.
  std::uint64_t max_sample_bytes = std::uint64_t{1} << 30;  ///< Larger ones are errors.
  bool check_crc = true;                                    ///< Of the payload, of kTfRecord.
  /// A folder for indices: where in large kTfRecord and kTar files the samples are, so that opening
  /// them again does not scan them. An index of a file that has changed is made anew. Empty: none
  /// are kept. Whoever may write there can choose what is read.
  std::string index_folder = {};

  /// A different permutation for each epoch and seed, the same at all workers and on every machine.
  bool shuffle = false;
  std::uint64_t seed = 0;
  /// Shuffled are blocks of neighbouring samples of about so many bytes, so that reads stay large,
  /// and then the samples of `shuffle_blocks` such blocks among one another. 1: each sample is a
  /// block.
  std::uint64_t shuffle_block_bytes = std::uint64_t{256} << 10;
  std::uint32_t shuffle_blocks = 64;
  std::uint32_t rank = 0;   ///< This worker of `world`, which takes its part of each epoch.
  std::uint32_t world = 1;  ///< Workers, 1 to 2^20.
  bool even = false;  ///< All workers take equally many samples; the rest is left out this epoch.
  std::uint64_t epochs = 1;  ///< 0: without end.

  /// Errors of single samples; what concerns the whole reader is open()'s.
  OnError on_error = OnError::kFail;
  std::uint32_t retries = 2;  ///< Of a read that the system failed; then on_error.

  bool tune = true;         ///< Sets knobs and threads by what is measured while reading.
  std::uint32_t depth = 8;  ///< Reads in flight, at first.
  std::uint32_t read_bytes = 1 << 18;  ///< Of one read at most, at first.
  std::uint64_t memory_bytes = std::uint64_t{256}
                               << 20;  ///< For samples that nobody has taken yet.
  Method method = Method::kAuto;
  Direct direct = Direct::kAuto;

  Decode decode = {};                ///< None: `decoded` stays empty.
  std::uint32_t decode_threads = 2;  ///< At first; with `tune` more, as it pays.

  /// Where the reader is counted. The worker that has the same one in its options tells the job of
  /// it, and the job's scheduler may limit what is in flight. None: nobody tells, and none limits.
  std::shared_ptr<InputAccount> account = process_input_account();
};

/// A place in the order of one worker: what has been passed. Small; valid for the same data set,
/// order, rank and world only. With it a program resumes in the middle of an epoch. Thread: any (a
/// value).
struct Cursor {
  std::uint64_t epoch = 0;
  std::uint64_t passed = 0;       ///< Samples of this worker in this epoch: taken or left out.
  std::uint64_t fingerprint = 0;  ///< Of the data set and all that the order depends on.
  bool operator==(const Cursor&) const = default;

  /// As bytes with a checksum, to be kept with a checkpoint; not text.
  std::string encode() const;
  /// kMalformed if these are not a cursor's bytes; kMismatch if they are of a release of Stretto
  /// whose orders differ.
  static Result<Cursor> decode(std::string_view bytes);
};

namespace detail {
class ReaderState;
}

/// Delivers samples. A thread of its own plans and reads ahead, within Options::memory_bytes, from
/// the first next() on. Movable; what was moved from can only be destroyed or assigned to. Thread:
/// user (one at a time); what says so, any.
class Reader {
 public:
  /// Finds all samples; blocks while it looks at every file, and reads the headers in those that
  /// have some. kInvalidArgument for options that cannot be, for a file that is missing or cannot
  /// be read (with kSkip it is left out), and for fewer samples than workers with `even`;
  /// kUnsupported for a method that is not there.
  static Result<Reader> open(Options options);

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();  ///< Blocks until reads in flight have ended. Samples that were taken stay valid.

  /// The next sample; std::nullopt once at the end of each epoch, and always after the last. Blocks
  /// until there is one. An error (kMalformed: corrupt, truncated, too large, or not decoded;
  /// other codes: what the system or Decode said) takes the place of one sample and names its file
  /// and offset; the next call goes on after it.
  Result<std::optional<Sample>> next();

  /// The place after all that next() has returned.
  Cursor cursor() const;
  /// Continues from there, as if all before had been taken; drops what was read ahead. kMismatch,
  /// and nothing changed, if the cursor is of another data set or order.
  Status seek(const Cursor& cursor);

  std::uint64_t samples() const;         ///< Of the data set, over all workers.
  std::uint64_t bytes() const;           ///< Of the files.
  std::uint64_t epoch_samples() const;   ///< Of this worker, in the epoch of cursor().
  std::uint64_t fingerprint() const;     ///< Equal at workers that see the same data set.
  std::string_view method() const;       ///< "io_uring" or "threads".
  std::uint64_t problem_count() const;   ///< Of all that was left out.
  std::vector<Status> problems() const;  ///< The first 100 of them.

  /// Sets the knobs from the next reads on; the tuner does not change them any more. Values out of
  /// range become the nearest in range. Thread: any.
  void set_knobs(const Knobs& knobs);
  Knobs knobs() const;  ///< Those in force. Thread: any.
  /// What was done since the last call, or since the reader was opened. Thread: any.
  Window take_window();
  /// What the tuner tried, saw and chose, a line for each. Thread: any.
  std::string tuning_log() const;
  /// How many samples are decoded at once, from now on; the tuner does not change that any more.
  /// Values out of range become the nearest in range. Thread: any.
  void set_decode_threads(std::uint32_t threads);
  std::uint32_t decode_threads() const;  ///< Thread: any.

 private:
  friend class detail::ReaderState;
  explicit Reader(std::unique_ptr<detail::ReaderState> state);
  std::unique_ptr<detail::ReaderState> state_;
};

/// The format called "tfrecord", "tar", "files" or "records"; others are kInvalidArgument.
Result<Format> format_named(std::string_view name);

}  // namespace stretto::input
#pragma GCC visibility pop
