// SPDX-License-Identifier: Apache-2.0
// The format of a file of parts, version 1; numbers are little-endian:
//
//   head     64 bytes: magic "STRTPART", version, 0, job, number, step, zeros; the last four are
//            the CRC32C of those before
//   entries  one after another, without anything between
//   index    Protobuf (index.proto): what they are, how long, and the CRC32C of each 4 MiB of each
//   end      32 bytes: where the index begins, its bytes, its CRC32C, the head's CRC32C, magic
//            "STRTPEND"; it is the last that is written
//
// A file that has no end, or another one than its manifest says, is not complete.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace stretto::checkpoint {

static_assert(std::endian::native == std::endian::little);

inline constexpr char kHeadMagic[8] = {'S', 'T', 'R', 'T', 'P', 'A', 'R', 'T'};
inline constexpr char kEndMagic[8] = {'S', 'T', 'R', 'T', 'P', 'E', 'N', 'D'};
inline constexpr std::uint32_t kFormatVersion = 1;

struct PartsHead {
  char magic[8] = {};
  std::uint32_t version = 0;
  std::uint32_t zero = 0;
  std::uint64_t job = 0;
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  char zeros[20] = {};
  std::uint32_t checksum = 0;
};
static_assert(sizeof(PartsHead) == 64);

struct PartsEnd {
  std::uint64_t index_offset = 0;
  std::uint64_t index_bytes = 0;
  std::uint32_t index_checksum = 0;
  std::uint32_t head_checksum = 0;
  char magic[8] = {};
};
static_assert(sizeof(PartsEnd) == 32);

}  // namespace stretto::checkpoint
