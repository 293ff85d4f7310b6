// SPDX-License-Identifier: Apache-2.0
// InputReport: what heartbeats report of this process's readers, and the limit that they get.
#pragma once

#include <optional>

#include "common/input_account.h"

namespace stretto {

/// Thread: loop.
class InputReport {
 public:
  /// It outlives this; null: no readers are reported.
  void set_account(InputAccount* account) { account_ = account; }
  std::optional<InputTotals> totals(Time now) {
    return account_ == nullptr ? std::nullopt : account_->totals(now);
  }
  /// What the readers may have in flight; 0: no limit.
  void limit(std::uint64_t bytes) {
    if (account_ == nullptr || bytes == limit_bytes_) return;
    limit_bytes_ = bytes;
    account_->set_limit(bytes);
  }

 private:
  InputAccount* account_ = nullptr;
  std::uint64_t limit_bytes_ = 0;
};

}  // namespace stretto
