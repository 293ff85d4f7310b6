// SPDX-License-Identifier: Apache-2.0
// The words that every part of Stretto shares: element types, ranks, time.
// Public: installed with the worker API.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace stretto {

/// Type of a tensor's elements, little-endian in memory and on the wire. The numbers are the
/// wire's; they never change.
enum class Dtype : std::uint8_t {
  kF32 = 1,   ///< IEEE 754 binary32, `float`.
  kF64 = 2,   ///< IEEE 754 binary64, `double`.
  kF16 = 3,   ///< IEEE 754 binary16.
  kBf16 = 4,  ///< The upper half of a binary32.
  kI8 = 5,
  kU8 = 6,
  kI32 = 7,
  kI64 = 8,
};

/// Bytes of one element: 1, 2, 4 or 8; 0 for a number that is no Dtype (as from a file or the
/// wire).
constexpr std::size_t bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
    case Dtype::kI32:
      return 4;
    case Dtype::kF64:
    case Dtype::kI64:
      return 8;
    case Dtype::kF16:
    case Dtype::kBf16:
      return 2;
    case Dtype::kI8:
    case Dtype::kU8:
      return 1;
  }
  return 0;
}

/// "f32", "bf16" and so on, as in error texts and benchmarks; "unknown" for a number that is no
/// Dtype. The text is constant: it is never freed.
std::string_view name_of(Dtype dtype);

/// Position of a worker among the workers, or of a server among the servers: from 0 to one less
/// than there are, and the same from joining to leaving but for workers of an elastic job.
using Rank = std::uint32_t;

/// A node's identity for the whole job, given by the scheduler when it joins. Never used twice,
/// also not for a process of the same rank, so it is an incarnation too; 0 is no process.
using NodeId = std::uint32_t;

/// A length of time in nanoseconds, signed. Duration::max() as a limit means none.
using Duration = std::chrono::nanoseconds;
/// A point of monotonic time (CLOCK_MONOTONIC). Only differences mean anything, and only on one
/// host; wall clocks decide nothing. Time::max() as a deadline means none.
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

using namespace std::chrono_literals;  // NOLINT: the literals are part of the vocabulary.

}  // namespace stretto
#pragma GCC visibility pop
