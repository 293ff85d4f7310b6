// SPDX-License-Identifier: Apache-2.0
// Workers that end well before they have joined: missed if others wait for them, and only then.
#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

class LaunchAbsence : public SupervisorFixture {};

TEST_F(LaunchAbsence, WorkerEndingBeforeJoinIsLostAfterOthersWait) {
  start_all();
  end({{kSecondWorker, kFine}});
  EXPECT_FALSE(supervisor_.deadline());  // Nobody needs it.
  now_ += 7s;
  EXPECT_TRUE(gather(JobFormation::kAwaited).notes.empty());
  const Reaction missed = wait();
  EXPECT_EQ(elapsed(), 7s + 5s);
  EXPECT_EQ(missed.notes,
            std::vector<std::string>{
                "worker 1 is lost: exited with status 0 before it had joined the job, and other "
                "workers wait for it; the others have 1 s to end by themselves"});
  EXPECT_EQ(wait().orders.size(), 4u);
  end({{kFirstWorker, kTerminated}, {kServer, kTerminated}, {kScheduler, kTerminated}});
  ASSERT_TRUE(supervisor_.over());
  EXPECT_EQ(verdict(),
            "1 ERROR PeerLost role=worker rank=1 peer=- op=start cause=exited with status 0 before "
            "it had joined the job, and other workers wait for it");
}

TEST_F(LaunchAbsence, WorkerEndingWhileOthersWaitGetsSameTimeout) {
  start_all();
  gather(JobFormation::kAwaited);
  now_ += 7s;
  end({{kSecondWorker, kFine}});
  wait();
  EXPECT_EQ(elapsed(), 7s + 5s);
}

TEST_F(LaunchAbsence, NoTimeoutOnceGatheringIsComplete) {
  start_all();
  gather(JobFormation::kAwaited);
  end({{kSecondWorker, kFine}});
  EXPECT_TRUE(supervisor_.deadline());
  now_ += 4s;
  gather(JobFormation::kComplete);
  EXPECT_FALSE(supervisor_.deadline());
}

TEST_F(LaunchAbsence, NoTimeoutAfterOthersStopWaiting) {
  start_all();
  end({{kSecondWorker, kFine}});
  gather(JobFormation::kAwaited);
  gather(JobFormation::kUnawaited);
  EXPECT_FALSE(supervisor_.deadline());
  now_ += 7s;
  end({{kFirstWorker, kFine}});
  end({{kServer, kFine}, {kScheduler, kFine}});
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchAbsence, OrphanMayJoinForEndedWorker) {
  start_all();
  gather(JobFormation::kAwaited);
  end({{kSecondWorker, kFine}}, 1);
  EXPECT_FALSE(supervisor_.deadline());
  end({}, 0);
  wait();
  EXPECT_EQ(elapsed(), 5s);
}

}  // namespace
}  // namespace stretto::launch::supervised
