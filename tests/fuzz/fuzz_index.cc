// SPDX-License-Identifier: Apache-2.0
// Arbitrary index files: an index is refused, or its extents lie within its file; also with a valid
// checksum. Input: a key, then the index without its checksum.
#include <cstring>
#include <string>

#include "common/check.h"
#include "common/memory/crc32c.h"
#include "input/formats/stored_index.h"
#include "tests/fuzz/input.h"

namespace stretto::input {
namespace {

void check_decoding(const IndexKey& key, const std::string& bytes) {
  const Result<std::vector<Extent>> extents = decode_index(key, bytes);
  if (!extents.ok()) {
    STRETTO_CHECK(!extents.status().cause().empty());
    return;
  }
  std::uint64_t next = 0;
  for (const Extent& extent : *extents) {
    STRETTO_CHECK(extent.bytes > 0 && extent.offset >= next && extent.offset < key.bytes);
    STRETTO_CHECK(extent.bytes <= key.bytes - extent.offset);
    next = extent.offset + 1;
  }
  STRETTO_CHECK(encode_index(key, *extents) == bytes);
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  IndexKey key{.path = "some/file",
               .format = in.flag() ? Format::kTar : Format::kTfRecord,
               .max_sample_bytes = in.take<std::uint16_t>(),
               .bytes = in.take<std::uint32_t>()};
  const Buffer noise = in.rest();
  std::string bytes(reinterpret_cast<const char*>(noise.data()), noise.size());
  check_decoding(key, bytes);
  // Past the checksum, with a valid mark, key and path.
  const std::string right = encode_index(key, {{0, 1}});
  constexpr std::size_t kBehindPath = sizeof(Extent) + sizeof(std::uint32_t);
  for (std::string whole : {bytes, right.substr(0, right.size() - kBehindPath) + bytes}) {
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(whole)));
    whole.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    check_decoding(key, whole);
  }
}

}  // namespace
}  // namespace stretto::input

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::input::run(data, size);
  return 0;
}
