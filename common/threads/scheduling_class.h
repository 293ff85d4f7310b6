// SPDX-License-Identifier: Apache-2.0
// SchedulingClass: the kernel's scheduling class of a thread, as its program has set it: a policy
// and a nice value.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace stretto {

/// The kernel runs a thread of a greater class first. Aligned, so that clang implements its atomic
/// with single instructions. Thread: any (a value).
class alignas(8) SchedulingClass {
 public:
  SchedulingClass() = default;  ///< The default class: SCHED_OTHER, nice 0.
  /// `thread`: from gettid(); 0: the calling thread. The default class if the kernel reports none.
  static SchedulingClass of(pid_t thread);

  // clang-tidy takes the generated comparison with 0 for a comparison with a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): as above.
  auto operator<=>(const SchedulingClass&) const = default;

 private:
  std::int32_t rank_ = 0;     // Of the policy: real-time above 0, SCHED_IDLE below 0.
  std::int32_t urgency_ = 0;  // Within the policy: for SCHED_OTHER the negated nice value.
};

}  // namespace stretto
