// SPDX-License-Identifier: Apache-2.0
// Turns rates of workers into those of machines, and logs changes of plan.
#include "worker/peer_path/strategy_selector.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/log.h"

namespace stretto {

void StrategySelector::watch(const Participants& members) {
  if (!members_.nodes.empty()) return;
  members_ = members;
  const std::uint32_t here = members_.machines[members_.self];
  for (std::size_t place = 0; place < members_.nodes.size(); ++place) {
    if (members_.machines[place] != here) elsewhere_.push_back(members_.nodes[place]);
  }
}

void StrategySelector::tick() {
  constexpr Duration kBetweenLooks = std::chrono::milliseconds(1);  // Steps are frequent.
  const Time now = van_.clock().now();
  if (elsewhere_.empty() || now - looked_at_ < kBetweenLooks) return;
  looked_at_ = now;
  const SendQueue& queue = van_.queue();
  std::uint64_t taken = 0;
  bool busy = false;
  for (const NodeId node : elsewhere_) {
    for (const LinkId link : peers_.links_to(node)) {
      if (queue.windows().find(link) == nullptr) continue;
      taken += queue.windows().sent(link) - queue.windows().in_flight(link);
      busy = busy || queue.waiting(link) > 0;
    }
  }
  watch_.add(taken, busy, now);
  constexpr double kWorthTelling = 0.1;
  if (std::abs(watch_.rate() - told_) <= kWorthTelling * told_) return;
  const NodeId chooser = members_.nodes.front();
  const NodeId self = members_.nodes[members_.self];
  const LinkId link = chooser == self ? 0 : peers_.link_to(chooser);
  if (chooser != self && link == 0) return;  // Sent once there is one.
  told_ = watch_.rate();
  if (chooser == self) return note(self, told_);
  van_.send_control(link, control::Rate{.bytes_per_second = static_cast<std::uint64_t>(told_)});
}

// Workers without a reported rate count as the average of their machine.
std::vector<double> StrategySelector::machine_rates() const {
  std::vector<double> sums;
  std::vector<double> heard;
  std::vector<double> there;
  for (std::size_t place = 0; place < members_.nodes.size(); ++place) {
    const std::uint32_t machine = members_.machines[place];
    if (machine >= sums.size()) {
      sums.resize(machine + 1);
      heard.resize(machine + 1);
      there.resize(machine + 1);
    }
    there[machine] += 1;
    const auto found = rates_.find(members_.nodes[place]);
    if (found == rates_.end() || !(found->second > 0)) continue;
    sums[machine] += found->second;
    heard[machine] += 1;
  }
  for (std::size_t machine = 0; machine < sums.size(); ++machine) {
    if (heard[machine] > 0) sums[machine] *= there[machine] / heard[machine];
  }
  return sums;
}

control::TermPlan StrategySelector::choose(TensorState& tensor, PeerTensor& known) {
  const std::uint64_t round = known.first_open();
  const collective::StrategyChoice choice =
      choose_({.machines = known.members.machines, .rates = machine_rates()}, tensor.spec.bytes(),
              tensor.cut.bytes_of_part(0), known.terms->plan());
  if (!(choice.plan == known.terms->plan())) {
    log(Level::kInfo, "tensor '{}' of {} bytes goes by another exchange from round {} on: {}",
        tensor.spec.name, tensor.spec.bytes(), round, choice.why);
  }
  chosen_.set(tensor.id, tensor.spec.bytes(), choice.plan.describe(), choice.why);
  const Status status = decide(known, round, choice.plan);
  STRETTO_CHECK(status.ok());
  return {.tensor = tensor.id,
          .round = round,
          .primitive = static_cast<std::uint8_t>(choice.plan.primitive),
          .weights = choice.plan.weights};
}

Status StrategySelector::take(TensorState& tensor, PeerTensor& known, NodeId from,
                              const control::TermPlan& told) {
  if (!known.terms || known.members.self == 0 || known.members.place_of(from) != 0) {
    return {Code::kMalformed, "a plan came from a worker that chooses none here"};
  }
  // The worker that chose has received all contributions to the previous round.
  if (known.first_open() + 1 < told.round) {
    return {Code::kMalformed,
            fmt::format("a plan for round {} came in round {}", told.round, known.first_open())};
  }
  const auto primitive = static_cast<collective::Primitive>(told.primitive);
  if (Status status = decide(known, told.round, {primitive, told.weights}); !status.ok()) {
    return {Code::kMalformed, status.cause()};
  }
  go_on(tensor, known);
  return {};
}

Status StrategySelector::decide(PeerTensor& known, std::uint64_t round,
                                const collective::StrategyPlan& plan) {
  Result<collective::Strategy> strategy = strategy_for(plan, known.members);
  if (!strategy.ok()) return strategy.status();
  if (Status status = known.terms->decide(round, plan, *std::move(strategy)); !status.ok()) {
    return status;
  }
  known.take_plan();
  return {};
}

Result<collective::Strategy> StrategySelector::strategy_for(const collective::StrategyPlan& plan,
                                                            const Participants& members) {
  const auto found = std::ranges::find_if(strategies_, [&](const Made& made) {
    return made.plan == plan && made.machines == members.machines;
  });
  if (found != strategies_.end()) return found->strategy;
  Result<collective::Strategy> made = collective::strategy_of(plan, members.machines);
  constexpr std::size_t kMost = 64;
  if (strategies_.size() == kMost) strategies_.erase(strategies_.begin());
  if (made.ok()) strategies_.push_back({plan, members.machines, *made});
  return made;
}

}  // namespace stretto
