// SPDX-License-Identifier: Apache-2.0
// ChosenStrategies: which plan `auto` has chosen for each tensor, for observers. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stretto/types.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class ChosenStrategies {
 public:
  /// The tensor uses this plan from now on, for this reason.
  void set(std::uint32_t tensor, std::uint64_t bytes, std::string plan, std::string why);
  /// All plans in use, with most bytes first, as many as a heartbeat carries; empty if no tensor
  /// was added or has changed its plan since the last call.
  std::vector<control::Chosen> take();

 private:
  struct Way {
    std::uint64_t bytes = 0;
    std::string plan;
    std::string why;
  };
  std::map<std::uint32_t, Way> ways_;
  bool changed_ = false;
};

}  // namespace stretto
