// SPDX-License-Identifier: Apache-2.0
// The format of a file of parts, version 1; numbers are little-endian:
//
//   head     64 bytes: magic "STRTPART", version, 0, job, number, step, zeros; the last 4
//            bytes are the CRC32C of the first 60
//   entries  one after another, without padding
//   index    Protobuf (index.proto): kind, name and length of each entry, CRC32C of each 4 MiB
//   end      32 bytes: offset, length and CRC32C of the index, CRC32C of the head, magic
//            "STRTPEND"; written last
//
// A file without an end, or with another end than its manifest records, is incomplete.
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
