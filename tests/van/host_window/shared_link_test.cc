// SPDX-License-Identifier: Apache-2.0
// How several processes of a host divide its link, by policy: fractions of its rate, and the
// latency of urgent messages. All in virtual time.
#include "tests/van/host_window/shared_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

namespace stretto::host {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

class SharedLinkTest : public testing::Test {
 protected:
  SharedLinkTest() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~SharedLinkTest() override { std::filesystem::remove_all(folder_); }

  SharedLink link(HostPolicy policy) const { return {folder_ + "/seats", policy}; }

  // The 95th percentile in milliseconds of one endpoint's urgent messages, with background traffic
  // of the same or another endpoint.
  double urgent_p95(HostPolicy policy, bool apart, bool bulk) const {
    SharedLink shared(folder_ + "/seats", policy);
    SharedLink::Endpoint& background = shared.add({.bulk = bulk});
    SharedLink::Endpoint& urgent = apart ? shared.add({}) : background;
    background.start();
    shared.run(500ms);
    urgent.send_urgent(4096, 10);  // The first one meets a full queue.
    shared.run(100ms);
    const std::size_t before = urgent.urgent_ms().size();
    EXPECT_EQ(before, 1U);
    const double first = urgent.urgent_ms().front();
    for (int i = 0; i < 200; ++i) {
      urgent.send_urgent(4096, 10);
      shared.run(1ms + std::chrono::microseconds(i * 37 % 2000));
    }
    shared.run(100ms);
    std::vector<double> times = urgent.urgent_ms();
    EXPECT_EQ(times.size(), 201U);
    times.erase(std::ranges::find(times, first));
    return times[times.size() * 95 / 100];
  }

  std::string folder_ = std::string(kSharedMemory) + "/seats-test-XXXXXX";
};

double sum(const std::vector<double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

TEST_F(SharedLinkTest, OneHasItAll) {
  for (const HostPolicy policy : {HostPolicy::kNone, HostPolicy::kFair, HostPolicy::kUrgent}) {
    SharedLink link = this->link(policy);
    link.add({}).start();
    link.run(500ms);
    EXPECT_GE(sum(link.parts(500ms)), 0.97);
  }
}

TEST_F(SharedLinkTest, EqualsHaveEqualPartsAndFillIt) {
  for (const HostPolicy policy : {HostPolicy::kNone, HostPolicy::kFair, HostPolicy::kUrgent}) {
    for (const bool bulk : {false, true}) {
      SharedLink link = this->link(policy);
      for (int i = 0; i < 3; ++i) link.add({.bulk = bulk}).start();
      link.run(500ms);
      const std::vector<double> parts = link.parts(1s);
      EXPECT_GE(sum(parts), 0.97);
      if (policy == HostPolicy::kNone) continue;
      for (const double part : parts) EXPECT_NEAR(part, 1.0 / 3, 0.05) << bulk;
    }
  }
}

TEST_F(SharedLinkTest, MoreUrgentProcessSendsFirst) {
  SharedLink link = this->link(HostPolicy::kUrgent);
  SharedLink::Endpoint& last = link.add({.priority = 0, .bulk = true});
  last.start();
  link.run(500ms);
  SharedLink::Endpoint& first = link.add({.priority = 5, .bulk = true});
  first.start();
  link.run(100ms);
  EXPECT_THAT(link.parts(1s), ElementsAre(DoubleNear(0.03, 0.025), DoubleNear(0.95, 0.04)));
  first.stop();
  link.run(20ms);
  EXPECT_GE(link.parts(200ms).front(), 0.95) << "at once, and as fast as before";
}

// Bursts of some milliseconds: the rest resumes at the end of each, before the link is idle.
TEST_F(SharedLinkTest, TurnsLeaveNoGap) {
  for (const bool bulk : {false, true}) {
    SharedLink link = this->link(HostPolicy::kUrgent);
    link.add({.priority = 0, .bulk = bulk}).start();
    SharedLink::Endpoint& bursts = link.add({.priority = 5, .bulk = bulk});
    link.run(500ms);
    double carried = 0;
    for (int i = 0; i < 100; ++i) {
      bursts.send(500'000);
      carried += sum(link.parts(8ms + std::chrono::microseconds(i * 37 % 1000))) / 100;
    }
    EXPECT_GE(carried, 0.95) << bulk;
  }
}

TEST_F(SharedLinkTest, SlowUrgentProcessDoesNotHoldUpOthers) {
  for (const double slow : {0.02, 0.3}) {
    SharedLink link = this->link(HostPolicy::kUrgent);
    link.add({.priority = 0}).start();
    link.run(500ms);
    link.add({.priority = 5, .path_rate = slow * SharedLink::kRate}).start();
    link.run(300ms);
    const std::vector<double> parts = link.parts(1s);
    EXPECT_GE(parts[1], 0.95 * slow) << slow;
    EXPECT_GE(parts[0], 0.9 * (1 - 1.25 * slow)) << slow;
  }
}

TEST_F(SharedLinkTest, KilledProcessReleasesItsShare) {
  SharedLink link = this->link(HostPolicy::kUrgent);
  link.add({.priority = 0}).start();
  SharedLink::Endpoint& first = link.add({.priority = 5});
  first.start();
  link.run(500ms);
  EXPECT_LE(link.parts(100ms).front(), 0.1);
  first.kill();
  link.run(60ms);
  EXPECT_GE(link.parts(100ms).front(), 0.95);
}

TEST_F(SharedLinkTest, JobsShareEquallyForAnyProcessCount) {
  for (const HostPolicy policy : {HostPolicy::kFair, HostPolicy::kUrgent}) {
    SharedLink link = this->link(policy);
    link.add({.job = 1, .priority = -5, .bulk = true}).start();
    for (int i = 0; i < 3; ++i) link.add({.job = 2, .priority = 5, .bulk = true}).start();
    link.run(500ms);
    const std::vector<double> parts = link.parts(1s);
    EXPECT_GE(sum(parts), 0.97);
    EXPECT_NEAR(parts.front(), 0.5, 0.1);
  }
}

// With the background traffic in the same process or in another.
TEST_F(SharedLinkTest, UrgentLatencyIsUnaffectedByOtherProcess) {
  const double one = urgent_p95(HostPolicy::kUrgent, false, false);
  EXPECT_LE(urgent_p95(HostPolicy::kUrgent, true, false), 1.5 * one);
  EXPECT_LE(urgent_p95(HostPolicy::kUrgent, true, true), 1.5 * one);
  EXPECT_GE(urgent_p95(HostPolicy::kNone, true, true), 3 * one);
}

}  // namespace
}  // namespace stretto::host
