// SPDX-License-Identifier: Apache-2.0
// An awaited worker may itself wait for another worker: the search follows the waits to a worker
// that does not wait. If it has visited all, they wait for one another, in different calls.
#include "scheduler/monitoring/stall_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "common/clock.h"

namespace stretto {
namespace {

using Wait = JobActivity::Wait;
using Row = JobActivity::Row;
using Phase = StallPhase;
using Cause = StallCause;
using control::Activity;

// A server's report on a push is up to a check and a heartbeat old, a worker's report up to a
// heartbeat. They contradict each other only if the difference lasts.
constexpr Duration kNewsTravel = 2500ms;
// A shard's report is limited to this number of tensors: a shorter report is complete.
constexpr std::size_t kMostToldSurely = control::Heartbeat::kMostLongWaits;
constexpr double kBusyCores = 0.5;
constexpr double kManyPageReads = 50;
constexpr double kMostlyWaits = 0.5;
constexpr std::size_t kMostRanksTold = 8;

struct Hindrance {
  Phase phase;
  Cause cause;
  int weight;        // The heaviest of all awaited workers is named.
  std::string text;  // "computes"
};

std::string names_of(const std::vector<const Row*>& rows) {
  std::string text = rows.size() == 1 ? "worker" : "workers";
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRanksTold); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", rows[i]->member.number());
  }
  if (rows.size() > kMostRanksTold) text += ", ...";
  return text;
}

bool waits_in(const Row& row, const std::string& tensor) {
  return row.activity.place == Activity::Place::kInCall && row.call.ends_with("'" + tensor + "'");
}

std::string on(const std::string& what) { return what.empty() ? what : fmt::format(" ({})", what); }

// For a worker outside of our calls.
Hindrance outside(const Row& row) {
  using Rest = Activity::Rest;
  const Activity& activity = row.activity;
  const std::string where = on(activity.rest_on);
  if (row.page_reads_per_s >= kManyPageReads && row.cores < 2 * kBusyCores) {
    return {Phase::kComputing, Cause::kMemory, 6,
            fmt::format("waits for memory, for {:.0f} pages a second that a disk has to bring",
                        row.page_reads_per_s)};
  }
  if (activity.rest == Rest::kMemory) {
    return {Phase::kComputing, Cause::kMemory, 6, "waits for a page of memory"};
  }
  if (row.input_wait >= kMostlyWaits) {
    return {Phase::kComputing, Cause::kData, 6, "waits for data of its reader"};
  }
  if (row.cores < kBusyCores) {
    if (activity.rest == Rest::kLock) {
      return {Phase::kComputing, Cause::kLock, 6,
              "is blocked in its own program, by a lock or another thread"};
    }
    if (activity.rest == Rest::kSleep) return {Phase::kComputing, Cause::kSleeps, 6, "sleeps"};
    if (activity.rest == Rest::kChild) {
      return {Phase::kComputing, Cause::kChild, 6, "waits for a process that it has started"};
    }
    if (activity.rest == Rest::kRead) {
      return {Phase::kComputing, Cause::kData, 6, "waits for data" + where};
    }
    if (activity.rest == Rest::kDevice) {
      return {Phase::kComputing, Cause::kData, 6, "waits for a device" + where};
    }
  }
  return {Phase::kComputing, Cause::kComputes, 5,
          fmt::format("computes ({:.1f} cores)", row.cores)};
}

/// A single evaluation of a table.
class Inquiry {
 public:
  Inquiry(const JobActivity& table, Time now) : table_(table), now_(now) {
    for (const auto& [node, row] : table.rows) {
      if (row.member.role == Role::kWorker && !row.member.left)
        by_rank_[row.member.number()] = &row;
    }
    for (const Wait& wait : table.waits) {
      const Row* shard = row_of(wait.shard);
      if (shard != nullptr && fresh(*shard)) told_.push_back(&wait);
    }
    std::ranges::stable_sort(told_, {}, &Wait::since);
  }

  std::optional<StallDiagnosis> verdict() const {
    if (now_ - table_.last_life > table_.doubtful_after) return std::nullopt;
    if (auto found = silent_server()) return found;
    for (const Wait* wait : told_) {
      const Time since = counted_from(wait->since);
      if (now_ - since <= table_.limit) break;
      if (auto found = search(rows_of(wait->missing), since, pushes_of(*wait))) return found;
    }
    if (auto found = absent_at_barrier()) return found;
    return told_.empty() ? unanswered() : std::nullopt;
  }

 private:
  using Rows = std::vector<const Row*>;

  // A member's silence counts only while other members are heard.
  Duration silence(const Row& row) const { return table_.last_life - row.heard; }
  bool silent(const Row& row) const { return silence(row) > table_.silent_after; }
  bool fresh(const Row& row) const { return silence(row) <= table_.doubtful_after; }
  bool doubtful(const Row& row) const { return !fresh(row) && !silent(row); }
  static bool pauses(const Row& row) { return !row.activity.pause.empty(); }
  Time counted_from(Time since) const { return std::max(since, table_.resumed); }
  Duration age_of(const Row& row) const {
    return std::min(row.activity.age + (now_ - row.heard), now_ - table_.resumed);
  }
  bool long_in_call(const Row& row, Duration limit) const {
    return !row.call.empty() && fresh(row) && age_of(row) > limit &&
           row.activity.place == Activity::Place::kInCall;
  }
  Rows rows_of(const std::vector<Rank>& ranks) const {
    Rows rows;
    for (const Rank rank : ranks) {
      if (const auto found = by_rank_.find(rank); found != by_rank_.end()) {
        rows.push_back(found->second);
      }
    }
    return rows;
  }
  const Row* row_of(NodeId node) const {
    const auto found = table_.rows.find(node);
    return found == table_.rows.end() ? nullptr : &found->second;
  }
  static std::string pushes_of(const Wait& wait) {
    return fmt::format("pushed '{}', round {}", wait.tensor, wait.round);
  }

  // A stopped server blocks no worker during a pause; afterwards its time starts again.
  std::optional<StallDiagnosis> silent_server() const {
    Time since;
    for (const auto& [rank, worker] : by_rank_) {
      if (pauses(*worker)) return std::nullopt;
      since = std::max(since, worker->paused);
    }
    if (now_ - since <= table_.limit) return std::nullopt;
    for (const auto& [node, row] : table_.rows) {
      if (row.member.role != Role::kServer || row.member.left || !silent(row)) continue;
      const Row* first = nullptr;
      for (const auto& [rank, worker] : by_rank_) {
        const bool waits = std::ranges::count(worker->activity.awaits, node) > 0 &&
                           long_in_call(*worker, table_.limit);
        if (waits && (first == nullptr || age_of(*worker) > age_of(*first))) first = worker;
      }
      if (first == nullptr) continue;
      return made(
          row, silence_of(row), age_of(*first),
          fmt::format("; worker {} waits for it in {}", first->member.number(), first->call));
    }
    return std::nullopt;
  }

  Hindrance silence_of(const Row& row) const {
    return {Phase::kStopped, Cause::kSilence, 8,
            fmt::format("has not been heard of for {:.1f} s: it is stopped, or its link to the "
                        "scheduler is silent",
                        seconds(silence(row)))};
  }

  // What blocks this worker, unless it waits for other workers. Sets `unsure` if that cannot be
  // told yet.
  std::optional<Hindrance> hindrance(const Row& row, bool& unsure) const {
    if (silent(row)) return silence_of(row);
    switch (row.activity.place) {
      case Activity::Place::kEnding:
        return Hindrance{
            Phase::kEnding, Cause::kEnd, 7,
            fmt::format("ends its program{}, and has not left the job", on(row.activity.rest_on))};
      case Activity::Place::kOutside:
        return outside(row);
      case Activity::Place::kInCall:
        break;
    }
    if (row.call.empty()) {
      const bool late = age_of(row) > kNewsTravel;  // Else it has just begun to wait.
      unsure = unsure || !late;
      if (!late) return std::nullopt;
      return Hindrance{
          Phase::kInCall, Cause::kCall, 4,
          fmt::format("is in {}", row.activity.call.empty() ? "a call" : row.activity.call)};
    }
    return own_push(row, unsure);
  }

  // For a worker in an operation whose push a server lacks, or of which no server lacks any: then a
  // push or a value has not arrived. A paused operation need not be lacked yet: once one part was
  // sent, servers lack the other workers' pushes of that part.
  std::optional<Hindrance> own_push(const Row& row, bool& unsure) const {
    const auto of_its_tensor = [&](const Wait* wait) { return waits_in(row, wait->tensor); };
    const auto lacks = [&](const Wait* wait) {
      return of_its_tensor(wait) && std::ranges::count(wait->missing, row.member.number()) > 0;
    };
    const auto wait = std::ranges::find_if(told_, lacks);
    const bool lacked = wait != told_.end();
    const bool answered = row.call.ends_with("'") && told_.size() < kMostToldSurely &&
                          std::ranges::none_of(told_, of_its_tensor);
    if (!lacked && !answered && !row.activity.held) return std::nullopt;
    if (age_of(row) < kNewsTravel || row.moves) {
      unsure = true;
      return std::nullopt;
    }
    if (row.activity.held) {
      return Hindrance{Phase::kInCall, Cause::kHeldBack, 3,
                       fmt::format("waits in {}, which its program has paused", row.call)};
    }
    const std::vector<NodeId>& awaits = row.activity.awaits;
    const Row* shard = lacked           ? row_of((*wait)->shard)
                       : awaits.empty() ? nullptr
                                        : row_of(awaits.front());
    return Hindrance{Phase::kOnLink, Cause::kLink, 3,
                     fmt::format("waits in {}, and nothing passes on its link to {}", row.call,
                                 shard == nullptr ? "a server" : shard->member.describe())};
  }

  // The workers awaited in this call; empty if unknown.
  Rows awaited_in(const Row& row) const {
    if (row.call == "barrier") return others_than("barrier");
    Rows rows;
    for (const Wait* wait : told_) {
      if (!waits_in(row, wait->tensor)) continue;
      for (const Row* each : rows_of(wait->missing)) rows.push_back(each);
    }
    return rows;
  }
  Rows others_than(const std::string& call) const {
    Rows rows;
    for (const auto& [rank, row] : by_rank_) {
      if (row->call != call || row->activity.place != Activity::Place::kInCall) rows.push_back(row);
    }
    return rows;
  }

  std::optional<StallDiagnosis> search(const Rows& missing, Time since,
                                       const std::string& undone) const {
    std::set<const Row*> seen;
    Rows waited_for = missing;
    bool unsure = false;
    while (!waited_for.empty()) {
      const Row* worst = nullptr;
      Hindrance why{};
      for (const Row* row : waited_for) {
        if (pauses(*row) || doubtful(*row)) return std::nullopt;
        since = std::max(since, row->paused);  // The awaited operation starts after its pause.
        seen.insert(row);
        const std::optional<Hindrance> found = hindrance(*row, unsure);
        if (found && (worst == nullptr || found->weight > why.weight)) {
          worst = row;
          why = *found;
        }
      }
      if (now_ - since <= table_.limit) return std::nullopt;
      if (worst != nullptr)
        return made(*worst, why, now_ - since, and_has_not(*worst, missing, undone));
      Rows next;
      for (const Row* row : waited_for) {
        for (const Row* each : awaited_in(*row)) {
          if (seen.insert(each).second) next.push_back(each);
        }
      }
      waited_for = std::move(next);
    }
    return unsure ? std::nullopt : other_call(Rows(seen.begin(), seen.end()), since, undone);
  }

  static std::string and_has_not(const Row& worst, const Rows& missing, const std::string& undone) {
    Rows others;
    for (const Row* row : missing) {
      if (row != &worst) others.push_back(row);
    }
    if (others.size() == missing.size()) {
      const bool one = others.size() == 1;
      return fmt::format("; {} {} for it, and {} not {}", names_of(others), one ? "waits" : "wait",
                         one ? "has" : "have", undone);
    }
    std::string text = fmt::format(", and has not {}", undone);
    if (!others.empty()) {
      text += fmt::format("; nor {} {}", others.size() == 1 ? "has" : "have", names_of(others));
    }
    return text;
  }

  // They wait for one another: blames the call with the fewest workers; on a tie, the last worker.
  std::optional<StallDiagnosis> other_call(const Rows& rows, Time since,
                                           const std::string& undone) const {
    const Row* named = nullptr;
    std::size_t fewest = 0;
    for (const Row* row : rows) {
      if (row->call.empty() || age_of(*row) < kNewsTravel) return std::nullopt;
      const auto same = static_cast<std::size_t>(std::ranges::count_if(
          by_rank_, [&](const auto& each) { return each.second->call == row->call; }));
      const bool fewer = named == nullptr || same < fewest ||
                         (same == fewest && row->member.number() > named->member.number());
      if (!fewer) continue;
      named = row;
      fewest = same;
    }
    if (named == nullptr) return std::nullopt;
    const Rows others = others_than(named->call);
    const std::string elsewhere =
        others.empty() ? ""
                       : fmt::format("; {} {} in {}", names_of(others),
                                     others.size() == 1 ? "waits" : "wait", others.front()->call);
    return made(
        *named,
        {Phase::kInOtherCall, Cause::kOtherCall, 0, fmt::format("waits in {}", named->call)},
        now_ - since, fmt::format(", and has not {}{}", undone, elsewhere));
  }

  std::optional<StallDiagnosis> absent_at_barrier() const {
    const Row* first = nullptr;
    for (const auto& [rank, row] : by_rank_) {
      const bool there = row->call == "barrier" && long_in_call(*row, table_.limit);
      if (there && (first == nullptr || age_of(*row) > age_of(*first))) first = row;
    }
    if (first == nullptr) return std::nullopt;
    return search(others_than("barrier"), now_ - age_of(*first), "come to the barrier");
  }

  // Workers wait for a server that lacks no push: its messages or theirs have not arrived.
  std::optional<StallDiagnosis> unanswered() const {
    const Row* first = nullptr;
    for (const auto& [node, row] : table_.rows) {  // Its report on pushes is too old.
      if (row.member.role == Role::kServer && !fresh(row)) return std::nullopt;
    }
    for (const auto& [rank, row] : by_rank_) {
      if (pauses(*row) || row->moves) return std::nullopt;
      if (row->activity.awaits.empty() || !long_in_call(*row, table_.limit + kNewsTravel)) continue;
      if (first == nullptr || age_of(*row) > age_of(*first)) first = row;
    }
    if (first == nullptr) return std::nullopt;
    if (first->activity.held) {
      return made(*first,
                  {Phase::kInCall, Cause::kHeldBack, 0,
                   fmt::format("waits in {}, which its program has paused", first->call)},
                  age_of(*first), "");
    }
    const Row* shard = row_of(first->activity.awaits.front());
    return made(*first,
                {Phase::kOnLink, Cause::kLink, 0,
                 fmt::format("waits in {}, and nothing passes on its link to {}", first->call,
                             shard == nullptr ? "a server" : shard->member.describe())},
                age_of(*first), "");
  }

  static StallDiagnosis made(const Row& row, const Hindrance& why, Duration age,
                             const std::string& more) {
    return {.role = row.member.role,
            .rank = row.member.number(),
            .shard = row.member.shard,
            .phase = why.phase,
            .cause = why.cause,
            .age = age,
            .text = fmt::format("{} {}{}", row.member.describe(), why.text, more)};
  }

  const JobActivity& table_;
  const Time now_;
  std::map<Rank, const Row*> by_rank_;  // Current workers.
  std::vector<const Wait*> told_;       // Of servers with fresh reports, the longest first.
};

}  // namespace

std::string_view name_of(StallPhase phase) {
  constexpr std::string_view kNames[] = {"computing",   "in a call", "stopped",
                                         "on its link", "ending",    "in another call"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view name_of(StallCause cause) {
  constexpr std::string_view kNames[] = {"computes", "lock",  "sleep", "data",
                                         "memory",   "child", "call",  "held back",
                                         "silence",  "link",  "end",   "other call"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::optional<StallDiagnosis> culprit(const JobActivity& table, Time now) {
  return Inquiry(table, now).verdict();
}

}  // namespace stretto
