// SPDX-License-Identifier: Apache-2.0
// Format: mark, key, number of extents, extents, path, CRC32C over all before it; little-endian. A
// file is written under a temporary name and renamed, so that readers never see an incomplete file.
// A file torn by a crash fails its checksum.
#include "input/formats/stored_index.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>

#include "common/descriptor.h"
#include "common/log.h"
#include "common/memory/crc32c.h"
#include "common/mix64.h"

namespace stretto::input {
namespace {

// Increment the number when an index's content changes, or the rules that split files into samples.
constexpr std::string_view kIndexMark = "stretto-index-3\n";
constexpr std::size_t kCrcBytes = sizeof(std::uint32_t);
constexpr std::size_t kMostPath = 4096;
constexpr std::uint64_t kMostFraming = std::uint64_t{1} << 20;  // Headers around a sample.
constexpr std::uint64_t kLeastRecord = sizeof(Extent);          // Minimum framing of a sample.

/// All fields but the path, after the mark.
struct IndexHeader {
  std::uint64_t format = 0;
  std::uint64_t max_sample_bytes = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t path_bytes = 0;
  std::uint64_t extents = 0;
  bool operator==(const IndexHeader&) const = default;
};

IndexHeader header_of(const IndexKey& key, std::uint64_t extents) {
  return {.format = static_cast<std::uint64_t>(key.format),
          .max_sample_bytes = key.max_sample_bytes,
          .bytes = key.bytes,
          .modified_ns = key.modified_ns,
          .changed_ns = key.changed_ns,
          .path_bytes = key.path.size(),
          .extents = extents};
}

constexpr std::size_t kFixedBytes = kIndexMark.size() + sizeof(IndexHeader) + kCrcBytes;

std::uint32_t index_checksum(std::string_view bytes) {
  return crc32c(std::as_bytes(std::span(bytes)));
}

Status malformed(const char* why) { return {Code::kMalformed, why}; }

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Status check_extents(const IndexKey& key, const std::vector<Extent>& extents) {
  std::uint64_t next = 0;
  for (const Extent& extent : extents) {
    const bool inside = extent.offset < key.bytes && extent.bytes <= key.bytes - extent.offset;
    const bool too_large =
        extent.bytes > kMostFraming && extent.bytes - kMostFraming > key.max_sample_bytes;
    if (!inside || too_large || extent.bytes == 0 || extent.offset < next) {
      return malformed("an index with extents that no file of this size has");
    }
    next = extent.offset + 1;
  }
  return {};
}

Status failed(const char* what, const std::string& path) {
  return {Code::kResource, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno))};
}

Status write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status replace_file(const std::string& path, std::string_view bytes) {
  std::string partial = path + ".XXXXXX";
  const Descriptor file(::mkostemp(partial.data(), O_CLOEXEC));
  if (!file.is_open()) return failed("make", partial);
  constexpr mode_t kForAllToRead = 0644;
  Status status = write_all(file.get(), bytes, partial);
  if (status.ok() && ::fchmod(file.get(), kForAllToRead) != 0) status = failed("open up", partial);
  if (status.ok() && ::rename(partial.c_str(), path.c_str()) != 0) status = failed("name", path);
  if (!status.ok()) ::unlink(partial.c_str());
  return status;
}

bool read_all(int descriptor, std::span<char> into) {
  while (!into.empty()) {
    const ssize_t count = ::read(descriptor, into.data(), into.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// The expected size of an index with this beginning; 0 if it has another key.
std::uint64_t size_told(const IndexKey& key, std::string_view begin) {
  IndexHeader header;
  std::memcpy(&header, begin.data() + kIndexMark.size(), sizeof header);
  const bool right = begin.starts_with(kIndexMark) && header == header_of(key, header.extents);
  if (!right || header.path_bytes > kMostPath || header.extents > key.bytes / kLeastRecord) {
    return 0;
  }
  return kFixedBytes + header.path_bytes + header.extents * sizeof(Extent);
}

// None if there is no such file, or it cannot be an index of this key: checked before allocating.
std::optional<std::string> read_file(const std::string& path, const IndexKey& key) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0) return std::nullopt;
  std::string bytes(kFixedBytes - kCrcBytes, '\0');
  const std::size_t begin = bytes.size();
  if (!S_ISREG(about.st_mode) || !read_all(file.get(), bytes)) return std::nullopt;
  const std::uint64_t size = size_told(key, bytes);
  if (size == 0 || size != static_cast<std::uint64_t>(about.st_size)) return std::nullopt;
  bytes.resize(size);
  if (!read_all(file.get(), std::span(bytes).subspan(begin))) return std::nullopt;
  return bytes;
}

std::optional<std::vector<Extent>> load_file(const std::string& path, const IndexKey& key) {
  const std::optional<std::string> bytes = read_file(path, key);
  if (!bytes) return std::nullopt;
  Result<std::vector<Extent>> extents = decode_index(key, *bytes);
  if (!extents.ok()) return std::nullopt;
  return *std::move(extents);
}

}  // namespace

IndexKey index_key(const Options& options, const std::string& path, const struct stat& about) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return {.path = error ? path : whole.lexically_normal().string(),
          .format = options.format,
          .max_sample_bytes = options.max_sample_bytes,
          .bytes = static_cast<std::uint64_t>(about.st_size),
          .modified_ns = nanoseconds(about.st_mtim),
          .changed_ns = nanoseconds(about.st_ctim)};
}

std::string encode_index(const IndexKey& key, const std::vector<Extent>& extents) {
  const IndexHeader header = header_of(key, extents.size());
  std::string bytes(kIndexMark);
  bytes.reserve(kFixedBytes + key.path.size() + extents.size() * sizeof(Extent));
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(key.path);
  bytes.append(reinterpret_cast<const char*>(extents.data()), extents.size() * sizeof(Extent));
  const std::uint32_t crc = index_checksum(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

Result<std::vector<Extent>> decode_index(const IndexKey& key, std::string_view bytes) {
  if (bytes.size() < kFixedBytes || !bytes.starts_with(kIndexMark)) return malformed("no index");
  const std::string_view told = bytes.substr(0, bytes.size() - kCrcBytes);
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + told.size(), sizeof crc);
  if (crc != index_checksum(told)) return malformed("an index whose checksum is wrong");
  IndexHeader header;
  std::memcpy(&header, told.data() + kIndexMark.size(), sizeof header);
  const std::string_view rest = told.substr(kIndexMark.size() + sizeof header);
  if (header.path_bytes > kMostPath || header.path_bytes > rest.size()) {
    return malformed("an index whose path is too long");
  }
  const std::string_view places = rest.substr(header.path_bytes);
  if (places.size() % sizeof(Extent) != 0 || places.size() / sizeof(Extent) != header.extents) {
    return malformed("an index of another length than it says");
  }
  if (header != header_of(key, header.extents) || rest.substr(0, header.path_bytes) != key.path) {
    return Status(Code::kMismatch, "an index of another file, or of what it was before");
  }
  std::vector<Extent> extents(header.extents);
  if (!extents.empty()) std::memcpy(extents.data(), places.data(), places.size());
  Status status = check_extents(key, extents);
  if (!status.ok()) return status;
  return extents;
}

std::string IndexFolder::file_of(const IndexKey& key) const {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(key.format) + 1);
  for (const char letter : key.path) hash = mix64(hash + static_cast<unsigned char>(letter));
  return fmt::format("{}/{:016x}.index", path_, hash);
}

std::optional<std::vector<Extent>> IndexFolder::load(const IndexKey& key) const {
  if (!keeps(key)) return std::nullopt;
  try {
    return load_file(file_of(key), key);
  } catch (const std::bad_alloc&) {  // The index may be as large as its file.
    return std::nullopt;
  }
}

void IndexFolder::store(const IndexKey& key, const std::vector<Extent>& extents) {
  if (!keeps(key) || key.path.size() > kMostPath) return;
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  const Status status = replace_file(file_of(key), encode_index(key, extents));
  if (status.ok() || has_failed_.exchange(true)) return;
  log(Level::kWarning, "no index is kept in '{}', so opening reads each file again: {}", path_,
      status.cause());
}

}  // namespace stretto::input
