// SPDX-License-Identifier: Apache-2.0
// TFRecord: length (u64), masked CRC32C of the length (u32), payload, masked CRC32C of the payload
// (u32); little-endian. Pure; files are untrusted.
#pragma once

#include <string>
#include <vector>

#include "input/formats/byte_source.h"
#include "stretto/status.h"

namespace stretto::input {

inline constexpr std::size_t kTfHeaderBytes = 12;
inline constexpr std::size_t kTfFooterBytes = 4;
inline constexpr std::size_t kTfFrameBytes = kTfHeaderBytes + kTfFooterBytes;

/// The extents of a file's records. A truncated record, or one with an invalid length, gets an
/// extent with only its header, so that reading it gives the error; the scan continues at the next
/// valid header. Errors are the source's.
Result<std::vector<Extent>> scan_tfrecord(Source& source, std::uint64_t max_bytes);

/// The payload in the bytes of an extent. kMalformed describes the error.
Result<std::span<const std::byte>> tfrecord_payload(std::span<const std::byte> record,
                                                    std::uint64_t max_bytes, bool check_crc);

/// A record in the file format.
std::vector<std::byte> make_tfrecord(std::span<const std::byte> payload);

}  // namespace stretto::input
