// SPDX-License-Identifier: Apache-2.0
// Two numbers for each server rank, and the state of each.
#include "scheduler/migration/external_server_ids.h"

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kRemembered = 60s;
constexpr std::size_t kMostTold = 64;  // Requesters of a number.

bool is_in(Rank number, const View& view) {
  return std::ranges::any_of(view.members, [number](const auto& item) {
    const Member& member = item.second;
    return member.role == Role::kServer && member.number() == number && !member.left;
  });
}

}  // namespace

std::optional<Rank> ExternalServerIds::free(Rank place, const View& view, Time now) const {
  const Rank first = place + config_.servers * JobSettings::kMostReplicas;
  for (const Rank number : {first, first + config_.servers}) {
    if (!is_in(number, view) && !is_given_up(number, now)) return number;
  }
  return std::nullopt;
}

void ExternalServerIds::tell(Rank number, std::uint32_t asker) {
  if (!is_told(number, asker) && told_[number].size() < kMostTold) told_[number].push_back(asker);
}

bool ExternalServerIds::is_told(Rank number, std::uint32_t asker) const {
  const auto found = told_.find(number);
  return found != told_.end() && std::ranges::find(found->second, asker) != found->second.end();
}

void ExternalServerIds::give_up(Rank number, Time now) { given_up_[number] = now + kRemembered; }

bool ExternalServerIds::is_given_up(Rank number, Time now) const {
  const auto found = given_up_.find(number);
  return found != given_up_.end() && now < found->second;
}

void ExternalServerIds::end(Rank number) {
  told_.erase(number);
  given_up_.erase(number);
}

void ExternalServerIds::forget(std::uint32_t asker) {
  for (auto& [number, askers] : told_) std::erase(askers, asker);
  std::erase_if(told_, [](const auto& item) { return item.second.empty(); });
}

}  // namespace stretto
