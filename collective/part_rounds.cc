// SPDX-License-Identifier: Apache-2.0
// At most one round is open: a round cannot complete before all of its contributors have finished
// the previous one.
#include "collective/part_rounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto::collective {

PartRounds::PartRounds(TreeNode node, Reduction::Order order, std::uint32_t epoch)
    : reduction_(std::move(node), order),
      epoch_(epoch),
      last_from_(reduction_.node().all.limit()) {}

PartRounds::Verdict PartRounds::admit(std::uint32_t epoch, std::uint64_t round) const {
  if (epoch > epoch_) return Verdict::kEarly;
  if (epoch < epoch_ || !running_ || round < round_) return Verdict::kPast;
  return round == round_ ? Verdict::kNow : Verdict::kWrong;
}

Effects PartRounds::begin(Given given) {
  STRETTO_CHECK(begun_ == finished_ && !over_);
  ++begun_;
  given_ = given;
  const bool waits = !running_ || holds_ || round_ != begun_;
  return waits ? Effects() : settled(reduction_.own(given_));
}

Result<Effects> PartRounds::partial(Place child, const IndexSet& from, Given given) {
  STRETTO_CHECK(running_ && !over_);
  Result<Effects> effects = reduction_.partial(child, from, given);
  if (effects.ok()) *effects = settled(*effects);
  return effects;
}

Result<Effects> PartRounds::value(Place parent, const IndexSet& from) {
  STRETTO_CHECK(running_ && !over_);
  Result<Effects> effects = reduction_.value(parent, from);
  if (effects.ok()) *effects = settled(*effects);
  return effects;
}

Effects PartRounds::settled(const Effects& effects) {
  if (!effects.done) return effects;
  over_ = true;
  again_ = finished_ >= round_;
  finished_ = std::max(finished_, round_);
  last_from_ = reduction_.contributors();
  return effects;
}

Effects PartRounds::next() {
  STRETTO_CHECK(over_);
  over_ = false;
  ++round_;
  reduction_.restart();
  return feed();
}

void PartRounds::replan(TreeNode node) {
  STRETTO_CHECK(begun_ == finished_ && round_ == begun_ + 1 && !over_);
  STRETTO_CHECK(node.all.limit() == last_from_.limit());
  reduction_.restart(std::move(node));
}

void PartRounds::come_after(std::uint64_t finished) {
  STRETTO_CHECK(!running_ && finished_ == 0);
  begun_ += finished;
  finished_ = finished;
  round_ = finished + 1;
}

// Provides this place's retained contribution to the open round.
Effects PartRounds::feed() {
  if (!running_) return {};
  if (finished_ >= round_) return settled(reduction_.own_value(last_from_));
  if (begun_ >= round_ && !holds_) return settled(reduction_.own(given_));
  return {};
}

Result<Effects> PartRounds::resume(std::uint32_t epoch, TreeNode node,
                                   std::uint64_t finished_by_all) {
  STRETTO_CHECK(!over_ && node.all.limit() == last_from_.limit());
  if (epoch <= epoch_) {
    return Status(Code::kMalformed, fmt::format("epoch {} came after epoch {}", epoch, epoch_));
  }
  if (finished_by_all > finished_ || finished_by_all + 1 < finished_) {
    return Status(Code::kMalformed, fmt::format("all are said to have finished round {}, and here "
                                                "round {} was the last",
                                                finished_by_all, finished_));
  }
  epoch_ = epoch;
  running_ = true;
  round_ = finished_by_all + 1;
  reduction_.restart(std::move(node));
  return feed();
}

}  // namespace stretto::collective
