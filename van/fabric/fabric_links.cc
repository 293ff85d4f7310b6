// SPDX-License-Identifier: Apache-2.0
// Links in three indices that always agree.
#include "van/fabric/fabric_links.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/check.h"
#include "van/fabric/endpoint.h"

namespace stretto::fabric {

FabricLink& FabricLinks::make(ConnectionId line, std::size_t queue_frames) {
  const LinkId id = ++last_;
  auto made = std::make_unique<FabricLink>(id, 0, queue_frames);
  fill_randomly(std::span(&made->secret, 1));
  if (line != 0) set_line(*made, line);
  return *links_.emplace(id, std::move(made)).first->second;
}

void FabricLinks::set_line(FabricLink& link, ConnectionId line) {
  link.line = line;
  const bool added = by_line_.emplace(line, link.id).second;
  STRETTO_CHECK(added);
}

void FabricLinks::erase(FabricLink& link) {
  if (link.busy) std::erase(busy_, link.id);
  if (link.line != 0) by_line_.erase(link.line);
  links_.erase(link.id);
}

FabricLink* FabricLinks::find(LinkId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

FabricLink* FabricLinks::find_by_line(ConnectionId line) const {
  const auto found = by_line_.find(line);
  return found == by_line_.end() ? nullptr : links_.at(found->second).get();
}

void FabricLinks::touch(FabricLink& link) {
  if (!std::exchange(link.busy, true)) busy_.push_back(link.id);
}

FabricLink& FabricLinks::next() {
  STRETTO_CHECK(!busy_.empty());
  FabricLink& link = *links_.at(busy_.front());
  busy_.pop_front();
  link.busy = false;
  return link;
}

}  // namespace stretto::fabric
