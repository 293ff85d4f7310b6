// SPDX-License-Identifier: Apache-2.0
// In a job whose servers have others that stand by a server that ends is run again as often as may
// be, and from then on not missed: in virtual time.
#include <gmock/gmock.h>

#include "tests/tools/launch_supervisor_fixture.h"

namespace stretto::launch::supervised {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LaunchServersStandBy : public SupervisorFixture {
 protected:
  LaunchServersStandBy() : SupervisorFixture(GoingOn::Sizing::kServersStandBy, 0, 1) {}

  Reaction is_lost() { return supervisor_.on_loss_news(kServer, false, now_); }
  void lose_once() {
    end({{kServer, kKilled}});
    EXPECT_EQ(is_lost().restarts, (std::vector<Restart>{{kServer, kServer}}));
    supervisor_.on_spawned(kServer);
  }
  void end_others() {
    end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
    end({{kScheduler, kFine}});
    ASSERT_TRUE(supervisor_.over());
  }
};

TEST_F(LaunchServersStandBy, AsOftenAsMayBeItIsRunAgain) {
  run_all();
  lose_once();
  EXPECT_TRUE(end({{kServer, kKilled}}).notes.empty()) << "its word is awaited";
  const Reaction said = is_lost();
  EXPECT_THAT(said.restarts, IsEmpty());
  EXPECT_THAT(said.notes, ElementsAre("server 0 killed by SIGKILL; the job goes on without it"));
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, OneThatStandsStillIsKilledAndNotMissed) {
  run_all();
  lose_once();
  const Reaction said = is_lost();
  EXPECT_EQ(said.orders, to({kServer}, SIGKILL, Scope::kGroup));
  EXPECT_THAT(said.notes, ElementsAre("server 0 is lost; the job goes on without it"));
  EXPECT_TRUE(end({{kServer, kKilled}}).notes.empty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, OneThatIsLostWithItsHostIsNotRunAgain) {
  run_all();
  const std::size_t lost[] = {kServer};
  supervisor_.on_host_lost(lost, {Code::kPeerLost, "its host is gone"}, now_, now_);
  const Reaction said = is_lost();
  EXPECT_THAT(said.restarts, IsEmpty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, WithoutTheSchedulersWordItIsMissed) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_THAT(wait().notes, ElementsAre(testing::HasSubstr("server 0 killed by SIGKILL")));
}

}  // namespace
}  // namespace stretto::launch::supervised
