// SPDX-License-Identifier: Apache-2.0
// A diagnosis is reported only after it has lasted, so that reports in flight blame no member.
#include "scheduler/monitoring/stall_detector.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kJudgeEvery = 250ms;
constexpr Duration kLasts = 500ms;  // Before a diagnosis is reported, or is over.
constexpr Duration kActivityWindow = 900ms;
constexpr Duration kLeastDoubt = 1500ms;
constexpr int kBeatsDoubted = 3;
constexpr Duration kLeastSilence = 2500ms;
constexpr int kBeatsMissed = 5;
constexpr int kBeatsApart = 2;
constexpr std::size_t kMostRounds = 200;  // Limit of a shard, whatever it reports.

}  // namespace

// ---- the usual wait

void TypicalWait::heard(NodeId node, std::uint64_t rounds,
                        const std::vector<control::EndedWait>& ended) {
  Shard& shard = shards_[node];
  shard.rounds = std::max(shard.rounds, rounds);
  for (const control::EndedWait& wait : ended) {
    if (wait.rounds > shard.rounds) continue;
    Duration& longest = shard.longest[wait.rounds];
    longest = std::max(longest, wait.time);
  }
  std::erase_if(shard.longest,
                [&](const auto& each) { return each.first + kRemembered <= shard.rounds; });
  while (shard.longest.size() > kMostRounds) shard.longest.erase(shard.longest.begin());
}

// A single long wait is an outlier: takes the second longest of each shard's last rounds.
Duration TypicalWait::limit() const {
  std::uint64_t rounds = 0;
  Duration usual{};
  for (const auto& [node, shard] : shards_) {
    rounds = std::max(rounds, shard.rounds);
    Duration most{};
    Duration second{};
    for (const auto& [round, time] : shard.longest) {
      second = std::max(second, std::min(most, time));
      most = std::max(most, time);
    }
    usual = std::max(usual, second);
  }
  const Duration floor = rounds < kFewRounds ? kFloorAtFirst : kFloor;
  return usual > Duration::max() / kTimesUsual ? Duration::max()
                                               : std::max(floor, kTimesUsual * usual);
}

// ---- reports of members

StallDetector::StallDetector(Duration heartbeat)
    : most_apart_(std::max(kActivityWindow, kBeatsApart * heartbeat)) {
  table_.doubtful_after = std::max(kLeastDoubt, kBeatsDoubted * heartbeat);
  table_.silent_after = std::max(kLeastSilence, kBeatsMissed * heartbeat);
}

void StallDetector::heard(const Member& member, const control::Heartbeat& beat, Time now) {
  if (member.left) return;
  note_life(now);
  JobActivity::Row& row = table_.rows[member.node];
  row.member = member;
  row.heard = now;
  if (member.role == Role::kServer) {
    std::vector<control::EndedWait> unhindered = beat.ended_waits;
    std::erase_if(unhindered,
                  [&](const control::EndedWait& wait) { return paused_since(now - wait.time); });
    usual_.heard(member.node, beat.rounds, unhindered);
    return keep_waits(member.node, beat, now);
  }
  row.call = beat.waits_in;
  row.activity = beat.activity.value_or(control::Activity{});
  if (row.activity.pause.empty()) {
    pauses_.erase(member.node);
  } else {
    row.paused = now;
    pauses_[member.node] = {row.activity.pause, !row.call.empty()};
  }
  keep_rates(row, beat, now);
}

std::string StallDetector::pause_of_others(NodeId node) const {
  // Workers that pause and wait must not excuse each other forever.
  const bool pauses_itself = pauses_.contains(node);
  for (const auto& [other, pause] : pauses_) {
    if (other != node && !(pauses_itself && pause.waits)) return pause.what;
  }
  return {};
}

// Time in which no member was heard, perhaps as this process slept, counts against no member.
void StallDetector::note_life(Time now) {
  const Time before = std::exchange(table_.last_life, now);
  if (table_.rows.empty() || now - before <= most_apart_) return;
  for (auto& [node, row] : table_.rows) row.heard += now - before - most_apart_;
  table_.resumed = now;
}

void StallDetector::keep_waits(NodeId shard, const control::Heartbeat& beat, Time now) {
  std::erase_if(table_.waits, [&](const auto& wait) { return wait.shard == shard; });
  for (const control::LongWait& wait : beat.long_waits) {
    if (wait.ranks.empty()) continue;
    table_.waits.push_back({.shard = shard,
                            .tensor = wait.tensor,
                            .round = wait.round,
                            .since = now - wait.age,
                            .missing = wait.ranks});
  }
}

void StallDetector::keep_rates(JobActivity::Row& row, const control::Heartbeat& beat, Time now) {
  const Sample news{.at = now,
                    .cpu = row.activity.cpu,
                    .page_reads = row.activity.page_reads,
                    .stall = beat.input ? beat.input->stall : Duration{},
                    .bytes = beat.bytes_in + beat.bytes_out};
  const auto [found, first] = samples_.try_emplace(row.member.node, news);
  Sample& before = found->second;
  row.moves = row.moves || news.bytes != before.bytes;
  if (first || now - before.at < kActivityWindow) return;
  const double passed = seconds(now - before.at);
  row.cores = std::max(0.0, seconds(news.cpu - before.cpu) / passed);
  row.page_reads_per_s = news.page_reads < before.page_reads
                             ? 0
                             : static_cast<double>(news.page_reads - before.page_reads) / passed;
  row.input_wait = std::clamp(seconds(news.stall - before.stall) / passed, 0.0, 1.0);
  row.moves = news.bytes != before.bytes;
  before = news;
}

bool StallDetector::paused_since(Time then) const {
  return std::ranges::any_of(table_.rows, [&](const auto& each) {
    return each.second.paused != Time() && each.second.paused >= then;
  });
}

void StallDetector::left(NodeId node) {
  table_.rows.erase(node);
  pauses_.erase(node);
  samples_.erase(node);
  usual_.left(node);
  std::erase_if(table_.waits, [&](const auto& wait) { return wait.shard == node; });
}

// ---- diagnosis

std::optional<StallDetector::Word> StallDetector::look(Time now) {
  if (now < next_look_) return std::nullopt;
  next_look_ = now + kJudgeEvery;
  table_.limit = usual_.limit();
  const std::optional<StallDiagnosis> found = culprit(table_, now);
  const bool same =
      found.has_value() == suspected_.has_value() && (!found || found->agrees(*suspected_));
  if (!same) suspected_since_ = now;
  suspected_ = found;
  return now - suspected_since_ < kLasts ? std::nullopt : settle();
}

std::optional<StallDetector::Word> StallDetector::settle() {
  const std::optional<StallDiagnosis> before = std::exchange(verdict_, suspected_);
  if (verdict_ && (!before || !verdict_->agrees(*before))) {
    return Word{
        .alarming = true,
        .text = fmt::format("standstill for {:.1f} s ({}, {}): {}", seconds(verdict_->age),
                            name_of(verdict_->phase), name_of(verdict_->cause), verdict_->text)};
  }
  if (before && !verdict_) {
    return Word{.alarming = false,
                .text = fmt::format("the standstill is over, after {:.1f} s or a little more",
                                    seconds(before->age))};
  }
  return std::nullopt;
}

}  // namespace stretto
