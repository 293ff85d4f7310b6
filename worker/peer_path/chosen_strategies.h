// SPDX-License-Identifier: Apache-2.0
// ChosenStrategies: by which plans tensors go that `auto` chooses for, for those who look on. Pure.
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
  /// The tensor goes by this plan from now on, and why.
  void set(std::uint32_t tensor, std::uint64_t bytes, std::string plan, std::string why);
  /// All plans that tensors go by, with most bytes first, as many as a heartbeat carries; nothing,
  /// if no tensor has come or goes by another plan since the last call.
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
