// SPDX-License-Identifier: Apache-2.0
// A model has hundreds of tensors and few plans.
#include "worker/peer_path/chosen_strategies.h"

#include <algorithm>

#include "common/text.h"

namespace stretto {

void ChosenStrategies::set(std::uint32_t tensor, std::uint64_t bytes, std::string plan,
                           std::string why) {
  Way& way = ways_[tensor];
  changed_ = changed_ || way.plan != plan;
  way = {.bytes = bytes, .plan = std::move(plan), .why = std::move(why)};
}

std::vector<control::Chosen> ChosenStrategies::take() {
  if (!std::exchange(changed_, false)) return {};
  std::map<std::string, control::Chosen> plans;
  std::map<std::string, std::uint64_t> largest;
  for (const auto& [tensor, way] : ways_) {
    control::Chosen& chosen = plans[way.plan];
    chosen.plan = shortened(way.plan, control::Chosen::kMaxPlanBytes);
    ++chosen.tensors;
    chosen.bytes += way.bytes;
    if (way.bytes < largest[way.plan]) continue;
    largest[way.plan] = way.bytes;
    chosen.why = shortened(way.why, control::Chosen::kMaxWhyBytes);
  }
  std::vector<control::Chosen> all;
  for (auto& [plan, chosen] : plans) all.push_back(std::move(chosen));
  std::ranges::stable_sort(all, std::greater<>(), &control::Chosen::bytes);
  all.resize(std::min(all.size(), control::Heartbeat::kMostChosen));
  return all;
}

}  // namespace stretto
