// SPDX-License-Identifier: Apache-2.0
// Writes a block, and reads an untrusted one.
#include "worker/server_path/optimizer_state_block.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace stretto {
namespace {

constexpr std::uint64_t kMagic = 0x3230657461747373;  // "sstate02".

// What a state must match. The rate and similar options may differ.
struct Heading {
  std::uint64_t magic = kMagic;
  std::uint64_t elements = 0;
  std::uint32_t rule = 0;
  std::uint32_t dtype = 0;
  std::uint32_t part_bytes = 0;
  std::uint32_t reserved = 0;

  friend bool operator==(const Heading&, const Heading&) = default;
};

Heading heading_of(const TensorSpec& spec, std::uint32_t part_bytes) {
  return {.elements = spec.elements,
          .rule = static_cast<std::uint32_t>(spec.options.update.rule),
          .dtype = static_cast<std::uint32_t>(spec.dtype),
          .part_bytes = part_bytes};
}

template <typename T>
void append(std::vector<std::byte>& block, const T& value) {
  const std::size_t before = block.size();
  block.resize(before + sizeof value);
  std::memcpy(block.data() + before, &value, sizeof value);
}

// False if too few bytes are left.
template <typename T>
bool take(std::span<const std::byte>& rest, T& value) {
  if (rest.size() < sizeof value) return false;
  std::memcpy(&value, rest.data(), sizeof value);
  rest = rest.subspan(sizeof value);
  return true;
}

// FNV-1a by words of eight bytes, the last one padded with zeros. Each step is invertible, so a
// change within one word is always detected.
std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t sum = 0xcbf29ce484222325;
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(sizeof word, bytes.size());
    std::memcpy(&word, bytes.data(), size);
    sum = (sum ^ word) * kPrime;
    bytes = bytes.subspan(size);
  }
  return sum;
}

std::string words_of(const Heading& heading) {
  return fmt::format("{}[{}] {} in parts of {} bytes", name_of(static_cast<Dtype>(heading.dtype)),
                     heading.elements, name_of(static_cast<Rule>(heading.rule)),
                     heading.part_bytes);
}

Status malformed(std::string_view cause) {
  return {Code::kMalformed,
          fmt::format("{}; wanted the bytes that save_state() gave, all of them", cause)};
}

}  // namespace

std::vector<std::byte> begin_state_block(const TensorSpec& spec, std::uint32_t part_bytes) {
  std::vector<std::byte> block;
  append(block, heading_of(spec, part_bytes));
  return block;
}

void append_to_state_block(std::vector<std::byte>& block, std::span<const std::byte> part) {
  append(block, std::uint64_t{part.size()});
  append(block, checksum_of(part));
  block.insert(block.end(), part.begin(), part.end());
}

Result<std::vector<std::span<const std::byte>>> parts_of_state_block(
    std::span<const std::byte> block, const TensorSpec& spec, std::uint32_t part_bytes,
    std::size_t parts) {
  Heading found;
  if (!take(block, found) || found.magic != kMagic) return malformed("this is no state");
  const Heading wanted = heading_of(spec, part_bytes);
  if (!(found == wanted)) {
    return Status(Code::kMismatch,
                  fmt::format("the state is that of {}, and tensor '{}' is {}; declare it, and set "
                              "STRETTO_PART_BYTES, as it was",
                              words_of(found), spec.name, words_of(wanted)));
  }
  std::vector<std::span<const std::byte>> found_parts;
  for (std::size_t part = 0; part < parts; ++part) {
    std::uint64_t size = 0;
    std::uint64_t checksum = 0;
    if (!take(block, size) || !take(block, checksum) || size > block.size()) {
      return malformed("the state ends too early");
    }
    found_parts.push_back(block.first(size));
    if (checksum_of(found_parts.back()) != checksum) {
      return malformed(fmt::format("part {} of the state is not as it was saved", part));
    }
    block = block.subspan(size);
  }
  if (!block.empty()) return malformed("the state goes on behind its end");
  return found_parts;
}

}  // namespace stretto
