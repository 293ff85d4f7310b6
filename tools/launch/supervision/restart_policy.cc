// SPDX-License-Identifier: Apache-2.0
// Decides whether the job restarts, on which hosts, and from which checkpoint.
#include "tools/launch/supervision/restart_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace stretto::launch {
namespace {

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Removes and returns the lost hosts that the plan names; other starters choose hosts themselves.
std::vector<std::string> leave_out(const std::vector<std::string>& lost, Plan& plan) {
  std::set<std::string> left_out;
  const auto is_lost = [&](const HostSlots& host) {
    if (among(lost, host.host)) left_out.insert(host.host);
    return among(lost, host.host);
  };
  std::erase_if(plan.hosts, is_lost);
  std::erase_if(plan.server_hosts, is_lost);
  if (among(lost, plan.scheduler_host)) left_out.insert(std::exchange(plan.scheduler_host, {}));
  return {left_out.begin(), left_out.end()};
}

std::string origin_of(const Plan& plan, const AttemptOutcome& outcome) {
  if (outcome.has_made()) return fmt::format("from its checkpoint of step {}", outcome.saved->step);
  if (plan.resume == "no") return "from the start, as it has made no checkpoint";
  return "from where it had begun this time, as it has made no checkpoint since";
}

Next over(std::string_view why) {
  Next next;
  next.notes = {fmt::format("the job does not begin again: {}", why)};
  return next;
}

// The checkpoint folder is malformed: another attempt would fail the same way.
bool refuses_to_begin(const AttemptOutcome& outcome) {
  const Verdict& verdict = outcome.verdict;
  return !outcome.gathered && verdict.who && verdict.who->role == Role::kScheduler &&
         verdict.error.code() == Code::kMalformed;
}

}  // namespace

Next next_after(const Plan& plan, const AttemptOutcome& outcome) {
  const Verdict& verdict = outcome.verdict;
  if (verdict.exit_status == 0 || outcome.interrupted || plan.checkpoint.empty()) return {};
  if (plan.restarts == 0 && outcome.first) return {};
  const std::uint32_t used = std::min(outcome.replaced + 1, plan.restarts + 1);
  if (plan.restarts < used)
    return over("no restarts are left (--restarts K): who is started for another counts, too");
  if (!outcome.gathered && outcome.first) return over("it has not come together");
  if (refuses_to_begin(outcome)) return over("its scheduler refuses to begin");
  if (outcome.by_program && !outcome.has_made()) {
    return over("its program failed before it had made a checkpoint since, and would again");
  }
  Plan next = plan;
  next.restarts = plan.restarts - used;
  ++next.failures;
  next.ran += outcome.ran;
  if (outcome.saved) next.made = outcome.saved->number;
  if (outcome.has_made()) {  // "no", or another one, applied to the first start.
    next.resume = "auto";
    std::erase_if(next.added_environment,
                  [](const auto& variable) { return variable.first == "STRETTO_RESUME"; });
  }
  const std::vector<std::string> left_out = leave_out(outcome.lost_hosts, next);
  std::string note = fmt::format("{}: the job begins again {} ({} more {} may follow)",
                                 verdict.sentence(), origin_of(plan, outcome), next.restarts,
                                 next.restarts == 1 ? "restart" : "restarts");
  if (!left_out.empty()) note += fmt::format(", without {}", fmt::join(left_out, ", "));
  return {.plan = std::move(next), .notes = {std::move(note)}};
}

}  // namespace stretto::launch
