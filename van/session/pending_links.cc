// SPDX-License-Identifier: Apache-2.0
// Timeouts of links without a hello, and of refused links with unsent faults.
#include "van/session/pending_links.h"

namespace stretto {
namespace {

constexpr Duration kGreetingTime = 5s;
constexpr Duration kRefusalTime = 1s;
constexpr Duration kLookEvery = 500ms;

void collect(const std::map<LinkId, Time>& links, Time before, std::vector<LinkId>& expired) {
  for (const auto& [link, since] : links) {
    if (since < before) expired.push_back(link);
  }
}

}  // namespace

void PendingLinks::add(LinkId link, Time now) {
  unadmitted_.insert(link);
  silent_[link] = now;
}

void PendingLinks::admitted(LinkId link) {
  unadmitted_.erase(link);
  silent_.erase(link);
}

void PendingLinks::remove(LinkId link) {
  admitted(link);
  refused_.erase(link);
}

std::vector<LinkId> PendingLinks::expired(Time now) {
  std::vector<LinkId> expired;
  if (now < next_look()) return expired;
  next_look_ = now + kLookEvery;
  collect(silent_, now - kGreetingTime, expired);
  for (const LinkId link : expired) refused_.erase(link);
  collect(refused_, now - kRefusalTime, expired);
  return expired;
}

Time PendingLinks::next_look() const {
  return unadmitted_.empty() && refused_.empty() ? Time::max() : next_look_;
}

}  // namespace stretto
