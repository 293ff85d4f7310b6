// SPDX-License-Identifier: Apache-2.0
// A supervisor of two workers and one server, for tests that feed it events and times.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tools/launch/supervision/member_news.h"
#include "tools/launch/supervision/supervisor.h"

namespace stretto::launch::supervised {

using Scope = SignalOrder::Scope;

// Two workers and one server, in starting order.
inline constexpr std::size_t kScheduler = 0;
inline constexpr std::size_t kServer = 1;
inline constexpr std::size_t kFirstWorker = 2;
inline constexpr std::size_t kSecondWorker = 3;

inline constexpr Exit kFine{false, 0};
inline constexpr Exit kStatus3{false, 3};
inline constexpr Exit kKilled{true, SIGKILL};
inline constexpr Exit kTerminated{true, SIGTERM};

class SupervisorFixture : public testing::Test {
 protected:
  explicit SupervisorFixture(GoingOn::Sizing sizing = GoingOn::Sizing::kFixed, Rank spares = 0,
                             std::uint32_t server_restarts = 0, std::uint32_t returns = 0)
      : sizing_(sizing), spares_(spares), server_restarts_(server_restarts), returns_(returns) {}

  void start_all() {
    supervisor_.on_spawned(kScheduler);
    supervisor_.on_ready();
    ASSERT_TRUE(supervisor_.may_start());
    for (const std::size_t member : {kServer, kFirstWorker, kSecondWorker})
      supervisor_.on_spawned(member);
  }
  void run_all() {
    start_all();
    gather(JobFormation::kComplete);
  }

  Reaction end(const std::vector<Ended>& ended, std::size_t orphans = 0) {
    return supervisor_.on_ended(ended, orphans, now_);
  }
  Reaction gather(JobFormation gathering) { return supervisor_.on_gathering(gathering, now_); }
  Reaction signal(int number) { return supervisor_.on_signal(number, now_); }

  // Advances to the next deadline; returns the reaction there.
  Reaction wait() {
    EXPECT_TRUE(supervisor_.deadline().has_value());
    now_ = *supervisor_.deadline();
    EXPECT_TRUE(supervisor_.on_time(now_ - 1ns).orders.empty());
    return supervisor_.on_time(now_);
  }
  Duration elapsed() const { return now_ - start_; }

  // One signal for each of the members, in their order.
  static std::vector<SignalOrder> to(const std::vector<std::size_t>& members, int number,
                                     Scope scope) {
    std::vector<SignalOrder> orders;
    for (const std::size_t member : members) orders.push_back({member, number, scope});
    return orders;
  }

  std::string verdict() const {
    const Verdict verdict = supervisor_.outcome().verdict;
    return std::to_string(verdict.exit_status) + " " +
           verdict.error.error_line(name_of(verdict.who->role), verdict.who->rank);
  }

  static std::vector<JobMember> members_and(Rank spares) {
    std::vector<JobMember> members = {
        {Role::kScheduler, 0}, {Role::kServer, 0}, {Role::kWorker, 0}, {Role::kWorker, 1}};
    for (Rank i = 0; i < spares; ++i) members.push_back({Role::kWorker, 2 + i});
    return members;
  }

  static Limits limits_with(std::uint32_t returns) {
    Limits limits;
    limits.returns = returns;
    limits.least_workers = 1;  // For elastic jobs.
    return limits;
  }

  const GoingOn::Sizing sizing_;
  const Rank spares_;
  const std::uint32_t server_restarts_;
  const std::uint32_t returns_;
  const Time start_{100s};
  Time now_ = start_;
  Supervisor supervisor_{members_and(spares_), limits_with(returns_), start_, sizing_, spares_,
                         server_restarts_};
};

}  // namespace stretto::launch::supervised
