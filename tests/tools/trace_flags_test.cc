// SPDX-License-Identifier: Apache-2.0
// What command lines of stretto-trace and stretto-top say: flags, values, other words.
#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/trace/flags.h"

DEFINE_string(trace_flags_test, "", "of this test alone");

namespace stretto::observe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TraceFlags, AfterTwoDashesThereAreNone) {
  const Result<Words> found = read_flags({"a", "--trace_flags_test", "b", "--", "--c", "--help"});
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(FLAGS_trace_flags_test, "b");
  EXPECT_THAT(found->rest, ElementsAre("a", "--c", "--help"));
  EXPECT_FALSE(found->help);
}

TEST(TraceFlags, HelpAndVersionMayBeValues) {
  for (const char* value : {"--help", "-h", "--version", "--"}) {
    const Result<Words> found = read_flags({"--trace_flags_test", value});
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ(FLAGS_trace_flags_test, value);
    EXPECT_FALSE(found->help || found->version);
  }
  EXPECT_TRUE(read_flags({"a", "-h"})->help);
  EXPECT_TRUE(read_flags({"--help", "--no_such_flag"})->help);
  EXPECT_TRUE(read_flags({"--version"})->version);
}

TEST(TraceFlags, WhatIsWrongIsNamed) {
  EXPECT_THAT(read_flags({"--no_such_flag"}).status().cause(), HasSubstr("--no_such_flag"));
  EXPECT_THAT(read_flags({"--trace_flags_test"}).status().cause(), HasSubstr("wants a value"));
}

}  // namespace
}  // namespace stretto::observe
