// SPDX-License-Identifier: Apache-2.0
// Losses that no end tells: by a silence of heartbeats, by absence, by what survivors say; and the
// record of what ended. In virtual time.
#include <gtest/gtest.h>

#include "tools/launch/remote/heartbeat_monitor.h"
#include "tools/launch/remote/output_credit.h"
#include "tools/launch/supervision/loss_detector.h"
#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch {
namespace {

constexpr Time kLossesStart{100s};
constexpr std::size_t kServer = 1;
constexpr std::size_t kFirst = 2;
constexpr std::size_t kSecond = 3;
constexpr Exit kFine{false, 0};

using Members = std::vector<std::size_t>;

JobEvidence running() {
  JobEvidence evidence;
  for (const JobMember& member : {JobMember{Role::kScheduler, 0}, JobMember{Role::kServer, 0},
                                  JobMember{Role::kWorker, 0}, JobMember{Role::kWorker, 1}}) {
    evidence.members.emplace_back(member);
    evidence.record_start(evidence.members.size() - 1);
  }
  return evidence;
}

TEST(LaunchLosses, EndedWorkerIsAbsentAfterOthersWait) {
  const Limits limits;
  JobEvidence evidence = running();
  LossDetector detector(limits);
  evidence.record_end(kFirst, kFine, kLossesStart);
  EXPECT_FALSE(detector.absence_deadline(evidence));  // Nobody waits.
  detector.on_gathering(JobFormation::kAwaited, kLossesStart + 1s);
  detector.on_gathering(JobFormation::kAwaited, kLossesStart + 2s);  // Since the first.
  const Time due = kLossesStart + 1s + limits.absence;
  EXPECT_EQ(detector.absence_deadline(evidence), due);
  EXPECT_TRUE(detector.absent(evidence, due - 1ns).empty());
  EXPECT_EQ(detector.absent(evidence, due), Members{kFirst});
  detector.on_gathering(JobFormation::kComplete, due);
  EXPECT_TRUE(detector.gathered());
  EXPECT_TRUE(detector.absent(evidence, due).empty());
  detector.on_gathering(JobFormation::kAwaited, due);  // What is complete stays so.
  EXPECT_TRUE(detector.absent(evidence, due + limits.absence).empty());
}

TEST(LaunchLosses, ServersAndThoseThatFailedAreNotAbsent) {
  JobEvidence evidence = running();
  LossDetector detector(Limits{});
  detector.on_gathering(JobFormation::kAwaited, kLossesStart);
  evidence.record_end(kServer, kFine, kLossesStart);
  evidence.record_end(kFirst, {false, 3}, kLossesStart);
  EXPECT_FALSE(detector.absence_deadline(evidence));
}

TEST(LaunchLosses, AbandonedMemberGetsGracePeriod) {
  JobEvidence evidence = running();
  LossDetector detector(Limits{});
  EXPECT_TRUE(detector.abandoned(evidence, kLossesStart).empty());
  evidence.record_end(0, {false, 1}, kLossesStart);
  evidence.members[0].said = ErrorLine{Code::kPeerLost, "worker 1", "nothing heard of it"};
  ASSERT_EQ(given_up(evidence), Members{kSecond});
  EXPECT_TRUE(detector.abandoned(evidence, kLossesStart).empty());
  EXPECT_EQ(detector.abandonment_deadline(), kLossesStart + kHindsight);
  EXPECT_TRUE(detector.abandoned(evidence, kLossesStart + kHindsight - 1ns).empty());
  EXPECT_EQ(detector.abandoned(evidence, kLossesStart + kHindsight), Members{kSecond});
  evidence.record_end(kSecond, kFine, kLossesStart + kHindsight);
  EXPECT_TRUE(detector.abandoned(evidence, kLossesStart + kHindsight).empty());
  EXPECT_FALSE(detector.abandonment_deadline());
}

TEST(LaunchLosses, EvidenceTracksLiveMembers) {
  JobEvidence evidence = running();
  EXPECT_EQ(evidence.alive_names(), "scheduler, server 0, worker 0, worker 1");
  evidence.record_end(kFirst, kFine, kLossesStart);
  EXPECT_FALSE(evidence.failed());
  evidence.record_loss(kSecond, 1, {Code::kNetwork, "its host is gone"}, kLossesStart);
  EXPECT_TRUE(evidence.failed());
  EXPECT_TRUE(evidence.is_alive(kSecond));
  evidence.record_out_of_sight(kSecond);
  EXPECT_FALSE(evidence.is_alive(kSecond));
  EXPECT_EQ(evidence.alive_names(), "scheduler, server 0");
  EXPECT_FALSE(evidence.all_ended());
  EXPECT_FALSE(evidence.workers_succeeded());
}

TEST(LaunchLossesDeathTest, DiesOnSecondEndOrStartOfEndedMember) {
  JobEvidence evidence = running();
  evidence.record_end(kFirst, kFine, kLossesStart);
  EXPECT_DEATH(evidence.record_end(kFirst, kFine, kLossesStart), "stretto bug");
  EXPECT_DEATH(evidence.record_start(kFirst), "stretto bug");
}

TEST(LaunchHeartbeat, SilenceCountsWhileWeAreAwake) {
  HeartbeatMonitor watch(1s);
  watch.hear(kLossesStart);
  watch.begin(kLossesStart);
  EXPECT_EQ(watch.next_look(5s), kLossesStart + 1s);
  EXPECT_EQ(watch.look(kLossesStart + 1s), 1s);
  EXPECT_EQ(watch.look(kLossesStart + 4s), 4s);    // Late, but awake.
  EXPECT_EQ(watch.look(kLossesStart + 604s), 4s);  // Asleep.
  EXPECT_EQ(watch.look(kLossesStart + 605s), 5s);
  EXPECT_EQ(watch.next_look(7s), kLossesStart + 606s);
  EXPECT_EQ(watch.next_look(5500ms), kLossesStart + 605500ms);  // The limit comes first.
  watch.hear(kLossesStart + 606s);
  EXPECT_EQ(watch.look(kLossesStart + 607s), 1s);
}

TEST(LaunchOutputCredit, GrantsLargePiecesUnlessStreamIsPaused) {
  OutputCredit credit(400);
  credit.take(99);
  EXPECT_EQ(credit.take_due(), 0);
  credit.take(1);
  credit.pause(1, true);
  EXPECT_EQ(credit.take_due(), 0);
  credit.pause(1, false);
  EXPECT_EQ(credit.take_due(), 100);
  EXPECT_EQ(credit.take_due(), 0);
}

}  // namespace
}  // namespace stretto::launch
