// SPDX-License-Identifier: Apache-2.0
// Mappings, and memory without a name: a memfd is gone when the last process that has
// it is, however that ended. What a peer passes is looked at before it is mapped, so that nothing
// which a peer does to it can end us (SIGBUS) or change what others read.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::shm {

/// Shared memory in our address space. Thread: any (a value).
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  enum class Access : std::uint8_t { kRead, kWrite };
  static Result<Mapping> map(const Descriptor& memory, std::size_t bytes, Access access);

  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

/// New memory of that size, all zero, not sealed yet.
Result<Descriptor> make_memory(std::size_t bytes);
/// It keeps its size for ever; `others_only_read`: and whoever maps it from now on can only read.
Status seal(const Descriptor& memory, bool others_only_read);
/// What a peer passed is memory of at least that size, and will be as long as we have it.
Status check_memory(const Descriptor& memory, std::size_t bytes);

}  // namespace stretto::shm
