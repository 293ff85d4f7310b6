// SPDX-License-Identifier: Apache-2.0
// Bytes are copied into a buffer and checksummed on the way: entries may be small and many.
#include "checkpoint/parts_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/index_codec.h"
#include "checkpoint/parts_file.h"
#include "common/memory/crc32c.h"

namespace stretto::checkpoint {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

template <typename T>
std::span<const std::byte> bytes_of(const T& what) {
  return std::as_bytes(std::span(&what, 1));
}

// The checksums of an entry's chunks, from bytes in pieces of any size.
class ChunkSums {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t in_chunk = count_ % kChunkBytes;
      if (in_chunk == 0) sums_.push_back(0);
      const std::size_t some = std::min(bytes.size(), kChunkBytes - in_chunk);
      sums_.back() = crc32c(bytes.first(some), sums_.back());
      count_ += some;
      bytes = bytes.subspan(some);
    }
  }
  std::uint64_t count() const { return count_; }
  std::vector<std::uint32_t> take() { return std::move(sums_); }

 private:
  std::vector<std::uint32_t> sums_;
  std::uint64_t count_ = 0;
};

}  // namespace

PartsWriter::PartsWriter(std::unique_ptr<File> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {
  pending_.reserve(kBufferBytes);
}

Result<PartsWriter> PartsWriter::create(Disk& disk, const std::string& path,
                                        const CheckpointId& origin) {
  Result<std::unique_ptr<File>> file = disk.open(path, Open::kCreate);
  if (!file.ok()) return file.status();
  PartsWriter writer(std::move(*file), path);
  PartsHead head{
      .version = kFormatVersion, .job = origin.job, .number = origin.number, .step = origin.step};
  std::memcpy(head.magic, kHeadMagic, sizeof head.magic);
  head.checksum = crc32c(bytes_of(head).first(offsetof(PartsHead, checksum)));
  writer.head_checksum_ = head.checksum;
  writer.seal_ = crc32c(bytes_of(head));
  if (Status status = writer.append(bytes_of(head)); !status.ok()) return status;
  return writer;
}

Status PartsWriter::add(SavedEntry entry, const std::vector<std::span<const std::byte>>& bytes) {
  if (!keys_.insert(entry.key).second) {
    return {Code::kInvalidArgument,
            fmt::format("{} is in '{}' already", describe(entry.key), path_)};
  }
  ChunkSums sums;
  for (const std::span<const std::byte> piece : bytes) {
    sums.add(piece);
    if (Status status = append(piece); !status.ok()) return status;
  }
  entry.bytes = sums.count();
  entry.checksums = sums.take();
  entries_.push_back(std::move(entry));
  return {};
}

Result<FileDigest> PartsWriter::finish() {
  const std::string index = encode_index(entries_);
  if (index.size() > kMostIndexBytes) {
    return Status(Code::kResource,
                  fmt::format("the {} entries of '{}' need an index of {} bytes, at most {} are "
                              "taken; use more servers, or larger parts (STRETTO_PART_BYTES)",
                              entries_.size(), path_, index.size(), kMostIndexBytes));
  }
  const auto index_bytes = std::as_bytes(std::span(index));
  PartsEnd end{.index_offset = offset_ + pending_.size(),
               .index_bytes = index.size(),
               .index_checksum = crc32c(index_bytes),
               .head_checksum = head_checksum_};
  std::memcpy(end.magic, kEndMagic, sizeof end.magic);
  Status status = append(index_bytes);
  if (status.ok()) status = append(bytes_of(end));
  if (status.ok()) status = flush();
  if (status.ok()) status = file_->sync();
  if (!status.ok()) return status;
  return FileDigest{.bytes = offset_,
                    .checksum = crc32c(bytes_of(end), crc32c(index_bytes, seal_))};
}

Status PartsWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kBufferBytes - pending_.size());
    pending_.insert(pending_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(some));
    bytes = bytes.subspan(some);
    if (pending_.size() < kBufferBytes) break;
    if (Status status = flush(); !status.ok()) return status;
  }
  return {};
}

Status PartsWriter::flush() {
  Status status = file_->write(offset_, pending_);
  offset_ += pending_.size();
  pending_.clear();
  return status;
}

}  // namespace stretto::checkpoint
