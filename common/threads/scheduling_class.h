// SPDX-License-Identifier: Apache-2.0
// SchedulingClass: how the kernel treats a thread that wants a processor, as its program has asked:
// by a policy, and a nice value.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace stretto {

/// The greater one is given a processor sooner. Aligned, so that clang makes its atomic of single
/// instructions. Thread: any (a value).
class alignas(8) SchedulingClass {
 public:
  SchedulingClass() = default;  ///< The usual one.
  /// `thread` as gettid() tells it; 0: the calling one. The usual one if it cannot be told.
  static SchedulingClass of(pid_t thread);

  // The compiler's own comparison with 0 is taken for one of a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): as above.
  auto operator<=>(const SchedulingClass&) const = default;

 private:
  std::int32_t rank_ = 0;     // Of the policy: those of real time above 0, SCHED_IDLE below.
  std::int32_t urgency_ = 0;  // Within that; of the usual one the nice value, with its sign turned.
};

}  // namespace stretto
