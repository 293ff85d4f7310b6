// SPDX-License-Identifier: Apache-2.0
// ParentProcess: the process that has started this one and whatever lies between, such as a
// launcher above a shell: whether it is still there. The kernel tells that to a child alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// Thread: any, one at a time.
class ParentProcess {
 public:
  /// Nobody, of whom nothing is known.
  ParentProcess() = default;
  /// By a name that own_name() gave, or nobody if that is empty. kInvalidArgument if it is no name.
  static Result<ParentProcess> named(std::string_view name);
  /// This process's, which no other one gets: "PID:TICKS:NAMESPACE:BOOT", when it was started, in
  /// which namespace of processes that number holds, and since which start of which system. Empty
  /// if /proc does not say.
  static std::string own_name();

  /// It has: for certain, so not on another host, or where this process does not see that one's
  /// namespace, or not it. Reads /proc.
  bool has_ended() const;
  std::uint64_t process() const { return process_; }

 private:
  std::uint64_t process_ = 0;  // 0: nobody.
  std::uint64_t started_ = 0;
  std::uint64_t space_ = 0;
  std::string boot_;
};

}  // namespace stretto
