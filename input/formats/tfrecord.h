// SPDX-License-Identifier: Apache-2.0
// TFRecord: length (u64), masked CRC32C of the length (u32), payload, masked CRC32C of the payload
// (u32); little-endian. Pure; nothing in a file is trusted.
#pragma once

#include <string>
#include <vector>

#include "input/formats/byte_source.h"
#include "stretto/status.h"

namespace stretto::input {

inline constexpr std::size_t kTfHeaderBytes = 12;
inline constexpr std::size_t kTfFooterBytes = 4;
inline constexpr std::size_t kTfFrameBytes = kTfHeaderBytes + kTfFooterBytes;

/// Where the records of a file are. A record that cannot be whole or whose length is not to be
/// trusted is there with its header only, so that reading it gives the error; behind it the next
/// header with a right CRC is looked for. An error is the source's.
Result<std::vector<Extent>> scan_tfrecord(Source& source, std::uint64_t max_bytes);

/// The payload in the bytes of an extent. kMalformed says what is wrong with it.
Result<std::span<const std::byte>> tfrecord_payload(std::span<const std::byte> record,
                                                    std::uint64_t max_bytes, bool check_crc);

/// A record as it stands in a file.
std::vector<std::byte> make_tfrecord(std::span<const std::byte> payload);

}  // namespace stretto::input
