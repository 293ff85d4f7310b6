// SPDX-License-Identifier: Apache-2.0
// States: collecting, sent, done; sets go up the tree, and one value goes down.
#include "collective/reduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto::collective {

Reduction::Reduction(TreeNode node, Order order) : order_(order) { restart(std::move(node)); }

void Reduction::restart(TreeNode node) {
  node_ = std::move(node);
  const std::uint32_t limit = node_.all.limit();
  STRETTO_CHECK(node_.self < limit && node_.below.size() == node_.children.size());
  self_ = IndexSet(limit);
  if (node_.contributes) self_.insert(node_.self);
  here_ = IndexSet(limit);
  value_from_ = IndexSet(limit);
  kept_.resize(1 + node_.children.size());
  adds_.reserve(kept_.size());
  restart();
}

void Reduction::restart() {
  state_ = State::kCollecting;
  here_.clear();
  value_from_.clear();
  has_bytes_ = false;
  std::ranges::fill(kept_, Kept::kMissing);
  if (!node_.contributes) kept_.front() = Kept::kNothing;
  turn_ = 0;
  adds_.clear();
}

const IndexSet& Reduction::expected_at(std::size_t at) const {
  return at == 0 ? self_ : node_.below[at - 1];
}

Effects Reduction::own(Given given) {
  STRETTO_CHECK(node_.contributes && !here_.contains(node_.self) && given != Given::kValue);
  return take(0, self_, given);
}

Effects Reduction::own_value(const IndexSet& from) {
  STRETTO_CHECK(from.limit() == here_.limit() && from.contains_all(self_));
  return take(0, from, Given::kValue);
}

Status Reduction::check_partial(Place child, const IndexSet& from, Given given) const {
  const auto malformed = [child](const char* why) {
    return Status(Code::kMalformed, fmt::format("a partial sum of place {} {}", child, why));
  };
  const auto found = std::ranges::find(node_.children, child);
  if (found == node_.children.end()) return malformed("came, which is no child here");
  if (from.limit() != here_.limit() || from.empty()) return malformed("names no contributors here");
  const IndexSet& below = node_.below[static_cast<std::size_t>(found - node_.children.begin())];
  if (given == Given::kValue) {
    if (!from.contains_all(below))
      return malformed("is said to be the value, and lacks some below it");
    if (has_value() && value_from_ != from) return malformed("is another value than is known here");
    return {};
  }
  if (!below.contains_all(from)) return malformed("names others than those below it");
  if (here_.intersects(from) && !here_.contains_all(from)) {
    return malformed("overlaps with one that came before");
  }
  if (order_ == Order::kPlaces && from != below) return malformed("is not of all below it");
  return {};
}

Result<Effects> Reduction::partial(Place child, const IndexSet& from, Given given) {
  if (Status status = check_partial(child, from, given); !status.ok()) return status;
  const auto at = std::ranges::find(node_.children, child) - node_.children.begin() + 1;
  const IndexSet& below = node_.below[static_cast<std::size_t>(at - 1)];
  if (here_.contains_all(given == Given::kValue ? below : from)) return Effects();  // Duplicate.
  return take(static_cast<std::size_t>(at), from, given);
}

// For new contributions.
Effects Reduction::take(std::size_t at, const IndexSet& from, Given given) {
  STRETTO_CHECK(state_ == State::kCollecting);
  Effects effects;
  adds_.clear();
  if (given == Given::kValue) {
    if (!has_value()) effects.adopt = place_at(at);
    value_from_ = from;
    here_.insert_all(expected_at(at));
    has_bytes_ = true;
  } else {
    here_.insert_all(from);
    const bool sum = given == Given::kSum && !has_value();
    if (order_ == Order::kPlaces) {
      kept_[at] = sum ? Kept::kSum : Kept::kNothing;
    } else if (sum) {
      adds_.push_back(place_at(at));
    }
  }
  if (!has_value()) add_in_turn();
  if (!adds_.empty()) has_bytes_ = true;
  effects.add = adds_;
  finish_collecting(effects);
  return effects;
}

void Reduction::add_in_turn() {
  if (order_ != Order::kPlaces) return;
  for (; turn_ < kept_.size() && kept_[turn_] != Kept::kMissing; ++turn_) {
    if (kept_[turn_] == Kept::kSum) adds_.push_back(place_at(turn_));
  }
}

void Reduction::finish_collecting(Effects& effects) {
  if (here_ != node_.all) return;
  if (!node_.is_root()) {
    state_ = State::kSent;
    effects.send = Effects::Send::kUp;
    return;
  }
  if (!has_value()) value_from_ = here_;
  const Effects last = give_value();
  effects.send = last.send;
  effects.done = last.done;
}

Effects Reduction::give_value() {
  state_ = State::kDone;
  return {.adopt = kNobody,
          .add = {},
          .send = node_.children.empty() ? Effects::Send::kNothing : Effects::Send::kDown,
          .done = true};
}

Result<Effects> Reduction::value(Place parent, const IndexSet& from) {
  const auto malformed = [parent](const char* why) {
    return Status(Code::kMalformed, fmt::format("a value from place {} {}", parent, why));
  };
  if (node_.is_root() || parent != node_.parent) return malformed("came, which is no parent here");
  if (state_ == State::kDone) return Effects();  // Duplicate.
  if (state_ != State::kSent) return malformed("came before its sum was whole");
  if (from.limit() != here_.limit() || !from.contains_all(node_.all)) {
    return malformed("lacks contributions that it was sent");
  }
  value_from_ = from;
  Effects effects = give_value();
  effects.adopt = parent;
  return effects;
}

std::vector<Place> Reduction::awaited() const {
  if (state_ == State::kDone) return {};
  if (state_ == State::kSent) return {node_.parent};
  std::vector<Place> places;
  for (std::size_t at = 0; at < kept_.size(); ++at) {
    if (!here_.contains_all(expected_at(at))) places.push_back(place_at(at));
  }
  return places;
}

}  // namespace stretto::collective
