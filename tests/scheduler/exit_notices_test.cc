// SPDX-License-Identifier: Apache-2.0
// What is made of a launcher's lines, and of others'.
#include "scheduler/launcher/exit_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ExitNoticesTest : public testing::Test {
 protected:
  ExitNoticesTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    launcher_ = Descriptor(ends[0]);
    scheduler_ = Descriptor(ends[1]);
  }
  void say(std::string_view text) {
    ASSERT_EQ(::send(launcher_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  Descriptor launcher_;
  Descriptor scheduler_;
};

TEST_F(ExitNoticesTest, ReportsEachMemberExitOnce) {
  ExitNotices ends(scheduler_.get());
  EXPECT_THAT(ends.take(), IsEmpty());
  EXPECT_FALSE(ends.told());
  say("ends are told\nworker 3 has ended\nserver 0 has en");
  EXPECT_THAT(ends.take(), ElementsAre(MemberExit{Role::kWorker, 3}));
  EXPECT_TRUE(ends.told());
  say("ded\n");
  EXPECT_THAT(ends.take(), ElementsAre(MemberExit{Role::kServer, 0}));
  EXPECT_THAT(ends.take(), IsEmpty());
}

TEST_F(ExitNoticesTest, ACheckpointIsWantedOnce) {
  ExitNotices ends(scheduler_.get());
  ends.take();
  EXPECT_FALSE(ends.take_wish());
  say("a checkpoint is wanted\n");
  ends.take();
  EXPECT_TRUE(ends.take_wish());
  EXPECT_FALSE(ends.take_wish());
}

TEST_F(ExitNoticesTest, KeepsNoticeSentBeforeLauncherClosed) {
  ExitNotices ends(scheduler_.get());
  say(line_of(MemberExit{Role::kWorker, 0}) + "\n");
  launcher_.close();
  EXPECT_THAT(ends.take(), ElementsAre(MemberExit{Role::kWorker, 0}));
  EXPECT_THAT(ends.take(), IsEmpty());
}

TEST_F(ExitNoticesTest, TellsWhetherJoinsHaveNoLimit) {
  ExitNotices ends(scheduler_.get());
  say("ends are told\n");
  EXPECT_THAT(ends.take(), IsEmpty());
  EXPECT_FALSE(ends.joins_unlimited());
  say("members may join at any time\n");
  EXPECT_THAT(ends.take(), IsEmpty());
  EXPECT_TRUE(ends.joins_unlimited());
}

TEST_F(ExitNoticesTest, NonsenseIsNoEnd) {
  ExitNotices ends(scheduler_.get());
  say("worker x has ended\n\nends are told?\n");
  EXPECT_THAT(ends.take(), IsEmpty());
  say(std::string(3000, '.'));
  EXPECT_THAT(ends.take(), IsEmpty());
  EXPECT_THAT(ends.take(), IsEmpty()) << "it is not read any more";
}

TEST_F(ExitNoticesTest, APipeAndNothingTellNothing) {
  int pipe[2] = {-1, -1};
  ASSERT_EQ(::pipe(pipe), 0);
  const Descriptor from(pipe[0]);
  const Descriptor to(pipe[1]);
  for (const int descriptor : {-1, to.get()}) {
    ExitNotices ends(descriptor);
    EXPECT_THAT(ends.take(), IsEmpty());
    EXPECT_FALSE(ends.told());
  }
}

}  // namespace
}  // namespace stretto
