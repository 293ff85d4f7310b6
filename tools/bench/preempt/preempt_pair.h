// SPDX-License-Identifier: Apache-2.0
// preempt with two processes at the sending host, like two workers: one sends the urgent messages,
// the other the background.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tools/bench/limits/preempt_load.h"
#include "tools/bench/settings/preempt_settings.h"

namespace stretto::bench {

/// Starts the process for the background; both are connected and admitted. The caller must have a
/// single thread.
Result<std::unique_ptr<LoadSender>> connect_pair(const PreemptSettings& settings,
                                                 const PreemptCase& way,
                                                 std::span<const std::string> addresses);

}  // namespace stretto::bench
