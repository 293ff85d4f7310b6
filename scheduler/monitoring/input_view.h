// SPDX-License-Identifier: Apache-2.0
// InputView: how a worker's input does, for those who look on.
#pragma once

#include <cstdint>
#include <string>

namespace stretto {

/// In the last window.
struct InputView {
  double bytes_per_s = 0;
  double share = 1;               ///< Of the data that it asked for.
  double stall_share = 0;         ///< Of the time: its program waited for data.
  std::uint64_t limit_bytes = 0;  ///< It is held back to so many in flight; 0: it is not.
  std::string word;  ///< Why it gets less: "slow device" and so on; empty: it does not.
};

}  // namespace stretto
