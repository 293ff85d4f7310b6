// SPDX-License-Identifier: Apache-2.0
// Statuses, results, and the error line of a failed process, which scripts parse.
#include "stretto/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "common/program_failed.h"

namespace stretto {
namespace {

TEST(Status, OkSaysNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.text(), "Ok");
  status.or_exit();  // Does not exit.
}

TEST(Status, CarriesCodeCausePeerAndOperation) {
  const Status status =
      Status(Code::kPeerLost, "it crashed").with_peer("worker 3").with_operation("push_pull 'x'");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "PeerLost: it crashed");
  EXPECT_EQ(status.error_line("worker", 1),
            "ERROR PeerLost role=worker rank=1 peer=worker 3 op=push_pull 'x' cause=it crashed");
}

TEST(Status, KeepsFirstPeerAndOperation) {
  const Status status = Status(Code::kTimeout, "x")
                            .with_peer("server 0")
                            .with_peer("worker 1")
                            .with_operation("join")
                            .with_operation("leave");
  EXPECT_EQ(status.peer(), "server 0");
  EXPECT_EQ(status.operation(), "join");
}

TEST(Status, TheErrorLineIsOneLineWithAllItsFields) {
  EXPECT_EQ(Status(Code::kNetwork, "").error_line("server", -1),
            "ERROR Network role=server rank=- peer=- op=- cause=-");
  const Status hostile = Status(Code::kMalformed, "two\nlines\r\tand\x1b[31m").with_peer("a\nb");
  EXPECT_EQ(hostile.error_line("worker", 0),
            "ERROR Malformed role=worker rank=0 peer=a\\nb op=- "
            "cause=two\\nlines\\x0d\\tand\\x1b[31m");
}

TEST(Status, EqualsInCodeAndCause) {
  EXPECT_EQ(Status(Code::kTimeout, "x"), Status(Code::kTimeout, "x").with_peer("worker 1"));
  EXPECT_FALSE(Status(Code::kTimeout, "x") == Status(Code::kTimeout, "y"));
  EXPECT_FALSE(Status(Code::kTimeout, "x") == Status(Code::kNetwork, "x"));
}

TEST(Code, EveryOneHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kNotFinite); ++code) {
    const std::string_view name = name_of(static_cast<Code>(code));
    EXPECT_NE(name, "Unknown") << code;
    EXPECT_EQ(name.find(' '), std::string_view::npos) << "scripts split at blanks";
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(kProgramFailed), "ProgramFailed") << "its number is no member's";
  EXPECT_EQ(name_of(Code{200}), "Unknown");
}

/// Codes are sent over the network: a changed number would be another error to an old peer.
TEST(Code, NumbersNeverChange) {
  EXPECT_EQ(static_cast<int>(Code::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(Code::kPeerLost), 6);
  EXPECT_EQ(static_cast<int>(Code::kMalformed), 10);
  EXPECT_EQ(static_cast<int>(Code::kInterrupted), 15);
  EXPECT_EQ(static_cast<int>(Code::kMembersChanged), 16);
  EXPECT_EQ(static_cast<int>(Code::kNotFinite), 17);
}

TEST(Result, IsAValueOrAnError) {
  Result<int> value = 7;
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value, 7);
  *value = 8;
  EXPECT_EQ(std::move(value).or_exit(), 8);
  const Result<int> error = Status(Code::kResource, "none left");
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().code(), Code::kResource);
}

TEST(Result, MovesOutMoveOnlyValue) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

TEST(StatusDeathTest, OrExitPrintsTheLineAndEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(Status(Code::kRefused, "no entry").or_exit(), testing::ExitedWithCode(1),
              "ERROR Refused role=process rank=- peer=- op=- cause=no entry");
  EXPECT_EXIT((void)Result<int>(Status(Code::kRefused, "no entry")).or_exit(),
              testing::ExitedWithCode(1), "ERROR Refused");
}

}  // namespace
}  // namespace stretto
