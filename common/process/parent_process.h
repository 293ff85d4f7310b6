// SPDX-License-Identifier: Apache-2.0
// ParentProcess: the process that started this one, possibly through others, such as a launcher
// above a shell: whether it still runs. The kernel reports that only to a direct child.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// Thread: any, one at a time.
class ParentProcess {
 public:
  /// No process.
  ParentProcess() = default;
  /// From a name of own_name(), or no process if it is empty. kInvalidArgument if it is malformed.
  static Result<ParentProcess> named(std::string_view name);
  /// This process's unique name, "PID:TICKS:NAMESPACE:BOOT": its start time, the PID namespace, and
  /// the boot id of its system. Empty if /proc does not have them.
  static std::string own_name();

  /// True if it has certainly ended: never on another host, or if its PID namespace is not visible
  /// here. Reads /proc.
  bool has_ended() const;
  std::uint64_t process() const { return process_; }

 private:
  std::uint64_t process_ = 0;  // 0: no process.
  std::uint64_t started_ = 0;
  std::uint64_t space_ = 0;
  std::string boot_;
};

}  // namespace stretto
