// SPDX-License-Identifier: Apache-2.0
// Scans files in several threads: on a cold disk reading headers is mostly waiting.
#include "input/formats/index.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <thread>

#include "common/descriptor.h"
#include "common/log.h"
#include "common/mix64.h"
#include "common/mutex.h"
#include "common/threads/interruptible.h"
#include "input/formats/stored_index.h"
#include "input/formats/tar.h"
#include "input/formats/tfrecord.h"

namespace stretto::input {
namespace {

constexpr std::size_t kScanners = 8;

Status interrupted() { return {Code::kCancelled, "looking for samples was interrupted"}; }

/// Shared by the scanners. An interruption of the caller ends each one after its current read.
struct IndexScan {
  explicit IndexScan(const Options& wanted)
      : options(wanted),
        folder(options.index_folder),
        looks(options.paths.size()),
        scanners_left(std::min(kScanners, looks.size())) {}

  const Options& options;
  IndexFolder folder;
  std::vector<std::optional<Result<Index::File>>> looks;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_given_up{false};
  Mutex mutex;
  Condition scanner_ended;
  std::size_t scanners_left GUARDED_BY(mutex);
};

class FileSource final : public Source {
 public:
  FileSource(const std::string& path, int descriptor, std::uint64_t size,
             const std::atomic<bool>& is_given_up)
      : path_(path), descriptor_(descriptor), size_(size), is_given_up_(is_given_up) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      if (is_given_up_) return interrupted();
      const ssize_t count = ::pread(descriptor_, into.data() + got, into.size() - got,
                                    static_cast<off_t>(offset + got));
      if (count == 0) break;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        return Status(Code::kInvalidArgument,
                      fmt::format("cannot read '{}' at offset {}: {}", path_, offset + got,
                                  std::strerror(errno)));
      }
      got += static_cast<std::size_t>(count);
    }
    return got;
  }
  std::uint64_t size() const override { return size_; }

 private:
  const std::string& path_;
  int descriptor_;
  std::uint64_t size_;
  const std::atomic<bool>& is_given_up_;
};

Status cannot(const char* what, const std::string& path, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("cannot {} '{}': {}", what, path, why)};
}

// A hint for a missing file that the user may have misnamed.
std::string hint_for_missing(const std::string& path) {
  if (path.find_first_of("*?[{") != std::string::npos) {
    return "; it looks like a pattern, and patterns are not expanded here: name the files, as "
           "sorted(glob.glob(...)) does in Python";
  }
  return path.starts_with('~') ? "; '~' is not expanded here: write the folder" : "";
}

// The program that unpacks data with this beginning; empty: no known packed format.
std::string_view unpacker_of(std::string_view begin) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"\x1f\x8b\x08", "gunzip"}, {"\x28\xb5\x2f\xfd", "unzstd"}, {"\xfd\x37zXZ", "unxz"}};
  for (const auto& [magic, program] : kKnown) {
    if (begin.starts_with(magic)) return program;
  }
  return {};
}

// Rejects packed files, since records are read in place. A TFRecord file may begin with any bytes:
// its name must match too.
Status check_packed(const Options& options, const std::string& path, int descriptor) {
  std::array<char, 8> begin{};
  const ssize_t got = ::pread(descriptor, begin.data(), begin.size(), 0);
  if (got <= 0) return {};
  const std::string_view program = unpacker_of({begin.data(), static_cast<std::size_t>(got)});
  const bool named = path.ends_with(".gz") || path.ends_with(".zst") || path.ends_with(".xz") ||
                     path.ends_with(".tgz");
  if (program.empty() || (options.format == Format::kTfRecord && !named)) return {};
  return cannot("read", path,
                fmt::format("it is compressed, and records are read where they lie; unpack it "
                            "first ({} does)",
                            program));
}

Result<std::vector<Extent>> scan(const IndexScan& all, const std::string& path, int descriptor,
                                 std::uint64_t size) {
  const Options& options = all.options;
  FileSource source(path, descriptor, size, all.is_given_up);
  return options.format == Format::kTar ? scan_tar(source, options.max_sample_bytes)
                                        : scan_tfrecord(source, options.max_sample_bytes);
}

// Uses the file's stored index, if any. A file that changes during the scan gets none.
Result<std::vector<Extent>> find_records(IndexScan& all, const std::string& path, int descriptor,
                                         const struct stat& about) {
  const Options& options = all.options;
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (options.format == Format::kFiles || options.format == Format::kRecords) {
    return std::vector<Extent>();
  }
  if (Status status = check_packed(options, path, descriptor); !status.ok()) return status;
  const IndexKey key = index_key(options, path, about);
  if (std::optional<std::vector<Extent>> kept = all.folder.load(key)) return *std::move(kept);
  Result<std::vector<Extent>> extents = scan(all, path, descriptor, size);
  struct stat after{};
  if (extents.ok() && ::fstat(descriptor, &after) == 0 && index_key(options, path, after) == key) {
    all.folder.store(key, *extents);
  }
  return extents;
}

Result<Index::File> look_at(IndexScan& all, const std::string& path) {
  const Options& options = all.options;
  // Without O_NONBLOCK opening a FIFO would block.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    const int error = errno;
    return cannot("open", path,
                  std::strerror(error) + (error == ENOENT ? hint_for_missing(path) : ""));
  }
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return cannot("look at", path, std::strerror(errno));
  if (S_ISDIR(about.st_mode)) {
    return cannot("read", path, "it is a folder; name the files that are in it");
  }
  if (!S_ISREG(about.st_mode)) return cannot("read", path, "it is not a regular file");
  Index::File found;
  found.path = std::make_shared<const std::string>(path);
  found.bytes = static_cast<std::uint64_t>(about.st_size);
  if (options.format == Format::kFiles && found.bytes > options.max_sample_bytes) {
    return cannot("read", path,
                  fmt::format("it has {} bytes, more than a sample may have ({}, max_sample_bytes)",
                              found.bytes, options.max_sample_bytes));
  }
  Result<std::vector<Extent>> extents = find_records(all, path, file.get(), about);
  if (!extents.ok()) return extents.status();
  found.extents = *std::move(extents);
  return found;
}

std::uint64_t count_in(const Index::File& file, Format format, std::uint64_t record_bytes) {
  if (format == Format::kFiles) return 1;
  if (format == Format::kRecords) return (file.bytes + record_bytes - 1) / record_bytes;
  return file.extents.size();
}

void run_scanner(IndexScan& scan) {
  for (std::size_t at = scan.next++; at < scan.looks.size() && !scan.is_given_up;
       at = scan.next++) {
    scan.looks[at].emplace(look_at(scan, scan.options.paths[at]));
  }
  MutexLock lock(scan.mutex);
  --scan.scanners_left;
  scan.scanner_ended.notify_all();
}

// False if an interruption ends the wait before the last scanner ends. goes_on() may run code of
// the program, so the lock is not held.
bool await_scanners(IndexScan& scan) {
  while (Interruptible::goes_on()) {
    const Time look = std::chrono::steady_clock::now() + Interruptible::kBetween;
    MutexLock lock(scan.mutex);
    while (scan.scanners_left > 0 &&
           scan.scanner_ended.wait_until(scan.mutex, look) != std::cv_status::timeout) {
    }
    if (scan.scanners_left == 0) return true;
  }
  return false;
}

// Valid, but seldom intended: a shard that was not written yet.
void warn_of_empty(const std::vector<Index::File>& files, std::uint64_t samples) {
  std::uint64_t empty = 0;
  const Index::File* first_empty = nullptr;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::uint64_t end = i + 1 < files.size() ? files[i + 1].first : samples;
    if (end > files[i].first) continue;
    if (empty++ == 0) first_empty = &files[i];
  }
  if (empty == 0) return;
  log(Level::kWarning, "'{}' has {} bytes and no sample{}{}", *first_empty->path,
      first_empty->bytes,
      empty > 1 ? fmt::format(", and so have {} other files", empty - 1) : std::string(),
      samples == 0 ? "; there is nothing to read in an epoch" : "");
}

}  // namespace

Result<Index> Index::build(const Options& options, std::vector<Status>& problems) {
  IndexScan scan(options);
  std::vector<std::jthread> scanners;
  for (std::size_t i = 0; i < std::min(kScanners, scan.looks.size()); ++i) {
    scanners.emplace_back([&scan] { run_scanner(scan); });
  }
  scan.is_given_up = !await_scanners(scan);
  scanners.clear();
  if (scan.is_given_up) return interrupted();
  Index index;
  index.format_ = options.format;
  index.record_bytes_ = options.record_bytes;
  for (std::optional<Result<File>>& look : scan.looks) {
    if (!look->ok()) {
      if (options.on_error == OnError::kFail) return look->status();
      problems.push_back(look->status());
      continue;
    }
    File file = **std::move(look);
    file.first = index.samples_;
    index.samples_ += count_in(file, options.format, options.record_bytes);
    index.bytes_ += file.bytes;
    index.files_.push_back(std::move(file));
  }
  warn_of_empty(index.files_, index.samples_);
  return index;
}

std::uint32_t Index::file_of(std::uint64_t sample) const {
  // Of the files that begin at this sample the last one: those before it have no samples.
  const auto after = std::ranges::upper_bound(files_, sample, {}, &File::first);
  return static_cast<std::uint32_t>(after - files_.begin() - 1);
}

Extent Index::extent_in(const File& file, std::uint64_t which) const {
  if (format_ == Format::kFiles) return {0, file.bytes};
  if (format_ != Format::kRecords) return file.extents[which];
  const std::uint64_t offset = which * record_bytes_;
  return {offset, std::min(record_bytes_, file.bytes - offset)};
}

Place Index::place(std::uint64_t sample) const {
  const std::uint32_t number = file_of(sample);
  const File& file = files_[number];
  return {number, extent_in(file, sample - file.first)};
}

std::uint64_t Index::fingerprint() const {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(format_) * 31 + record_bytes_);
  for (const File& file : files_) {
    for (const char letter : file.path->substr(file.path->rfind('/') + 1)) {
      hash = mix64(hash + static_cast<unsigned char>(letter));
    }
    hash = mix64(mix64(hash + file.bytes) + file.first);
    for (const Extent& extent : file.extents) {
      hash = mix64(mix64(hash + extent.offset) + extent.bytes);
    }
  }
  return mix64(hash + samples_);
}

}  // namespace stretto::input
