// SPDX-License-Identifier: Apache-2.0
// Arbitrary manifests and files of parts with valid checksums: reading returns exactly what was
// written, or an error. Input: the kind of file, then a manifest's JSON; or the length of an index,
// the index, and the entries' bytes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "checkpoint/manifest.h"
#include "checkpoint/parts_file.h"
#include "checkpoint/parts_reader.h"
#include "common/check.h"
#include "common/memory/crc32c.h"
#include "tests/fuzz/input.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

std::uint32_t sum_of(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

template <typename T>
std::string text_of(const T& what) {
  return {reinterpret_cast<const char*>(&what), sizeof what};
}

void check_manifest(const std::string& body) {
  char line[64];
  std::snprintf(line, sizeof line, "stretto checkpoint 1 crc32c %08x\n", sum_of(body));
  const Result<CheckpointManifest> manifest = decode_manifest(line + body, "MANIFEST");
  if (!manifest.ok()) {
    STRETTO_CHECK(!manifest.status().cause().empty());
    return;
  }
  const std::string again = encode(*manifest);
  const Result<CheckpointManifest> read = decode_manifest(again, "MANIFEST");
  STRETTO_CHECK(read.ok() && encode(*read) == again);
}

void check_file(const std::string& index, const std::string& entries) {
  PartsHead head{.version = kFormatVersion};
  std::memcpy(head.magic, kHeadMagic, sizeof head.magic);
  head.checksum = sum_of(text_of(head).substr(0, offsetof(PartsHead, checksum)));
  PartsEnd end{.index_offset = sizeof head + entries.size(),
               .index_bytes = index.size(),
               .index_checksum = sum_of(index),
               .head_checksum = head.checksum};
  std::memcpy(end.magic, kEndMagic, sizeof end.magic);
  const std::string all = text_of(head) + entries + index + text_of(end);
  sim::SimDisk disk(1);
  disk.open("f", Open::kCreate).or_exit()->write(0, std::as_bytes(std::span(all))).or_exit();
  Result<PartsReader> reader = PartsReader::open(disk, "f");
  if (!reader.ok()) return;
  std::string read;
  for (std::size_t i = 0; i < reader->entries().size(); ++i) {
    const Status status = reader->read(i, [&read](std::uint64_t, std::span<const std::byte> bytes) {
      read.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return Status();
    });
    if (!status.ok()) return;
  }
  STRETTO_CHECK(read == entries);
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const bool is_manifest = in.flag();
  const std::size_t index_bytes = is_manifest ? 0 : in.take<std::uint16_t>();
  const Buffer rest = in.rest();
  const std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (is_manifest) return check_manifest(text);
  const std::size_t cut = std::min(index_bytes, text.size());
  check_file(text.substr(0, cut), text.substr(cut));
}

}  // namespace
}  // namespace stretto::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::checkpoint::run(data, size);
  return 0;
}
