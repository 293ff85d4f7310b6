// SPDX-License-Identifier: Apache-2.0
// What command lines of our programs say: flags, values, other words; and what --help says of them.
#include "common/flags/flags.h"

#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

DEFINE_string(flags_test, "", "this|that: of this test alone");
DEFINE_int32(flags_test_count, 0,
             "How many, a text so long that it cannot be in one line, as a line has 100 columns");
DEFINE_bool(flags_test_switch, false, "HOST: is no value of a switch");
DEFINE_string(flags_test_file, "", "FILE: where");

namespace stretto::flags {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Flags, AfterTwoDashesThereAreNone) {
  const Result<Words> found = read({"a", "--flags_test", "b", "--", "--c", "--help"});
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(FLAGS_flags_test, "b");
  EXPECT_THAT(found->rest, ElementsAre("a", "--c", "--help"));
  EXPECT_FALSE(found->help);
}

TEST(Flags, HelpAndVersionMayBeValues) {
  for (const char* value : {"--help", "-h", "--version", "--"}) {
    const Result<Words> found = read({"--flags_test", value});
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ(FLAGS_flags_test, value);
    EXPECT_FALSE(found->help || found->version);
  }
  EXPECT_TRUE(read({"a", "-h"})->help);
  EXPECT_TRUE(read({"--help", "--no_such_flag"})->help);
  EXPECT_TRUE(read({"--version"})->version);
}

TEST(Flags, ErrorNamesBadFlag) {
  EXPECT_THAT(read({"--no_such_flag"}).status().cause(), HasSubstr("--no_such_flag"));
  EXPECT_THAT(read({"--flags_test"}).status().cause(), HasSubstr("wants a value"));
}

TEST(Flags, HyphensAreUnderscores) {
  ASSERT_TRUE(read({"--flags-test=x-y", "--flags-test-switch"}).ok());
  EXPECT_EQ(FLAGS_flags_test, "x-y");
  EXPECT_TRUE(FLAGS_flags_test_switch);
}

TEST(Flags, ThoseOfGflagsAreNone) {
  for (const char* flag : {"--flagfile=x", "--fromenv=x", "--helpfull", "--undefok=x"}) {
    EXPECT_THAT(read({flag}).status().cause(), HasSubstr("there is no flag")) << flag;
  }
}

TEST(Flags, HelpHasOursWithTheirValues) {
  EXPECT_EQ(help("usage: some [FLAG]..."), R"(usage: some [FLAG]...

  --flags_test this|that  of this test alone
  --flags_test_count N    How many, a text so long that it cannot be in one line, as a line has 100
                          columns
  --flags_test_file FILE  where
  --flags_test_switch     HOST: is no value of a switch
  --help, --version
)");
}

}  // namespace
}  // namespace stretto::flags
