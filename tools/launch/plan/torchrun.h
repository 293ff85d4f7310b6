// SPDX-License-Identifier: Apache-2.0
// torchrun's flags, and their meaning for a job that one launcher starts on all hosts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stretto/status.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

class TorchrunFlags {
 public:
  /// True for the flags that take() reads.
  static bool has(Flag flag);

  /// Reads one flag. `spelling`: as the error names it. Errors: InvalidArgument.
  Status take(Flag flag, const std::string& spelling, const std::string& value);

  /// Adds what was read to `plan`, which contains all other flags: the number of workers, slots of
  /// hosts, the scheduler's address, MASTER_ADDR, MASTER_PORT, and how PROGRAM runs. Errors:
  /// InvalidArgument for flags that contradict one another.
  Status apply_to(Plan& plan) const;

 private:
  Status read_nodes(const std::string& spelling, const std::string& value);
  // The user starts the launcher on each host, as with torchrun.
  bool is_by_hand(const Plan& plan) const;
  Status check(const Plan& plan, std::uint32_t hosts) const;
  Status check_by_hand(const Plan& plan) const;
  // Rejects other flags for the address of the scheduler or worker 0 next to torchrun's.
  Status check_addresses(const Plan& plan) const;

  std::string per_node_spelling_;
  std::uint32_t per_node_ = 0;     // 0: not given.
  std::uint32_t most_nodes_ = 0;   // 0: not given.
  std::uint32_t least_nodes_ = 0;  // 0: MIN:MAX was not given, or N:N.
  std::optional<std::uint32_t> node_rank_;
  bool standalone_ = false;
  bool module_ = false;
  bool no_python_ = false;
  std::string endpoint_host_;  // Empty: not given.
  std::uint32_t endpoint_port_ = 0;
  std::string master_address_;
  std::string master_port_;
};

}  // namespace stretto::launch
