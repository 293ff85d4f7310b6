// SPDX-License-Identifier: Apache-2.0
// malloc settings for a process that moves parts continuously, and errors for lack of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "stretto/status.h"

namespace stretto {

/// Parts are allocated and freed at a steady rate. malloc keeps up to 64 MiB of free memory instead
/// of returning it to the system, which would map it again, page by page, for each part. Applies to
/// the whole process. Thread: any.
void keep_freed_memory();

/// Why an allocation failed: the requested size, and this process's memory and limit.
class OutOfMemory final : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::size_t wanted_bytes);
  const char* what() const noexcept override { return text_; }
  std::size_t wanted_bytes() const { return wanted_bytes_; }

 private:
  std::size_t wanted_bytes_;
  char text_[256];  // Formatted without allocating.
};

/// The error of a process that cannot continue without that memory.
Status out_of_memory(const std::bad_alloc& thrown);

/// "this process has 812 MiB of address space and may have 1024 MiB (ulimit -v)", or how much is
/// resident and how much the machine has left.
std::string memory_at_hand();
/// The same without allocating.
void tell_memory_at_hand(char* into, std::size_t bytes);

/// Resident memory of this process; 0 if the system does not report it.
std::uint64_t resident_bytes();

}  // namespace stretto
