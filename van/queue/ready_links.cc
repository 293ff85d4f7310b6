// SPDX-License-Identifier: Apache-2.0
// Three orders of the same offers.
#include "van/queue/ready_links.h"

#include "common/check.h"

namespace stretto {
namespace {

// Moves an element without an allocation.
template <typename Set>
void rekey(Set& set, const typename Set::value_type& from, const typename Set::value_type& to) {
  if (from == to) return;
  auto node = set.extract(set.find(from));
  node.value() = to;
  set.insert(std::move(node));
}

}  // namespace

void ReadyLinks::offer(LinkId link, const Offer& offer) {
  const auto [found, is_new] = offers_.try_emplace(link, offer);
  if (is_new) {
    by_urgency_.insert({offer.urgency, link});
    by_age_.insert({offer.oldest, link});
    rooms_[offer.urgent ? 1 : 0].insert(offer.room);
    return;
  }
  const Offer before = std::exchange(found->second, offer);
  if (before == offer) return;
  rekey(by_urgency_, {before.urgency, link}, {offer.urgency, link});
  rekey(by_age_, {before.oldest, link}, {offer.oldest, link});
  if (before.room == offer.room && before.urgent == offer.urgent) return;
  auto& rooms = rooms_[before.urgent ? 1 : 0];
  rooms.erase(rooms.find(before.room));
  rooms_[offer.urgent ? 1 : 0].insert(offer.room);
}

void ReadyLinks::withdraw(LinkId link) {
  const auto found = offers_.find(link);
  if (found == offers_.end()) return;
  const Offer& offer = found->second;
  by_urgency_.erase({offer.urgency, link});
  by_age_.erase({offer.oldest, link});
  auto& rooms = rooms_[offer.urgent ? 1 : 0];
  rooms.erase(rooms.find(offer.room));
  offers_.erase(found);
  STRETTO_CHECK(by_urgency_.size() == offers_.size() && by_age_.size() == offers_.size());
}

}  // namespace stretto
