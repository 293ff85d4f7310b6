// SPDX-License-Identifier: Apache-2.0
// Reader: the samples of a data set, each exactly once an epoch over all workers, in an order that
// depends only on the options. Many reads are in flight; their number and size adapt to the device.
//
//   stretto::input::Reader reader = stretto::input::Reader::open({
//       .paths = {"train-0.tfrecord", "train-1.tfrecord"},
//       .format = stretto::input::Format::kTfRecord,
//       .shuffle = true, .seed = 7, .rank = worker.rank(), .world = worker.size()}).or_exit();
//   while (std::optional<stretto::input::Sample> sample = reader.next().or_exit()) {
//     train(sample->bytes);
//   }
//
// A reader belongs to no job: the program passes `rank` and `world`, and readers of different
// workers do not communicate. Threads: one thread at a time uses it; it plans and reads ahead on
// its own thread, and decodes in a pool. Memory: samples are leased to the program, which may keep
// them and release them in any order.
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

/// File formats. Files are never decompressed.
enum class Format : std::uint8_t {
  kFiles,     ///< Each file is one sample.
  kRecords,   ///< Records of `record_bytes`, one after another; a shorter last one is kMalformed.
  kTfRecord,  ///< Length, CRC, bytes, CRC: TensorFlow's record files.
  kTar,  ///< WebDataset's shards: neighbours with equal names but for the extension form a sample.
};

/// Handling of a sample that cannot be read (after `retries`), is corrupt, is too large, or cannot
/// be decoded.
enum class OnError : std::uint8_t {
  kFail,  ///< next() returns the error in its place; later samples remain available.
  kSkip,  ///< It is left out, counted, and listed by problems(). So are missing files in open().
};

/// How the files are read.
enum class Method : std::uint8_t {
  kAuto,     ///< io_uring if available and permitted, else threads.
  kUring,    ///< io_uring; otherwise open() returns kUnsupported.
  kThreads,  ///< pread in a pool of threads.
};

/// Whether reads bypass the kernel's page cache (O_DIRECT). That saves a copy and processor time if
/// the data exceeds memory; otherwise the cache is faster from the second epoch on. A file system
/// without O_DIRECT is read through the cache.
enum class Direct : std::uint8_t {
  kAuto,  ///< If the data set is larger than half of this machine's memory.
  kOn,
  kOff,
};

/// A file in a tar shard: `name` is the rest after the sample's name, such as "jpg". Both views
/// point into the sample's memory, under its lease.
struct Member {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// One sample, and a lease on its bytes and texts: they are valid while a copy of `lease` exists,
/// even after the reader's destruction, and must not be changed. Leased memory does not count
/// towards Options::memory_bytes, so a program that keeps samples must limit their number. Thread:
/// any (a value).
struct Sample {
  std::span<const std::byte> bytes;   ///< The payload; of a tar shard all headers and files.
  std::vector<Member> members;        ///< Of a tar shard only.
  std::string_view key;               ///< Of a tar shard only: the prefix of the members' names.
  std::any decoded;                   ///< The result of Options::decode.
  std::string_view path;              ///< Of its file.
  std::uint64_t offset = 0;           ///< Offset in its file, with its framing.
  std::uint64_t number = 0;           ///< Among all samples of the data set, in the files' order.
  std::uint64_t epoch = 0;            ///< From 0.
  std::shared_ptr<const void> lease;  ///< May end on any thread.
};

/// Decodes a sample, on a thread of the pool; the result becomes Sample::decoded. Several threads
/// may call it at a time, in any order, unless `decode_threads` is 1 and `tune` is off. A result
/// that refers to bytes of the sample needs a copy of the lease. An error or an exception
/// (kMalformed) is handled by Options::on_error.
using Decode = std::function<Result<std::any>(const Sample& sample)>;

/// What to read, in which order and how. All workers of a job need equal options, except `rank` and
/// tuned values: paths, format, all shuffling options, `even` and `world` assign samples to
/// workers. Invalid options give kInvalidArgument from open().
struct Options {
  /// Files, 1 to 2^24 of them, in an order that is the same at all workers. No patterns.
  std::vector<std::string> paths = {};
  Format format = Format::kFiles;
  std::uint64_t record_bytes = 0;                           ///< Of kRecords, above 0; else 0.
  std::uint64_t max_sample_bytes = std::uint64_t{1} << 30;  ///< Larger ones are errors.
  bool check_crc = true;                                    ///< Of the payload, of kTfRecord.
  /// A folder for indices of samples in large kTfRecord and kTar files, so that opening them again
  /// needs no scan. A changed file is indexed again. Empty: no indices are stored. Any user with
  /// write access can choose what is read.
  std::string index_folder = {};

  /// A different permutation for each epoch and seed, equal at all workers and on every machine.
  bool shuffle = false;
  std::uint64_t seed = 0;
  /// Shuffling first permutes blocks of neighbouring samples of about `shuffle_block_bytes`, so
  /// that reads stay large, and then the samples within each `shuffle_blocks` blocks. 1: each
  /// sample is a block.
  std::uint64_t shuffle_block_bytes = std::uint64_t{256} << 10;
  std::uint32_t shuffle_blocks = 64;
  std::uint32_t rank = 0;   ///< This worker of `world`, which takes its part of each epoch.
  std::uint32_t world = 1;  ///< Workers, 1 to 2^20.
  bool even = false;  ///< All workers take equally many samples; the epoch leaves out the rest.
  std::uint64_t epochs = 1;  ///< 0: without end.

  /// Handling of errors of single samples; open() reports errors of the whole reader.
  OnError on_error = OnError::kFail;
  std::uint32_t retries = 2;  ///< Of a failed read; then on_error applies.

  bool tune = true;                    ///< Adjusts knobs and threads by measurements while reading.
  std::uint32_t depth = 8;             ///< Reads in flight, at first.
  std::uint32_t read_bytes = 1 << 18;  ///< Maximum of one read, at first.
  std::uint64_t memory_bytes = std::uint64_t{256}
                               << 20;  ///< For samples that the program has not taken yet.
  Method method = Method::kAuto;
  Direct direct = Direct::kAuto;

  Decode decode = {};                ///< None: `decoded` stays empty.
  std::uint32_t decode_threads = 2;  ///< At first; `tune` adds more if that pays.

  /// Counts what the reader does. A worker with the same account in its options reports it to the
  /// job, whose scheduler may limit bytes in flight. None: no report and no limit.
  std::shared_ptr<InputAccount> account = process_input_account();
};

/// A position in the order of one worker. Small; valid only for the same data set, order, rank and
/// world. With it a program resumes within an epoch. Thread: any (a value).
struct Cursor {
  std::uint64_t epoch = 0;
  std::uint64_t passed = 0;       ///< Samples of this worker in this epoch: taken or left out.
  std::uint64_t fingerprint = 0;  ///< Of the data set and of all options that determine the order.
  bool operator==(const Cursor&) const = default;

  /// As bytes with a checksum, for a checkpoint; not text.
  std::string encode() const;
  /// kMalformed for other bytes than a cursor's; kMismatch for a release of Stretto with other
  /// orders.
  static Result<Cursor> decode(std::string_view bytes);
};

namespace detail {
class ReaderState;
}

/// Delivers samples. A thread of its own plans and reads ahead, within Options::memory_bytes, from
/// the first next() on. Movable; a moved-from reader can only be destroyed or assigned to. Thread:
/// user (one at a time), unless marked any.
class Reader {
 public:
  /// Finds all samples; blocks while it inspects every file, and reads their headers if they have
  /// some. kInvalidArgument for invalid options, for a missing or unreadable file (left out with
  /// kSkip), and for fewer samples than workers with `even`; kUnsupported for an unavailable
  /// method.
  static Result<Reader> open(Options options);

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();  ///< Blocks until reads in flight have ended. Taken samples stay valid.

  /// The next sample; std::nullopt once at the end of each epoch, and always after the last. Blocks
  /// until a sample is ready. An error (kMalformed: corrupt, truncated, too large, or not decoded;
  /// other codes: from the system or Decode) takes the place of one sample and names its file and
  /// offset; the next call continues after it.
  Result<std::optional<Sample>> next();

  /// The position after all samples that next() has returned.
  Cursor cursor() const;
  /// Continues at `cursor`; drops what was read ahead. kMismatch, without a change, if the cursor
  /// belongs to another data set or order.
  Status seek(const Cursor& cursor);

  std::uint64_t samples() const;         ///< Of the data set, over all workers.
  std::uint64_t bytes() const;           ///< Of the files.
  std::uint64_t epoch_samples() const;   ///< Of this worker, in the epoch of cursor().
  std::uint64_t fingerprint() const;     ///< Equal at workers with the same data set.
  std::string_view method() const;       ///< "io_uring" or "threads".
  std::uint64_t problem_count() const;   ///< Of all samples and files left out.
  std::vector<Status> problems() const;  ///< The first 100 of them.

  /// Sets the knobs from the next reads on, and stops their tuning. Values out of range are
  /// clamped. Thread: any.
  void set_knobs(const Knobs& knobs);
  Knobs knobs() const;  ///< The current ones. Thread: any.
  /// Measurements since the last call, or since the reader was opened. Thread: any.
  Window take_window();
  /// The tuner's trials, measurements and choices, a line for each. Thread: any.
  std::string tuning_log() const;
  /// Sets the number of decoding threads from now on, and stops its tuning. Values out of range are
  /// clamped. Thread: any.
  void set_decode_threads(std::uint32_t threads);
  std::uint32_t decode_threads() const;  ///< Thread: any.

 private:
  friend class detail::ReaderState;
  explicit Reader(std::unique_ptr<detail::ReaderState> state);
  std::unique_ptr<detail::ReaderState> state_;
};

/// The format called "tfrecord", "tar", "files" or "records"; other names are kInvalidArgument.
Result<Format> format_named(std::string_view name);

}  // namespace stretto::input
#pragma GCC visibility pop
