// SPDX-License-Identifier: Apache-2.0
// The handshake, both ends of it in one thread: what is agreed on, and what is refused. That it is
// CURVE's is shown by libzmq at the other end, in tests/conformance.
#include "van/tcp/curve.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "van/tcp/zmtp.h"

namespace stretto::tcp {
namespace {

using Step = CurveHandshake::Step;
using CommandText = std::vector<std::byte>;

/// Commands of a handshake, without their heads, as they may be changed on the way.
using Change = std::function<void(CommandText& body, int number)>;

class CurveTest : public testing::Test {
 protected:
  static std::unique_ptr<CurveHandshake> end(const CurveIdentity& identity, CurveSide side) {
    const bool dials = side == CurveSide::kDialer;
    return std::make_unique<CurveHandshake>(identity, side, dials ? kDealer : kRouter,
                                            dials ? kRouter : kDealer);
  }
  static CommandText body_of(const CommandText& command) {
    const std::optional<Head> head = read_head(command);
    EXPECT_TRUE(head && head->command && !head->malformed);
    EXPECT_EQ(head->length + head->size, command.size());
    EXPECT_LE(head->size, kMostCurveCommandBytes);
    return {command.begin() + static_cast<std::ptrdiff_t>(head->length), command.end()};
  }

  /// The number of the command that was refused; 0: none, both ends are done.
  int shake(const Change& change = {}) {
    dialer_ = end(dialers_, CurveSide::kDialer);
    listener_ = end(listeners_, CurveSide::kListener);
    commands_ = {dialer_->begin()};
    for (int number = 1; number <= 4; ++number) {
      CommandText body = body_of(commands_.back());
      if (change) change(body, number);
      CurveHandshake& taker = number % 2 == 1 ? *listener_ : *dialer_;
      CommandText answer;
      const Step step = taker.take(body, answer);
      if (step == Step::kRefused) {
        EXPECT_TRUE(answer.empty());
        CommandText more;
        EXPECT_EQ(taker.take(body, more), Step::kRefused);  // It stays so.
        return number;
      }
      EXPECT_EQ(step == Step::kDone, number >= 3);
      EXPECT_EQ(answer.empty(), number == 4);
      commands_.push_back(answer);
    }
    return 0;
  }

  const CurveIdentity identity_ = curve_identity_from("the secret of this job").or_exit();
  const CurveIdentity other_ = curve_identity_from("the secret of another").or_exit();
  CurveIdentity dialers_ = identity_;
  CurveIdentity listeners_ = identity_;
  std::unique_ptr<CurveHandshake> dialer_;
  std::unique_ptr<CurveHandshake> listener_;
  std::vector<CommandText> commands_;  // With their heads.
};

TEST_F(CurveTest, BothEndsAgreeAndPartsGoBothWays) {
  ASSERT_EQ(shake(), 0);
  for (const auto& [from, to] :
       {std::pair(dialer_.get(), listener_.get()), std::pair(listener_.get(), dialer_.get())}) {
    CurveSealer sealer = from->sealer();
    CurveOpener opener = to->opener();
    const CommandText part(100, std::byte{7});
    CommandText sealed(kSealBytes + part.size());
    sealer.seal(0, part, sealed);
    CommandText opened(part.size());
    const std::span<const std::byte> bytes(sealed);
    EXPECT_EQ(opener.open(bytes.first<kSealBytes>(), bytes.subspan(kSealBytes), opened), 0);
    EXPECT_EQ(opened, part);
  }
}

TEST_F(CurveTest, EveryConnectionHasKeysOfItsOwn) {
  ASSERT_EQ(shake(), 0);
  CurveSealer sealer = dialer_->sealer();
  CommandText sealed(kSealBytes);
  sealer.seal(0, {}, sealed);
  ASSERT_EQ(shake(), 0);
  CurveOpener opener = listener_->opener();
  EXPECT_FALSE(opener.open(std::span<const std::byte>(sealed).first<kSealBytes>(), {}, {}));
}

TEST_F(CurveTest, OtherKeysAreRefusedAsEarlyAsTheyShow) {
  dialers_ = other_;
  EXPECT_EQ(shake(), 1);
  dialers_ = identity_;
  dialers_.listener = other_.listener;
  EXPECT_EQ(shake(), 1);
  // Who knows the listeners' open key, and is none of the job's dialers, cannot vouch.
  dialers_ = identity_;
  dialers_.dialer = other_.dialer;
  EXPECT_EQ(shake(), 3);
  dialers_.dialer.open = identity_.dialer.open;
  EXPECT_EQ(shake(), 3);
  // Who has heard a HELLO, and not the secret of those who listen, cannot answer it.
  dialers_ = identity_;
  listeners_.listener.secret = other_.listener.secret;
  EXPECT_EQ(shake(), 1);
}

TEST_F(CurveTest, NoBitMayBeAnother) {
  ASSERT_EQ(shake(), 0);
  const std::vector<CommandText> good = commands_;
  for (int number = 1; number <= 4; ++number) {
    const std::size_t bytes = body_of(good[static_cast<std::size_t>(number) - 1]).size();
    for (std::size_t at = 0; at < bytes; ++at) {
      const bool padding = number == 1 && at >= 8 && at < 80;  // Which says nothing.
      const int refused = shake([&](CommandText& body, int which) {
        if (which == number) body[at] ^= static_cast<std::byte>(1 << at % 8);
      });
      // Keys of Curve25519 have 255 bits. Who changes the last shows when it is vouched for.
      const bool unused_bit = number == 1 && at == 111;
      ASSERT_EQ(refused, padding ? 0 : unused_bit ? 3 : number) << number << " at " << at;
    }
  }
}

TEST_F(CurveTest, LengthsAreTheirOwn) {
  for (int number = 1; number <= 4; ++number) {
    for (const int change : {-300, -33, -1, 1, 40}) {
      EXPECT_EQ(shake([&](CommandText& body, int which) {
                  if (which != number) return;
                  const int size = static_cast<int>(body.size()) + change;
                  body.resize(static_cast<std::size_t>(std::max(size, 0)));
                }),
                number)
          << change;
    }
  }
}

TEST_F(CurveTest, CommandsComeInTheirOrderAndOnce) {
  ASSERT_EQ(shake(), 0);
  const std::vector<CommandText> good = commands_;
  for (int number = 1; number <= 4; ++number) {
    for (int instead = 1; instead <= 4; ++instead) {
      if (instead == number) continue;
      const auto index = static_cast<std::size_t>(instead) - 1;
      EXPECT_EQ(shake([&](CommandText& body, int which) {
                  if (which == number) body = body_of(good[index]);
                }),
                number);
    }
  }
}

// What was recorded of another connection does not fit this one.
TEST_F(CurveTest, RecordedCommandsAreRefused) {
  ASSERT_EQ(shake(), 0);
  const std::vector<CommandText> good = commands_;
  for (int number = 1; number <= 4; ++number) {
    const int refused = shake([&](CommandText& body, int which) {
      if (which == number) body = body_of(good[static_cast<std::size_t>(number) - 1]);
    });
    // A HELLO may be anybody's who has heard one; its dialer alone can read the answer.
    EXPECT_EQ(refused, number == 1 ? 2 : number);
  }
}

TEST_F(CurveTest, AKeyOfFewOutcomesIsRefused) {
  EXPECT_EQ(shake([](CommandText& body, int which) {
              if (which == 1) std::memset(body.data() + 80, 0, 32);
            }),
            1);
}

// The same type at both ends is no pair of ours.
TEST_F(CurveTest, TypesOfSocketsMustFit) {
  CurveHandshake dialer(identity_, CurveSide::kDialer, kRouter, kRouter);
  const auto listener = end(identity_, CurveSide::kListener);
  CommandText welcome;
  ASSERT_EQ(listener->take(body_of(dialer.begin()), welcome), Step::kGoesOn);
  CommandText initiate;
  ASSERT_EQ(dialer.take(body_of(welcome), initiate), Step::kGoesOn);
  CommandText ready;
  EXPECT_EQ(listener->take(body_of(initiate), ready), Step::kRefused);
}

}  // namespace
}  // namespace stretto::tcp
