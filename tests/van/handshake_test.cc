// SPDX-License-Identifier: Apache-2.0
// The door: tokens and protocols that are let in, and the words for those that are not.
#include "van/control/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

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

TEST(Greeting, RefusesOtherProtocolBeforeCheckingToken) {
  control::Hello hello = fake::hello(Role::kWorker, 0);
  hello.protocol = 7;
  hello.version = "9.9";
  hello.token = "wrong";
  const Status status = check_greeting(hello, "secret");
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("protocol 7 (release 9.9), this side speaks 5"));
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

// ---- before admission

TEST(Unadmitted, AcceptedLinkReadsHelloAndResume) {
  EXPECT_TRUE(check_unadmitted(control::encode(control::Hello{}).bytes(), false).ok());
  EXPECT_TRUE(check_unadmitted(control::encode(fake::hello(Role::kWorker, 0)).bytes(), false).ok());
  EXPECT_TRUE(check_unadmitted(control::encode(control::Resume{}).bytes(), false).ok());
  EXPECT_FALSE(check_unadmitted(control::encode(fake::welcome(1, 0)).bytes(), false).ok());
}

TEST(Unadmitted, OwnLinkReadsWelcomeAndFault) {
  EXPECT_TRUE(check_unadmitted(control::encode(fake::welcome(1, 0)).bytes(), true).ok());
  const control::Fault fault{.why = {Code::kRefused, std::string(kMaxGreetingBytes, 'x')}};
  EXPECT_TRUE(check_unadmitted(control::encode(fault).bytes(), true).ok());
  EXPECT_FALSE(check_unadmitted(control::encode(fake::hello(Role::kWorker, 0)).bytes(), true).ok());
}

TEST(Unadmitted, NoOtherMessageIsRead) {
  for (const bool ours : {false, true}) {
    for (const control::Message& message :
         {control::Message(fake::roster()), control::Message(fake::leave()),
          control::Message(fake::heartbeat()), control::Message(fake::barrier(1))}) {
      EXPECT_FALSE(check_unadmitted(control::encode(message).bytes(), ours).ok());
    }
  }
}

TEST(Unadmitted, LongestHonestHelloIsRead) {
  control::Hello hello = fake::hello(Role::kServer, 0);
  hello.token = std::string(4096, 't');
  hello.address = std::string(2048, 'a');
  hello.host = std::string(control::Hello::kMaxHostBytes, 'h');
  hello.version = std::string(control::Hello::kMaxHostBytes, 'v');
  hello.padding = kPathProofBytes;
  EXPECT_TRUE(check_unadmitted(control::encode(hello).bytes(), false).ok());
}

TEST(Unadmitted, LongerHelloIsRefused) {
  control::Hello hello = fake::hello(Role::kServer, 0);
  hello.token = std::string(kMaxGreetingBytes, 't');
  EXPECT_THAT(check_unadmitted(control::encode(hello).bytes(), false).cause(),
              HasSubstr("at most 12288 are read"));
}

TEST(Unadmitted, FieldBehindTheHelloIsRefused) {
  const Buffer hello = control::encode(fake::hello(Role::kWorker, 0));
  std::vector<std::byte> longer(hello.bytes().begin(), hello.bytes().end());
  EXPECT_TRUE(check_unadmitted(longer, false).ok());
  longer.resize(hello.size() + 2);
  EXPECT_FALSE(check_unadmitted(longer, false).ok());
  EXPECT_FALSE(check_unadmitted(hello.bytes().first(hello.size() - 1), false).ok());
}

TEST(Unadmitted, BytesThatAreNoFieldAreRefused) {
  const std::array<std::byte, 16> ones = [] {
    std::array<std::byte, 16> all{};
    all.fill(std::byte{0xFF});
    return all;
  }();
  for (std::size_t size = 0; size <= ones.size(); ++size) {
    EXPECT_FALSE(check_unadmitted(std::span(ones).first(size), false).ok()) << size;
  }
}

}  // namespace
}  // namespace stretto
