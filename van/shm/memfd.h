// SPDX-License-Identifier: Apache-2.0
// Mappings and anonymous memory: a memfd is freed when the last process that has it ends, however
// it ends. Memory from a peer is checked before it is mapped. So no operation of the peer on it can
// kill us (SIGBUS) or change what other processes read.
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

/// New zeroed memory of that size, not sealed yet.
Result<Descriptor> make_memory(std::size_t bytes);
/// Fixes the size for good; `others_only_read`: and makes all later mappings read-only.
Status seal(const Descriptor& memory, bool others_only_read);
/// Checks that memory from a peer has at least that size and keeps it while we hold it.
Status check_memory(const Descriptor& memory, std::size_t bytes);

}  // namespace stretto::shm
