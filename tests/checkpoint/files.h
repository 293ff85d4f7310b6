// SPDX-License-Identifier: Apache-2.0
// Files of checkpoints as tests make and read them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/parts_reader.h"
#include "checkpoint/parts_writer.h"

namespace stretto::checkpoint {

using Contents = std::map<EntryKey, std::string>;

inline EntryKey part_key(const std::string& tensor, std::uint32_t part) {
  return {.kind = Kind::kPart, .name = tensor, .part = part};
}

inline Result<FileDigest> write_file(Disk& disk, const std::string& path,
                                     const CheckpointId& origin, const Contents& contents) {
  Result<PartsWriter> writer = PartsWriter::create(disk, path, origin);
  if (!writer.ok()) return writer.status();
  for (const auto& [key, text] : contents) {
    const std::size_t half = text.size() / 2;
    const auto bytes = std::as_bytes(std::span(text));
    const Status status = writer->add({.key = key, .version = 7, .counted = {{3, 8}, {5, 9}}},
                                      {bytes.first(half), bytes.subspan(half)});
    if (!status.ok()) return status;
  }
  return writer->finish();
}

inline Result<Contents> read_file(Disk& disk, const std::string& path,
                                  const std::optional<FileDigest>& seal = std::nullopt) {
  Result<PartsReader> reader = PartsReader::open(disk, path, seal);
  if (!reader.ok()) return reader.status();
  Contents contents;
  for (std::size_t i = 0; i < reader->entries().size(); ++i) {
    std::string& text = contents[reader->entries()[i].key];
    const Status status = reader->read(i, [&](std::uint64_t, std::span<const std::byte> bytes) {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return Status();
    });
    if (!status.ok()) return status;
  }
  return contents;
}

}  // namespace stretto::checkpoint
