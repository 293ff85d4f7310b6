// SPDX-License-Identifier: Apache-2.0
// The request to the scheduler, and the ways in which a handoff fails.
#include "server/recovery/handoff.h"

#include <fmt/core.h>

#include "common/launch_protocol/migration_lines.h"
#include "common/log.h"

namespace stretto {

void Handoff::begin(MembershipClient& membership, Time now, Duration patience) {
  const bool is_member = membership.state() == MembershipClient::State::kMember;
  const JobSettings settings = is_member ? membership.settings() : JobSettings();
  if (!settings.servers_replaced())
    return membership.resign({Code::kInterrupted, std::string(kAskedToEnd)});
  log(Level::kInfo, "asked to end by a signal: another is to have this place within {} s",
      seconds(patience));
  begin(now, patience, settings.replicated());
}

void Handoff::step(MembershipClient& membership, Van& van, Time now) {
  if (!begun()) return;
  const bool asks = !membership.over() && !membership.scheduler().is_awaited();
  const LinkId scheduler = asks ? membership.scheduler().id() : 0;
  if (const auto move = question(scheduler)) van.send_control(scheduler, *move);
  look(!membership.over() && membership.scheduler().is_awaited(), now);
  if (Status why = in_vain(now); !why.ok()) membership.resign(std::move(why));
}

std::optional<control::Move> Handoff::question(LinkId scheduler) {
  if (!begun() || scheduler == 0 || asked_ == scheduler) return std::nullopt;
  asked_ = scheduler;
  return control::Move{};
}

Status Handoff::in_vain(Time now) const {
  if (may_go_) return {Code::kInterrupted, std::string(kAskedToEnd)};
  if (!refusal_.ok()) {
    return {Code::kInterrupted,
            fmt::format("{}, and its place is not handed over: {}", kAskedToEnd, refusal_.cause())};
  }
  if (away_since_ && now - *away_since_ >= kMissed) {
    return {
        Code::kInterrupted,
        fmt::format("{}, and its place is not handed over: there is no scheduler", kAskedToEnd)};
  }
  if (!deadline_ || now < *deadline_) return {};
  return {Code::kInterrupted,
          fmt::format("{}, and nobody had its place within {} s (STRETTO_DRAIN_S)", kAskedToEnd,
                      seconds(patience_))};
}

}  // namespace stretto
