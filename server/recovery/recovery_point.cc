// SPDX-License-Identifier: Apache-2.0
// The last round whose end any worker has seen, and its value.
#include "server/recovery/recovery_point.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace stretto {
namespace {

Status lost(std::string cause) { return {Code::kServerLost, std::move(cause)}; }

}  // namespace

RecoveryPoint resumption_of(const std::map<NodeId, RecoveryReport>& workers, std::uint32_t turn,
                            const Contributors& group) {
  RecoveryPoint made;
  for (const auto& [node, one] : workers) made.finished = std::max(made.finished, one.finished);
  std::vector<NodeId> holders;
  for (const auto& [node, one] : workers) {
    const bool last = one.finished == made.finished;
    if (!last && one.finished + 1 != made.finished) {
      made.why = lost(fmt::format("{} has seen {} rounds end and another one {}",
                                  name_in(group, node), one.finished, made.finished));
    } else if (last && one.owed) {
      made.why = lost(
          fmt::format("what {} contributed to round {} had been acknowledged, and was there only",
                      name_in(group, node), made.finished + 1));
    } else if (one.round == made.finished && one.version != 0) {
      holders.push_back(node);
    }
  }
  if (!made.why.ok() || made.finished == 0) return made;
  if (holders.empty()) {
    made.why = lost(fmt::format("nobody has asked for the value of round {}, and it was there only",
                                made.finished));
    return made;
  }
  made.holder = holders[turn % holders.size()];
  made.version = workers.at(made.holder).version;
  return made;
}

}  // namespace stretto
