// SPDX-License-Identifier: Apache-2.0
// How long links may stay that were not admitted, or were refused.
#include "van/session/pending_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class PendingLinksTest : public testing::Test {
 protected:
  Time at(Duration time) const { return began_ + time; }

  Time began_{1000s};
  PendingLinks links_;
};

TEST_F(PendingLinksTest, LinkWithoutHelloExpires) {
  links_.add(1, at(0s));
  EXPECT_THAT(links_.expired(at(5s)), IsEmpty());
  EXPECT_THAT(links_.expired(at(6s)), ElementsAre(1));
}

TEST_F(PendingLinksTest, GreetedLinkMayAwaitAdmission) {
  links_.add(1, at(0s));
  links_.greeted(1);
  EXPECT_THAT(links_.expired(at(100s)), IsEmpty());
  EXPECT_NE(links_.next_look(), Time::max()) << "it still counts among those that are not admitted";
}

TEST_F(PendingLinksTest, AdmittedLinkIsNoLongerPending) {
  links_.add(1, at(0s));
  links_.admitted(1);
  EXPECT_EQ(links_.next_look(), Time::max());
  EXPECT_THAT(links_.expired(at(100s)), IsEmpty());
}

TEST_F(PendingLinksTest, ARefusedLinkHasASecond) {
  links_.refused(1, at(0s));
  EXPECT_THAT(links_.expired(at(1s)), IsEmpty());
  EXPECT_THAT(links_.expired(at(1600ms)), ElementsAre(1));
}

TEST_F(PendingLinksTest, ExpiresOnceThoughForTwoReasons) {
  links_.add(1, at(0s));
  links_.refused(1, at(0s));
  EXPECT_THAT(links_.expired(at(6s)), ElementsAre(1));
}

TEST_F(PendingLinksTest, LooksNowAndThenOnly) {
  links_.add(1, at(0s));
  EXPECT_THAT(links_.expired(at(4900ms)), IsEmpty());
  EXPECT_THAT(links_.expired(at(5100ms)), IsEmpty()) << "looked a moment ago";
  EXPECT_THAT(links_.expired(at(links_.next_look() - began_)), ElementsAre(1));
}

TEST_F(PendingLinksTest, AFloodIsBounded) {
  LinkId next = 1;
  while (!links_.full()) links_.add(next++, at(0s));
  EXPECT_EQ(next, 1025U);
  links_.admitted(7);
  EXPECT_FALSE(links_.full());
  links_.add(next, at(0s));
  links_.remove(8);
  EXPECT_FALSE(links_.full());
}

}  // namespace
}  // namespace stretto
