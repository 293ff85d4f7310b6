// SPDX-License-Identifier: Apache-2.0
// InputView: the state of a worker's input, for observers.
#pragma once

#include <cstdint>
#include <string>

namespace stretto {

/// In the last window.
struct InputView {
  double bytes_per_s = 0;
  double share = 1;               ///< Delivered over demanded data.
  double stall_share = 0;         ///< Part of the time in which its program waited for data.
  std::uint64_t limit_bytes = 0;  ///< Limit of its bytes in flight; 0: not throttled.
  std::string word;               ///< Why it is starved: "slow device" and so on; empty: it is not.
};

}  // namespace stretto
