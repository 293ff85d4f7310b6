// SPDX-License-Identifier: Apache-2.0
// Which messages of workers are held until a part is ready, and the order of their release.
#include "server/sessions/held_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr LinkId kLink = 1;
constexpr LinkId kOtherLink = 2;
constexpr wire::Key kFirst{1, 0};
constexpr wire::Key kSecond{1, 1};

class HeldMessagesTest : public testing::Test, private Van::Handler {
 protected:
  bool push(wire::Key key, LinkId link = kLink) {
    wire::Header header;
    header.kind = wire::Kind::kPush;
    header.key = key;
    return held_.takes(link, header, Buffer());
  }
  bool leave() { return held_.takes(kLink, control::Message(control::Leave{})); }
  /// Keys of the released pushes; {0, 0} for each other message.
  std::vector<wire::Key> release() {
    handled_.clear();
    held_.release(*this);
    return handled_;
  }

  std::set<wire::Key> ready_;
  std::set<wire::Key> asked_;
  std::vector<Status> refusals_;

 private:
  void on_control(LinkId link, const control::Message& message) override {
    EXPECT_FALSE(held_.takes(link, message)) << "again";
    handled_.emplace_back();
  }
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override {
    EXPECT_FALSE(held_.takes(link, header, payload)) << "again";
    handled_.push_back(header.key);
    if (closes_) closed_.insert(link);
  }
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId, const Status&) override {}

 protected:
  bool closes_ = false;  // Each link closes when its first data message is handled.
  std::set<LinkId> closed_;
  HeldMessages held_{{.is_ready =
                          [this](const wire::Key& key) {
                            asked_.insert(key);
                            return ready_.contains(key);
                          },
                      .is_open = [this](LinkId link) { return !closed_.contains(link); },
                      .refuse = [this](LinkId, const Status& why) { refusals_.push_back(why); }}};

 private:
  std::vector<wire::Key> handled_;
};

TEST_F(HeldMessagesTest, ReadyPartHoldsNothing) {
  ready_ = {kFirst};
  EXPECT_FALSE(push(kFirst));
  EXPECT_TRUE(push(kSecond));
}

TEST_F(HeldMessagesTest, MessagesKeepTheirOrder) {
  ready_ = {kSecond};
  EXPECT_TRUE(push(kFirst));
  EXPECT_TRUE(push(kSecond)) << "no message passes another";
  EXPECT_TRUE(leave());
  EXPECT_THAT(release(), IsEmpty());
  ready_ = {kFirst, kSecond};
  EXPECT_THAT(release(), ElementsAre(kFirst, kSecond, wire::Key{}));
  EXPECT_FALSE(push(kFirst));
}

TEST_F(HeldMessagesTest, OpeningsPass) {
  push(kFirst);
  EXPECT_FALSE(held_.takes(kLink, control::Message(control::Open{.tensor = 2, .spec = {}})));
}

TEST_F(HeldMessagesTest, LinksDoNotWaitForEachOther) {
  ready_ = {kSecond};
  EXPECT_TRUE(push(kFirst));
  EXPECT_FALSE(push(kSecond, kOtherLink));
}

TEST_F(HeldMessagesTest, ReadsBeginBeforeTheirTurn) {
  push(kFirst);
  asked_.clear();
  push(kSecond);
  EXPECT_THAT(asked_, ElementsAre(kSecond)) << "while an earlier message waits";
}

TEST_F(HeldMessagesTest, EndedLinkIsForgotten) {
  push(kFirst);
  closed_ = {kLink};
  ready_ = {kFirst};
  EXPECT_THAT(release(), IsEmpty());
}

TEST_F(HeldMessagesTest, LinkMayCloseDuringRelease) {
  push(kFirst);
  push(kFirst);
  ready_ = {kFirst};
  closes_ = true;
  EXPECT_THAT(release(), ElementsAre(kFirst));
  EXPECT_THAT(release(), IsEmpty());
}

TEST_F(HeldMessagesTest, WorkerMaySendOnlySoMuch) {
  for (int count = 0; count < 4; ++count) EXPECT_TRUE(push(kFirst));
  EXPECT_THAT(refusals_, IsEmpty());
  EXPECT_TRUE(push(kFirst));
  ASSERT_EQ(refusals_.size(), 1U);
  EXPECT_EQ(refusals_[0].code(), Code::kResource);
  EXPECT_TRUE(push(kSecond));
  EXPECT_EQ(refusals_.size(), 1U) << "the limit is one for each part";
  ready_ = {kFirst, kSecond};
  EXPECT_EQ(release().size(), 5U);
}

}  // namespace
}  // namespace stretto
