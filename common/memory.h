// SPDX-License-Identifier: Apache-2.0
// What a process that moves parts all the time asks of malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "stretto/status.h"

namespace stretto {

/// Parts come and go at a steady rate. malloc keeps their memory (up to 64 MiB that is free at the
/// moment) instead of returning it to the system, which would map it anew, page by page, for each.
/// Holds for the whole process. Thread: any.
void keep_freed_memory();

/// Why memory could not be had: what was wanted, and what this process has and may have.
class OutOfMemory final : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::size_t wanted_bytes);
  const char* what() const noexcept override { return text_; }
  std::size_t wanted_bytes() const { return wanted_bytes_; }

 private:
  std::size_t wanted_bytes_;
  char text_[256];  // Made without asking for memory.
};

/// The error of a process that cannot go on without it.
Status out_of_memory(const std::bad_alloc& thrown);

/// "this process has 812 MiB of address space and may have 1024 MiB (ulimit -v)", or how much is
/// resident and how much the machine has left.
std::string memory_at_hand();
/// The same where there is no memory to say it in.
void tell_memory_at_hand(char* into, std::size_t bytes);

/// Memory of this process that is resident; 0 if the system does not tell.
std::uint64_t resident_bytes();

}  // namespace stretto
