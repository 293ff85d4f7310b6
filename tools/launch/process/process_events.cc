// SPDX-License-Identifier: Apache-2.0
// The words for ends and signals.
#include "tools/launch/process/process_events.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <string_view>

namespace stretto::launch {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string Exit::text() const {
  if (by_signal) {
    const std::string_view use = stopped_by == SIGTTIN ? "reads from" : "changes";
    const std::string why =
        for_memory   ? ", it seems for lack of memory"
        : stopped_by ? fmt::format(
                           " after {} had stopped it: it {} the terminal, which members of a "
                           "job cannot do; give it input by a file",
                           signal_name(stopped_by), use)
                     : "";
    return fmt::format("killed by {}{}", signal_name(number), why);
  }
  return fmt::format("exited with status {}", number);
}

}  // namespace stretto::launch
