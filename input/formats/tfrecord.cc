// SPDX-License-Identifier: Apache-2.0
// A length is used only after its CRC matches, and a record only if the file has room for it.
#include "input/formats/tfrecord.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "common/memory/crc32c.h"

namespace stretto::input {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;

// A CRC over data that contains CRCs is weak, so TFRecord stores it rotated and shifted.
constexpr std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <typename T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

bool length_is_right(std::span<const std::byte> header) {
  return load<std::uint32_t>(header.subspan(kLengthBytes)) ==
         masked(crc32c(header.first(kLengthBytes)));
}

// Whether a record of that length fits between offset and size.
bool fits(std::uint64_t length, std::uint64_t offset, std::uint64_t size) {
  return size - offset >= kTfFrameBytes && length <= size - offset - kTfFrameBytes;
}

// The next offset from `offset` on with a valid header and room for its record.
Result<std::uint64_t> find_header(Glimpse& glimpse, std::uint64_t offset) {
  const std::uint64_t size = glimpse.size();
  while (offset + kTfFrameBytes <= size) {
    Result<std::span<const std::byte>> bytes = glimpse.at(offset, kSearchBytes);
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() < kTfHeaderBytes) break;
    const std::size_t places = bytes->size() - kTfHeaderBytes + 1;
    for (std::size_t i = 0; i < places; ++i) {
      const auto header = bytes->subspan(i, kTfHeaderBytes);
      if (fits(load<std::uint64_t>(header), offset + i, size) && length_is_right(header)) {
        return offset + i;
      }
    }
    offset += places;
  }
  return size;
}

// Where to continue after an invalid header: behind its length if a header follows, or the end.
Result<std::uint64_t> after_wrong(Glimpse& glimpse, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t size = glimpse.size();
  if (fits(length, offset, size)) {
    const std::uint64_t next = offset + kTfFrameBytes + length;
    if (next == size) return next;
    Result<std::span<const std::byte>> header = glimpse.at(next, kTfHeaderBytes);
    if (!header.ok()) return header.status();
    if (header->size() == kTfHeaderBytes && length_is_right(*header)) return next;
  }
  return find_header(glimpse, offset + 1);
}

}  // namespace

Result<std::vector<Extent>> scan_tfrecord(Source& source, std::uint64_t max_bytes) {
  Glimpse glimpse(source);
  const std::uint64_t size = glimpse.size();
  std::vector<Extent> extents;
  for (std::uint64_t offset = 0; offset < size;) {
    Result<std::span<const std::byte>> header = glimpse.at(offset, kTfHeaderBytes);
    if (!header.ok()) return header.status();
    extents.push_back({offset, std::min<std::uint64_t>(kTfHeaderBytes, size - offset)});
    if (header->size() < kTfHeaderBytes) break;
    const auto length = load<std::uint64_t>(*header);
    const bool right = length_is_right(*header);
    if (right) {
      if (!fits(length, offset, size)) break;  // The length is valid: the record was truncated.
      if (length <= max_bytes) extents.back().bytes = kTfFrameBytes + length;
      offset += kTfFrameBytes + length;
    } else {
      Result<std::uint64_t> next = after_wrong(glimpse, offset, length);
      if (!next.ok()) return next.status();
      offset = *next;
    }
  }
  return extents;
}

Result<std::span<const std::byte>> tfrecord_payload(std::span<const std::byte> record,
                                                    std::uint64_t max_bytes, bool check_crc) {
  if (record.size() < kTfHeaderBytes) {
    return Status(Code::kMalformed,
                  fmt::format("the file ends {} bytes into the header of a record, which has {}",
                              record.size(), kTfHeaderBytes));
  }
  const auto length = load<std::uint64_t>(record);
  if (!length_is_right(record.first(kTfHeaderBytes))) {
    return Status(Code::kMalformed,
                  fmt::format("the CRC of a record's length ({}) is wrong: wanted {:08x}, found "
                              "{:08x}; this is no TFRecord file, or it was changed",
                              length, masked(crc32c(record.first(kLengthBytes))),
                              load<std::uint32_t>(record.subspan(kLengthBytes))));
  }
  if (length > max_bytes) {
    return Status(Code::kMalformed, fmt::format("a record of {} bytes is larger than the limit of "
                                                "{} (max_sample_bytes)",
                                                length, max_bytes));
  }
  if (record.size() < kTfFrameBytes || record.size() - kTfFrameBytes < length) {
    return Status(Code::kMalformed,
                  fmt::format("the file ends before the end of a record of {} bytes: it is "
                              "truncated",
                              length));
  }
  const auto payload = record.subspan(kTfHeaderBytes, length);
  const auto stored = load<std::uint32_t>(record.subspan(kTfHeaderBytes + length));
  if (check_crc && stored != masked(crc32c(payload))) {
    return Status(
        Code::kMalformed,
        fmt::format("the CRC of a record's {} bytes is wrong: wanted {:08x}, found {:08x}; "
                    "it was changed",
                    length, stored, masked(crc32c(payload))));
  }
  return payload;
}

std::vector<std::byte> make_tfrecord(std::span<const std::byte> payload) {
  std::vector<std::byte> record(kTfFrameBytes + payload.size());
  const std::uint64_t length = payload.size();
  std::memcpy(record.data(), &length, sizeof length);
  const std::uint32_t header_crc = masked(crc32c(std::span(record).first(kLengthBytes)));
  std::memcpy(record.data() + kLengthBytes, &header_crc, sizeof header_crc);
  if (!payload.empty()) {
    std::memcpy(record.data() + kTfHeaderBytes, payload.data(), payload.size());
  }
  const std::uint32_t payload_crc = masked(crc32c(payload));
  std::memcpy(record.data() + kTfHeaderBytes + payload.size(), &payload_crc, sizeof payload_crc);
  return record;
}

}  // namespace stretto::input
