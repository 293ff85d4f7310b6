// SPDX-License-Identifier: Apache-2.0
// A cursor as bytes: a mark and version, three numbers, and a CRC over them; little-endian.
#include <cstring>

#include "common/memory/crc32c.h"
#include "stretto/input.h"

namespace stretto::input {
namespace {

// The version increases whenever a position in an order selects another sample.
constexpr std::string_view kMark = "stretto-cursor-2";
constexpr std::string_view kAnyMark = kMark.substr(0, kMark.size() - 1);
constexpr std::size_t kNumbers = 3;
constexpr std::size_t kBytes =
    kMark.size() + kNumbers * sizeof(std::uint64_t) + sizeof(std::uint32_t);

std::uint32_t checksum(std::string_view bytes) {
  return crc32c(std::as_bytes(std::span(bytes.data(), kBytes - sizeof(std::uint32_t))));
}

}  // namespace

std::string Cursor::encode() const {
  std::string bytes(kMark);
  for (const std::uint64_t number : {epoch, passed, fingerprint}) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

Result<Cursor> Cursor::decode(std::string_view bytes) {
  std::uint32_t crc = 0;
  if (bytes.size() == kBytes) {
    std::memcpy(&crc, bytes.data() + kBytes - sizeof crc, sizeof crc);
  }
  if (bytes.size() != kBytes || !bytes.starts_with(kAnyMark) || crc != checksum(bytes)) {
    return Status(Code::kMalformed, "these bytes are not a cursor as Cursor::encode() makes it");
  }
  if (!bytes.starts_with(kMark)) {
    return Status(Code::kMismatch,
                  "this cursor is of another release of Stretto, whose shuffled orders are others: "
                  "begin an epoch anew, or go on with that release");
  }
  Cursor cursor;
  const char* at = bytes.data() + kMark.size();
  for (std::uint64_t* number : {&cursor.epoch, &cursor.passed, &cursor.fingerprint}) {
    std::memcpy(number, at, sizeof *number);
    at += sizeof *number;
  }
  return cursor;
}

}  // namespace stretto::input
