// SPDX-License-Identifier: Apache-2.0
// Names, hashes, and who answers to them.
#include "rpc/methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto::rpc {
namespace {

using testing::HasSubstr;

const Handler kNothing = [](const Request&, const Reply&) {};

/// The published vectors of FNV-1a.
TEST(Methods, TheHashIsTheOneThatTheWireSays) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8ULL);
}

TEST(Methods, AreFoundByHash) {
  Methods methods;
  ASSERT_TRUE(methods.add("a", kNothing).ok());
  ASSERT_TRUE(methods.add("b", kNothing).ok());
  EXPECT_EQ(methods.count(), 2U);
  ASSERT_NE(methods.find(hash_of("a")), nullptr);
  EXPECT_EQ(methods.find(hash_of("a"))->name, "a");
  EXPECT_EQ(methods.find(hash_of("c")), nullptr);
}

TEST(Methods, ANameIsTakenOnceAndHasALength) {
  Methods methods;
  ASSERT_TRUE(methods.add("a", kNothing).ok());
  EXPECT_THAT(methods.add("a", kNothing).cause(), HasSubstr("'a' has a handler already"));
  EXPECT_THAT(methods.add("b", nullptr).cause(), HasSubstr("was given no handler"));
  EXPECT_THAT(methods.add("", kNothing).cause(), HasSubstr("has 0 bytes, wanted 1 to 256"));
  EXPECT_TRUE(methods.add(std::string(kMaxMethodBytes, 'x'), kNothing).ok());
  EXPECT_EQ(methods.add(std::string(kMaxMethodBytes + 1, 'x'), kNothing).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace stretto::rpc
