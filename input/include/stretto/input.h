// SPDX-License-Identifier: Apache-2.0
// Reader: the samples of a data set, each exactly once an epoch over all workers, in an order that
// depends on nothing but the options; many reads under way, as many and as large as the device
// likes.
//
//   stretto::input::Reader reader = stretto::input::Reader::open({
//       .paths = {"train-0.tfrecord", "train-1.tfrecord"},
//       .format = stretto::input::Format::kTfRecord,
//       .shuffle = true, .seed = 7, .rank = worker.rank(), .world = worker.size()}).or_exit();
//   while (std::optional<stretto::input::Sample> sample = reader.next().or_exit()) {
//     train(sample->bytes);
//   }
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

#include "stretto/knobs.h"
#include "stretto/status.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::input {

/// What the files are.
enum class Format : std::uint8_t {
  kFiles,     ///< Each file is one sample.
  kRecords,   ///< Records of `record_bytes`, one after another.
  kTfRecord,  ///< Length, CRC, bytes, CRC: TensorFlow's record files.
  kTar,  ///< WebDataset's shards: neighbours with one name but for their extension are a sample.
};

/// What becomes of a sample that cannot be read, is corrupt, or cannot be decoded.
enum class OnError : std::uint8_t {
  kFail,  ///< next() tells the error in its place; the samples after it can still be taken.
  kSkip,  ///< It is left out, counted, and told by problems().
};

/// How the files are read.
enum class Method : std::uint8_t {
  kAuto,     ///< io_uring where it is there and permitted, else threads.
  kUring,    ///< io_uring; kUnsupported where it is not there.
  kThreads,  ///< pread in a pool of threads.
};

/// Whether the kernel's page cache is passed by (O_DIRECT). A file system that refuses that is read
/// through the cache.
enum class Direct : std::uint8_t {
  kAuto,  ///< If the data set is larger than half of this machine's memory.
  kOn,
  kOff,
};

/// A file in a tar shard: `name` is what follows the sample's name, such as "jpg".
struct Member {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// One sample, and a lease on its bytes and texts: they stay as long as a copy of `lease` does,
/// even when the reader is gone. Memory that is lent does not count as the reader's. Thread: any (a
/// value).
struct Sample {
  std::span<const std::byte> bytes;  ///< The payload; of a tar shard all headers and files.
  std::vector<Member> members;       ///< Of a tar shard only.
  std::string_view key;              ///< Of a tar shard only: what the members' names begin with.
  std::any decoded;                  ///< What Options::decode made of it.
  std::string_view path;             ///< Of its file.
  std::uint64_t offset = 0;          ///< Where in its file it begins, with what frames it.
  std::uint64_t number = 0;          ///< Among all samples of the data set, in the files' order.
  std::uint64_t epoch = 0;
  std::shared_ptr<const void> lease;
};

/// Makes something of a sample, on a thread of the pool. It is called by several threads at a time,
/// whatever `decode_threads` says, unless that is 1 and `tune` is off. What it holds of the bytes
/// of the sample needs a copy of the lease.
using Decode = std::function<Result<std::any>(const Sample& sample)>;

/// What to read, in which order and how.
struct Options {
  std::vector<std::string> paths = {};  ///< In an order that is the same at all workers.
  Format format = Format::kFiles;
  std::uint64_t record_bytes = 0;                           ///< Of kRecords.
  std::uint64_t max_sample_bytes = std::uint64_t{1} << 30;  ///< Larger ones are errors.
  bool check_crc = true;                                    ///< Of the payload, of kTfRecord.
  /// Where it is kept at which places large kTfRecord and kTar files have their samples, so that
  /// opening them again does not read them. Empty: nowhere. Whoever may write there may choose what
  /// is read.
  std::string index_folder = {};

  bool shuffle = false;
  std::uint64_t seed = 0;
  /// What is shuffled is blocks of neighbours of about so many bytes, and then the samples of
  /// `shuffle_blocks` such blocks among one another. 1: each sample is a block.
  std::uint64_t shuffle_block_bytes = std::uint64_t{256} << 10;
  std::uint32_t shuffle_blocks = 64;
  std::uint32_t rank = 0;  ///< This worker of `world` takes its part of each epoch.
  std::uint32_t world = 1;
  bool even = false;         ///< All workers take equally many; the rest is left out this epoch.
  std::uint64_t epochs = 1;  ///< 0: without end.

  OnError on_error = OnError::kFail;
  std::uint32_t retries = 2;  ///< Of a read that the system failed.

  bool tune = true;                    ///< Knobs and threads by what is measured while reading.
  std::uint32_t depth = 8;             ///< Reads under way, at first.
  std::uint32_t read_bytes = 1 << 18;  ///< Of one read at most, at first.
  std::uint64_t memory_bytes = std::uint64_t{256}
                               << 20;  ///< For samples that nobody has taken yet.
  Method method = Method::kAuto;
  Direct direct = Direct::kAuto;

  Decode decode = {};                ///< None: `decoded` stays empty.
  std::uint32_t decode_threads = 2;  ///< At first; with `tune` more, as it pays.
};

/// A place in the order of one worker: what has been passed. Small, and good for the same data set,
/// order, rank and world only.
struct Cursor {
  std::uint64_t epoch = 0;
  std::uint64_t passed = 0;       ///< Samples of this worker in this epoch: taken or left out.
  std::uint64_t fingerprint = 0;  ///< Of the data set and all that the order depends on.
  bool operator==(const Cursor&) const = default;

  /// As bytes, with a checksum, to be kept with a checkpoint.
  std::string encode() const;
  /// kMalformed if those are not a cursor's.
  static Result<Cursor> decode(std::string_view bytes);
};

namespace detail {
class ReaderState;
}

/// Delivers samples. A thread of its own plans and reads ahead. Thread: user (one at a time); what
/// says so, any.
class Reader {
 public:
  /// Finds all samples: looks at every file, and reads the headers in those that have some.
  /// kInvalidArgument names the file that is missing or cannot be read; with kSkip it is left out.
  static Result<Reader> open(Options options);

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();  ///< Waits for the reads under way. Samples that were taken stay.

  /// The next sample; none at the end of each epoch, and for ever after the last. Waits if there is
  /// none yet. An error stands for a sample, names its file and offset, and the next call goes on
  /// behind it.
  Result<std::optional<Sample>> next();

  /// Behind what next() has told.
  Cursor cursor() const;
  /// Goes on from there, as if all before had been taken. kMismatch if it is another order's.
  Status seek(const Cursor& cursor);

  std::uint64_t samples() const;         ///< Of the data set.
  std::uint64_t bytes() const;           ///< Of the files.
  std::uint64_t epoch_samples() const;   ///< Of this worker, in the epoch of cursor().
  std::uint64_t fingerprint() const;     ///< Equal at workers that see the same data set.
  std::string_view method() const;       ///< "io_uring" or "threads".
  std::uint64_t problem_count() const;   ///< Of all that was left out.
  std::vector<Status> problems() const;  ///< The first 100 of them.

  /// Turns the knobs, from the next reads on; the tuner leaves them alone then. Out of bounds: the
  /// nearest. Thread: any.
  void set_knobs(const Knobs& knobs);
  Knobs knobs() const;  ///< Thread: any.
  /// What was done since it was last called. Thread: any.
  Window take_window();
  /// What the tuner tried, saw and chose, a line for each. Thread: any.
  std::string tuning_log() const;
  /// How many samples are decoded at once, from now on; the tuner leaves it alone then. Thread:
  /// any.
  void set_decode_threads(std::uint32_t threads);
  std::uint32_t decode_threads() const;  ///< Thread: any.

 private:
  friend class detail::ReaderState;
  explicit Reader(std::unique_ptr<detail::ReaderState> state);
  std::unique_ptr<detail::ReaderState> state_;
};

/// "tfrecord", "tar", "files" or "records".
Result<Format> format_named(std::string_view name);

}  // namespace stretto::input
#pragma GCC visibility pop
