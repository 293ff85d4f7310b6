// SPDX-License-Identifier: Apache-2.0
// What a launch needs apart from its plan: properties of its environment.
#pragma once

#include <string>

#include "tools/launch/plan/command.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"

namespace stretto::launch {

struct LaunchContext {
  Variables inherited;  ///< The caller's environment.
  Programs programs;
  std::string token;
  Placement placement;
  std::string directory;  ///< Where processes run, on every host.
};

}  // namespace stretto::launch
