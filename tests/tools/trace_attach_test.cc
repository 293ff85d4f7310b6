// SPDX-License-Identifier: Apache-2.0
// Which job is meant, by what was said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/trace/attach.h"

namespace stretto::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

KnownJob known(const std::string& name, std::int64_t process, const std::string& scheduler) {
  return {.name = name,
          .scheduler = scheduler,
          .command = name + " --fast",
          .workers = 4,
          .servers = 2,
          .started_s = 1000,
          .process = process,
          .token = "secret of " + name};
}

const KnownJob& train() {
  static const KnownJob job = known("train", 11, "127.0.0.1:5001");
  return job;
}
const KnownJob& other() {
  static const KnownJob job = known("other", 12, "10.0.0.1:5002");
  return job;
}

std::string refusal(const std::vector<KnownJob>& jobs, const std::string& wanted) {
  const Result<Target> target = target_of(jobs, wanted, "given");
  return target.ok() ? "" : target.status().cause();
}

TEST(AttachTest, TheOnlyJobIsMeantIfNoneIsNamed) {
  const Result<Target> target = target_of({train()}, "", "given");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->scheduler, "127.0.0.1:5001");
  EXPECT_EQ(target->token, "secret of train");
  EXPECT_THAT(refusal({}, ""), HasSubstr("no job of yours is known"));
  const std::string several = refusal({train(), other()}, "");
  EXPECT_THAT(several, HasSubstr("2 jobs of yours run here"));
  EXPECT_THAT(several, HasSubstr("train (11), other (12)"));
}

TEST(AttachTest, NamesAndProcessesTellJobsApart) {
  const std::vector<KnownJob> jobs = {train(), other(), known("train", 13, "127.0.0.1:5003")};
  EXPECT_EQ(target_of(jobs, "other", "")->scheduler, "10.0.0.1:5002");
  EXPECT_EQ(target_of(jobs, "13", "")->scheduler, "127.0.0.1:5003");
  EXPECT_THAT(refusal(jobs, "train"), HasSubstr("2 jobs are called train"));
  EXPECT_THAT(refusal(jobs, "nobody"), HasSubstr("these run: train (11), other (12), train (13)"));
  EXPECT_THAT(refusal({}, "nobody"), HasSubstr("none is known"));
}

TEST(AttachTest, AddressUsesGivenTokenOrTokenOfItsJob) {
  EXPECT_EQ(target_of({train()}, "127.0.0.1:5001", "given")->token, "given");
  EXPECT_EQ(target_of({train()}, "127.0.0.1:5001", "")->token, "secret of train");
  EXPECT_EQ(target_of({train()}, "localhost:5001", "")->token, "secret of train");
  EXPECT_EQ(target_of({train()}, "127.0.0.1:5002", "")->token, "");
  EXPECT_EQ(target_of({other()}, "10.0.0.2:5002", "")->token, "");
  EXPECT_EQ(target_of({}, "far:1", "given")->scheduler, "far:1");
  KnownJob over_ipv6 = train();
  over_ipv6.scheduler = "[fd00::7]:5001";
  EXPECT_EQ(target_of({over_ipv6}, "[FD00:0::7]:5001", "")->token, "secret of train");
}

TEST(AttachTest, TitleHasNameAndAddress) {
  EXPECT_EQ(title_of(*target_of({train()}, "", "")), "train at 127.0.0.1:5001");
  EXPECT_EQ(title_of(*target_of({train()}, "127.0.0.1:5001", "")), "train at 127.0.0.1:5001");
  EXPECT_EQ(title_of(*target_of({}, "far:1", "")), "job at far:1");
  EXPECT_THAT(list_of({}, 0), HasSubstr("no job of yours"));
}

TEST(AttachTest, TheListShowsJobsAndNoTokens) {
  const std::string list = list_of({train(), other()}, 1000 + 3600 + 125);
  EXPECT_THAT(list, HasSubstr("train        11     1 h 2 min        4        2  127.0.0.1:5001"));
  EXPECT_THAT(list, HasSubstr("  other --fast\n"));
  EXPECT_THAT(list, Not(HasSubstr("secret")));
  EXPECT_THAT(list_of({train()}, 1005), HasSubstr(" 5 s "));
  EXPECT_THAT(list_of({train()}, 1000 + 90), HasSubstr(" 1 min 30 s "));
  EXPECT_THAT(list_of({train()}, 1000 + 90000), HasSubstr(" 1 d 1 h "));
  EXPECT_THAT(list_of({train()}, 900), HasSubstr(" 0 s ")) << "clocks may be set back";
}

}  // namespace
}  // namespace stretto::observe
