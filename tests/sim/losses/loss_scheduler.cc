// SPDX-License-Identifier: Apache-2.0
// When it is lost, and what the next one goes on from.
#include "tests/sim/losses/loss_scheduler.h"

#include <algorithm>
#include <set>
#include <vector>

namespace stretto::sim {
namespace {

constexpr Duration kLongestWait = 400ms;  // For a moment that does not come.

bool anybody_joins(const View& view) {
  return std::ranges::any_of(view.members, [](const auto& item) { return item.second.joining; });
}

}  // namespace

std::unique_ptr<Scheduler> LossScheduler::make(Config& config, std::unique_ptr<Transport> transport,
                                               const Clock& clock) {
  starts_at_ = Time::max();
  ++life_;
  since_ = clock.now();
  if (!plan_.scheduler_strikes.empty()) {
    config.scheduler_return = {
        .journal = "journal", .life = life_, .restarts = 100, .absence = 30s};
  }
  std::set<std::string> restored;
  Result<RecoveredState> past = past_of(config, disk_, restored);
  if (!past.ok()) {
    ways_.report("a journal can be read", past.status().text());
    return nullptr;
  }
  const std::vector<JournalRecord> records = std::move(past->records);
  auto scheduler = std::make_unique<Scheduler>(config, std::move(transport), clock, nullptr,
                                               CheckpointKeeper::Files(), *std::move(past));
  const Status status = records.empty() ? Status() : scheduler->recover(records);
  if (!status.ok()) ways_.report("a journal leads where it did", status.text());
  return scheduler;
}

Time LossScheduler::next_due() const {
  if (is_away()) return starts_at_;
  if (!running_ || struck_ == plan_.scheduler_strikes.size()) return Time::max();
  const Time due = since_ + plan_.scheduler_strikes[struck_].after;
  return looks_ ? due + kLongestWait : due;
}

bool LossScheduler::is_the_moment(const Scheduler& scheduler, bool misses) const {
  switch (plan_.scheduler_strikes[struck_].moment) {
    case LossPlan::Moment::kAny:
      return true;
    case LossPlan::Moment::kSomebodyJoins:
      return anybody_joins(scheduler.view());
    case LossPlan::Moment::kSomebodyIsMissing:
      return misses;
    case LossPlan::Moment::kAllAreAsked:
      return scheduler.machine().entrance().open_question().has_value();
  }
  return true;
}

void LossScheduler::act(Time now, const Scheduler& scheduler, bool misses) {
  if (plan_.scheduler_strikes.empty()) return;
  if (is_away()) {
    if (starts_at_ <= now) ways_.start();
    return;
  }
  const bool runs = scheduler.phase() == "running";
  if (runs && !std::exchange(running_, true)) since_ = now;
  if (running_ && !runs) struck_ = plan_.scheduler_strikes.size();  // The job ends.
  if (!runs || (!looks_ && next_due() > now)) return;
  const bool waits = !looks_ || now < next_due();
  looks_ = true;
  if (!is_the_moment(scheduler, misses) && waits) return;
  looks_ = false;
  const LossPlan::SchedulerStrike& strike = plan_.scheduler_strikes[struck_++];
  starts_at_ = now + strike.absence;
  settled_at_ = starts_at_ + 1s;
  ways_.lose(strike.absence);
  disk_.restart(Crash::kProcess);
}

}  // namespace stretto::sim
