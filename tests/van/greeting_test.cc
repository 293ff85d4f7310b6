// SPDX-License-Identifier: Apache-2.0
// The door: tokens and protocols that are let in, and the words for those that are not.
#include "van/greeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SameToken, OnlyEqualTokensAreTheSame) {
  EXPECT_TRUE(same_token("", ""));
  EXPECT_TRUE(same_token("secret", "secret"));
  EXPECT_FALSE(same_token("secret", "Secret"));
  EXPECT_FALSE(same_token("secret", "secres"));
  EXPECT_FALSE(same_token("secret", ""));
  EXPECT_FALSE(same_token("", "secret"));
}

TEST(SameToken, ATokenThatRepeatsOrBeginsTheOtherIsNotTheSame) {
  EXPECT_FALSE(same_token("abab", "ab"));
  EXPECT_FALSE(same_token("ab", "abab"));
  EXPECT_FALSE(same_token("secre", "secret"));
  EXPECT_FALSE(same_token(std::string_view("\0\0", 2), ""));
}

TEST(Greeting, AnIntroductionSaysAllThatAnybodyAsks) {
  const control::Hello hello = introduction(Role::kEndpoint, "secret");
  EXPECT_TRUE(check_greeting(hello, "secret").ok());
  EXPECT_EQ(hello.role, Role::kEndpoint);
  EXPECT_FALSE(hello.host.empty());
  EXPECT_FALSE(hello.version.empty());
}

TEST(Greeting, TakesTheSameProtocolAndToken) {
  EXPECT_TRUE(check_greeting(fake::hello(Role::kWorker, 0), "secret").ok());
}

TEST(Greeting, AnotherProtocolIsRefusedBeforeTheTokenIsLookedAt) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  hello.protocol = 7;
  hello.version = "9.9";
  hello.token = "wrong";
  const Status status = check_greeting(hello, "secret");
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("protocol 7 (release 9.9), this side speaks 4"));
}

TEST(Greeting, ARefusalNeverTellsAToken) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  hello.token = "wrong-one";
  const Status status = check_greeting(hello, "right-one");
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("another job token"));
  EXPECT_THAT(status.cause(), Not(HasSubstr("wrong-one")));
  EXPECT_THAT(status.cause(), Not(HasSubstr("right-one")));
}

TEST(Greeting, AMissingTokenIsCalledMissing) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  hello.token.clear();
  EXPECT_THAT(check_greeting(hello, "secret").cause(), HasSubstr("came with no job token"));
  hello.token = "secret";
  EXPECT_THAT(check_greeting(hello, "").cause(), HasSubstr("this job has none"));
}

}  // namespace
}  // namespace stretto
