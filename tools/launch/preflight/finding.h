// SPDX-License-Identifier: Apache-2.0
// Finding: one line of what --check reports.
#pragma once

#include <string>

namespace stretto::launch {

struct Finding {
  bool fine = false;
  std::string text;
};

}  // namespace stretto::launch
