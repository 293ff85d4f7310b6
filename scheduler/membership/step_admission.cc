// SPDX-License-Identifier: Apache-2.0
// One question at a time.
#include "scheduler/membership/step_admission.h"

#include <algorithm>

namespace stretto {

void StepAdmission::forget(NodeId node) {
  ready_.erase(node);
  unsettled_.erase(node);
  answers_.erase(node);
}

bool StepAdmission::answer(NodeId worker, std::uint64_t question, std::uint64_t step) {
  if (!open_ || question != question_) return false;
  const bool is_news = answers_.emplace(worker, step).second;
  said_ += is_news;
  return is_news;
}

std::optional<std::uint64_t> StepAdmission::ask(const std::vector<NodeId>& line) {
  if (open_ || !unsettled_.empty() || line.empty() || !ready_.contains(line.front())) return {};
  open_ = true;
  return ++question_;
}

std::optional<StepAdmission::Decision> StepAdmission::decide(const std::set<NodeId>& workers,
                                                             const std::vector<NodeId>& line) {
  if (!open_) return {};
  Decision made{.question = question_};
  for (const NodeId worker : workers) {
    const auto answer = answers_.find(worker);
    if (answer == answers_.end()) return {};
    made.step = std::max(made.step, answer->second + 1);
  }
  open_ = false;
  answers_.clear();
  for (const NodeId newcomer : line) {
    if (ready_.erase(newcomer) == 0) break;
    made.newcomers.insert(newcomer);
  }
  unsettled_ = made.newcomers;
  return made;
}

bool StepAdmission::unsettled(const std::set<NodeId>& workers) const {
  return !unsettled_.empty() && std::ranges::includes(unsettled_, workers);
}

}  // namespace stretto
