// SPDX-License-Identifier: Apache-2.0
// An index by member: a partition of a large mesh reports as many links as there are pairs.
#include "scheduler/membership/fault_reports.h"

#include <algorithm>

#include "core/fault_window.h"

namespace stretto {
namespace {

// How long a reported break may wait for its cause, such as the exit of the peer's process. Longer
// than ReconnectTimeouts::brief, the wait when no other source reports the exit.
constexpr Duration kSilentFor = 2s;
constexpr Duration kProof = 100ms;  // Signs of life after that were sent after the report.

FaultReports::Link link_of(const Suspicion& report) {
  return std::minmax(report.reporter, report.subject);
}

}  // namespace

void FaultReports::add(const Suspicion& report, Time now, Duration dead_after, bool is_choice) {
  const Link link = link_of(report);
  if (link.first == link.second || reports_.contains(link)) return;
  const Time patience = now + std::max<Duration>(kSilentFor, dead_after / 5);
  const Time window = now + fault_window(dead_after);
  reports_.emplace(link, Report{.report = report,
                                .proof_from = now + kProof,
                                .settles = is_choice ? window : now,
                                .patience = patience,
                                .due = is_choice ? std::max(patience, window) : patience});
  ends_[link.first].far_ends.insert(link.second);
  ends_[link.second].far_ends.insert(link.first);
}

void FaultReports::follow(const View& before, const View& now) {
  std::vector<NodeId> over;
  for (const auto& [node, end] : ends_) {
    const Member* was = before.find(node);
    const Member* is = now.find(node);
    const bool is_gone = is == nullptr || is->left;
    if (is_gone || (was != nullptr && was->standby && !is->standby)) over.push_back(node);
  }
  for (const NodeId node : over) remove_all_of(node);
}

void FaultReports::alive(NodeId node, Time now) {
  if (const auto end = ends_.find(node); end != ends_.end()) end->second.alive = now;
}

std::vector<FaultReports::Link> FaultReports::due(Time now) const {
  std::vector<Link> due;
  for (const auto& [link, report] : reports_) {
    const int alive = lives(link.first, report) + lives(link.second, report);
    const Time at = alive == 2 ? report.settles : alive == 1 ? report.patience : report.due;
    if (now >= at) due.push_back(link);
  }
  return due;
}

std::optional<FaultReports::Fault> FaultReports::take(const Link& link) {
  const auto found = reports_.find(link);
  if (found == reports_.end()) return std::nullopt;
  const auto [first, second] = link;
  const Report& report = found->second;
  Fault fault{.report = report.report};
  const bool first_lives = lives(first, report);
  if (first_lives != lives(second, report)) fault.silent = first_lives ? second : first;
  const std::size_t of_first = ends_.at(first).far_ends.size();
  const std::size_t of_second = ends_.at(second).far_ends.size();
  if (of_first != of_second) fault.common = of_first > of_second ? first : second;
  fault.links = std::max(of_first, of_second);
  remove(link);
  return fault;
}

NodeId FaultReports::Fault::likelier() const {
  if (silent != 0) return silent;
  return common != 0 ? common : std::max(report.reporter, report.subject);
}

std::vector<NodeId> FaultReports::far_ends_of(NodeId node) const {
  const auto end = ends_.find(node);
  if (end == ends_.end()) return {};
  return {end->second.far_ends.begin(), end->second.far_ends.end()};
}

void FaultReports::remove(const Link& link) {
  reports_.erase(link);
  for (const auto& [near, far] : {link, Link(link.second, link.first)}) {
    const auto end = ends_.find(near);
    end->second.far_ends.erase(far);
    if (end->second.far_ends.empty()) ends_.erase(end);
  }
}

void FaultReports::remove_all_of(NodeId node) {
  for (const NodeId far : far_ends_of(node)) remove(std::minmax(node, far));
}

}  // namespace stretto
