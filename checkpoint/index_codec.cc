// SPDX-License-Identifier: Apache-2.0
// Conversion between entries and Protobuf.
#include "checkpoint/index_codec.h"

#include <limits>
#include <set>

#include "checkpoint/index.pb.h"

namespace stretto::checkpoint {
namespace {

bool fits(const wire::Entry& entry) {
  const std::uint64_t chunks = entry.bytes() / kChunkBytes + (entry.bytes() % kChunkBytes != 0);
  return (entry.kind() == static_cast<std::uint32_t>(Kind::kPart) ||
          entry.kind() == static_cast<std::uint32_t>(Kind::kAttached)) &&
         entry.rank() >= kOfAll && static_cast<std::uint64_t>(entry.checksums_size()) == chunks &&
         entry.workers_size() == entry.rounds_size() && entry.dtype() <= 0xff &&
         (entry.dtype() == 0 || bytes_of(static_cast<Dtype>(entry.dtype())) != 0);
}

SavedEntry entry_of(const wire::Entry& read) {
  SavedEntry entry{.key = {.kind = static_cast<Kind>(read.kind()),
                           .name = read.name(),
                           .part = read.part(),
                           .rank = read.rank()},
                   .bytes = read.bytes(),
                   .version = read.version()};
  entry.total = read.total();
  if (read.dtype() != 0) entry.dtype = static_cast<Dtype>(read.dtype());
  entry.shape = read.shape();
  for (int i = 0; i < read.workers_size(); ++i) {
    entry.counted.emplace_back(read.workers(i), read.rounds(i));
  }
  entry.checksums.assign(read.checksums().begin(), read.checksums().end());
  return entry;
}

}  // namespace

std::string encode_index(const std::vector<SavedEntry>& entries) {
  wire::Index index;
  for (const SavedEntry& entry : entries) {
    wire::Entry& written = *index.add_entries();
    written.set_kind(static_cast<std::uint32_t>(entry.key.kind));
    written.set_name(entry.key.name);
    written.set_part(entry.key.part);
    written.set_rank(entry.key.rank);
    written.set_bytes(entry.bytes);
    written.set_version(entry.version);
    written.set_total(entry.total);
    if (entry.dtype) written.set_dtype(static_cast<std::uint32_t>(*entry.dtype));
    written.set_shape(entry.shape);
    written.mutable_checksums()->Add(entry.checksums.begin(), entry.checksums.end());
    for (const auto& [worker, round] : entry.counted) {
      written.add_workers(worker);
      written.add_rounds(round);
    }
  }
  return index.SerializeAsString();
}

std::optional<std::vector<SavedEntry>> decode_index(std::span<const std::byte> bytes) {
  wire::Index index;
  if (bytes.size() > kMostIndexBytes ||
      !index.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  std::vector<SavedEntry> entries;
  std::set<EntryKey> keys;
  for (const wire::Entry& read : index.entries()) {
    if (!fits(read)) return std::nullopt;
    entries.push_back(entry_of(read));
    if (!keys.insert(entries.back().key).second) return std::nullopt;
  }
  return entries;
}

}  // namespace stretto::checkpoint
