// SPDX-License-Identifier: Apache-2.0
// Reads the end, then the index, then the entries.
#include "checkpoint/parts_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/index_codec.h"
#include "checkpoint/parts_file.h"
#include "common/memory/crc32c.h"

namespace stretto::checkpoint {
namespace {

template <typename T>
std::span<std::byte> bytes_of(T& what) {
  return std::as_writable_bytes(std::span(&what, 1));
}

template <std::size_t kSize>
bool is(const char (&found)[kSize], const char (&wanted)[kSize]) {
  return std::memcmp(found, wanted, kSize) == 0;
}

// Fills `into` from the file: a short read is an error.
Status fill(File& file, std::uint64_t offset, std::span<std::byte> into, const std::string& path) {
  const Result<std::size_t> count = file.read(offset, into);
  if (!count.ok()) return count.status();
  if (*count == into.size()) return {};
  return {Code::kMalformed,
          fmt::format("'{}' ends after {} bytes, amid what it should hold", path, offset + *count)};
}

}  // namespace

PartsReader::PartsReader(std::unique_ptr<File> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {}

Result<PartsReader> PartsReader::open(Disk& disk, const std::string& path,
                                      const std::optional<FileDigest>& seal) {
  Result<std::unique_ptr<File>> file = disk.open(path, Open::kRead);
  if (!file.ok()) return file.status();
  PartsReader reader(std::move(*file), path);
  if (Status status = reader.read_frame(); !status.ok()) return status;
  if (!seal || *seal == reader.seal_) return reader;
  return Status(
      Code::kMalformed,
      fmt::format("'{}' is whole, but not the file that its manifest names: that one has "
                  "{} bytes and checksum {:08x}, this one {} and {:08x}",
                  path, seal->bytes, seal->checksum, reader.seal_.bytes, reader.seal_.checksum));
}

Status PartsReader::read_frame() {
  const Result<std::uint64_t> size = file_->size();
  if (!size.ok()) return size.status();
  PartsHead head;
  PartsEnd end;
  if (*size < sizeof head) return damaged("it is shorter than its head: writing was not finished");
  if (Status status = fill(*file_, 0, bytes_of(head), path_); !status.ok()) return status;
  if (!is(head.magic, kHeadMagic)) {
    return {Code::kMalformed, fmt::format("'{}' is no file of a Stretto checkpoint", path_)};
  }
  if (head.checksum != crc32c(bytes_of(head).first(offsetof(PartsHead, checksum)))) {
    return damaged("its head has another checksum");
  }
  if (head.version != kFormatVersion) {
    return {Code::kUnsupported,
            fmt::format("'{}' has format {}, and this is Stretto of format {}; read it with the "
                        "release that wrote it, or a later one",
                        path_, head.version, kFormatVersion)};
  }
  if (*size < sizeof head + sizeof end) return damaged("it has no end: writing was not finished");
  const std::uint64_t end_offset = *size - sizeof end;
  if (Status status = fill(*file_, end_offset, bytes_of(end), path_); !status.ok()) return status;
  if (!is(end.magic, kEndMagic)) return damaged("it has no end: writing was not finished");
  if (end.head_checksum != head.checksum || end.index_bytes > kMostIndexBytes ||
      end.index_bytes > end_offset - sizeof head ||
      end.index_offset != end_offset - end.index_bytes) {
    return damaged("its end does not fit to it");
  }
  std::vector<std::byte> index(end.index_bytes);
  if (Status status = fill(*file_, end.index_offset, index, path_); !status.ok()) return status;
  if (crc32c(index) != end.index_checksum) return damaged("its index has another checksum");
  origin_ = {.job = head.job, .number = head.number, .step = head.step};
  seal_ = {.bytes = *size,
           .checksum = crc32c(bytes_of(end), crc32c(index, crc32c(bytes_of(head))))};
  if (Status status = take_index(index); !status.ok()) return status;
  const std::uint64_t behind =
      entries_.empty() ? sizeof head : offsets_.back() + entries_.back().bytes;
  return behind == end.index_offset ? Status() : damaged("its index is of another length");
}

Status PartsReader::take_index(std::span<const std::byte> bytes) {
  std::optional<std::vector<SavedEntry>> entries = decode_index(bytes);
  if (!entries) return damaged("its index says what cannot be");
  std::uint64_t offset = sizeof(PartsHead);
  for (const SavedEntry& entry : *entries) {
    offsets_.push_back(offset);
    if (entry.bytes > seal_.bytes - offset) return damaged("its index says more than it holds");
    offset += entry.bytes;
  }
  entries_ = *std::move(entries);
  return {};
}

Status PartsReader::read_all() {
  const auto drop = [](std::uint64_t, std::span<const std::byte>) { return Status(); };
  // Prefetch while a chunk is checked. In whole chunks: a call for each small entry would cost more
  // than it saves.
  constexpr std::uint64_t kAhead = 4 * kChunkBytes;
  std::uint64_t fetched = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::uint64_t end = std::min(offsets_[i] + entries_[i].bytes + kAhead, seal_.bytes);
    if (end >= fetched + kChunkBytes) {
      file_->will_read(fetched, end - fetched);
      fetched = end;
    }
    if (Status status = read(i, drop); !status.ok()) return status;
  }
  return {};
}

Status PartsReader::read(std::size_t index, const Take& take) {
  const SavedEntry& entry = entries_.at(index);
  const std::size_t most = std::min<std::uint64_t>(entry.bytes, kChunkBytes);
  if (chunk_.size() < most) chunk_.resize(most);
  for (std::size_t number = 0; number < entry.checksums.size(); ++number) {
    const std::uint64_t offset = std::uint64_t{number} * kChunkBytes;
    const std::span bytes =
        std::span(chunk_).first(std::min<std::uint64_t>(entry.bytes - offset, kChunkBytes));
    Status status = fill(*file_, offsets_[index] + offset, bytes, path_);
    if (status.ok() && crc32c(bytes) != entry.checksums[number]) {
      status = damaged(
          fmt::format("{} has another checksum from its byte {} on", describe(entry.key), offset));
    }
    if (status.ok()) status = take(offset, bytes);
    if (!status.ok()) return status;
  }
  return {};
}

Status PartsReader::damaged(std::string_view what) const {
  return {Code::kMalformed, fmt::format("'{}' is damaged: {}", path_, what)};
}

}  // namespace stretto::checkpoint
