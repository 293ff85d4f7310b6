// SPDX-License-Identifier: Apache-2.0
// preempt over Stretto's own Van, driven directly: a receiver that acknowledges, and the sending
// end, a LoadSender.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tools/bench/limits/preempt_load.h"
#include "tools/bench/settings/preempt_settings.h"

namespace stretto::bench {

/// Listens at `host`, reports the address once, and receives until it is killed or the sender has
/// gone.
Status receive_by_van(const PreemptSettings& settings, const PreemptCase& way,
                      const std::string& host,
                      const std::function<Status(const std::string& address)>& tell);

/// Connected to all receivers and admitted by them.
Result<std::unique_ptr<LoadSender>> connect_van(const PreemptSettings& settings,
                                                const PreemptCase& way,
                                                std::span<const std::string> addresses);

}  // namespace stretto::bench
