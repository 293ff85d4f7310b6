// SPDX-License-Identifier: Apache-2.0
// Requests are dropped when their answer is old, or after the timeout.
#include "scheduler/monitoring/stack_requests.h"

#include <fmt/core.h>

#include "common/clock.h"

namespace stretto {

Result<std::string> StackRequests::ask(NodeId node, Time now) {
  std::erase_if(asked_, [&](const auto& each) {
    const Question& question = each.second;
    return question.answer.empty() ? each.first != node && now - question.since > kPatience
                                   : now - question.answered > kFresh;
  });
  const auto found = asked_.find(node);
  if (found == asked_.end()) {
    if (asked_.size() == kMost) {
      return Status(
          Code::kResource,
          fmt::format("{} members are asked for their stacks already; try again in {:.0f} "
                      "s",
                      kMost, seconds(kPatience)));
    }
    asked_[node] = {.since = now, .answered = {}};
    return std::string();
  }
  if (found->second.answer.empty() && now - found->second.since > kPatience) {
    asked_.erase(found);
    return Status(Code::kTimeout,
                  fmt::format("it has not answered for {:.0f} s: it is stopped, or its link to the "
                              "scheduler is silent",
                              seconds(kPatience)));
  }
  return found->second.answer;
}

bool StackRequests::wanted(NodeId node) const {
  const auto found = asked_.find(node);
  return found != asked_.end() && found->second.answer.empty();
}

void StackRequests::heard(NodeId node, const std::string& stack, Time now) {
  if (stack.empty() || !wanted(node)) return;
  asked_[node].answer = stack;
  asked_[node].answered = now;
}

}  // namespace stretto
