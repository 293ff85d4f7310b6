// SPDX-License-Identifier: Apache-2.0
// A client's time starts at the first check with fewer than `at_once` clients before it.
#include "scheduler/dashboard/connection_deadlines.h"

#include <algorithm>

namespace stretto {

void ConnectionDeadlines::asked(const std::string& name, Time now) {
  const auto [visit, is_new] = visits_.try_emplace(name, Visit{now, next_});
  if (is_new) ++next_;
  visit->second.since = now;
  visit->second.asked = true;
}

std::set<std::string> ConnectionDeadlines::late(const std::vector<std::string>& here, Time now) {
  for (const std::string& name : here) {
    if (visits_.try_emplace(name, Visit{now, next_}).second) ++next_;
  }
  const std::set<std::string> present(here.begin(), here.end());
  std::erase_if(visits_, [&](const auto& item) {
    return item.second.since < now && !present.contains(item.first);
  });
  std::vector<std::pair<const std::string, Visit>*> queue;
  for (auto& item : visits_) queue.push_back(&item);
  std::sort(queue.begin(), queue.end(),
            [](const auto* a, const auto* b) { return a->second.number < b->second.number; });
  std::set<std::string> found;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    Visit& visit = queue[i]->second;
    if (i >= patience_.at_once && !visit.asked) visit.since = now;
    if (now - visit.since > (visit.asked ? patience_.answer : patience_.ask)) {
      found.insert(queue[i]->first);
    }
  }
  return found;
}

}  // namespace stretto
