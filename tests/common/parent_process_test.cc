// SPDX-License-Identifier: Apache-2.0
// Names of live, ended and zombie processes, and invalid names.
#include "common/process/parent_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace stretto {
namespace {

using testing::HasSubstr;

// A child that waits to be killed, and its name.
class OwnChild {
 public:
  OwnChild() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    id_ = ::fork();
    if (id_ == 0) {
      const std::string name = ParentProcess::own_name();
      const ssize_t told = ::write(ends[1], name.data(), name.size());
      if (told > 0) ::pause();
      ::_exit(0);
    }
    std::array<char, 100> text{};
    const ssize_t length = ::read(ends[0], text.data(), text.size());
    name_.assign(text.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~OwnChild() {
    kill();
    reap();
  }
  OwnChild(const OwnChild&) = delete;
  OwnChild& operator=(const OwnChild&) = delete;

  // It has ended but was not waited for yet.
  void kill() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT);
  }
  void reap() {
    if (id_ > 0) ::waitpid(id_, nullptr, 0);
    id_ = 0;
  }
  const std::string& name() const { return name_; }

 private:
  pid_t id_ = 0;
  std::string name_;
};

TEST(ParentProcess, LiveProcessHasNotEnded) {
  const OwnChild child;
  ASSERT_FALSE(child.name().empty());
  EXPECT_NE(child.name(), ParentProcess::own_name());
  EXPECT_FALSE(ParentProcess::named(child.name())->has_ended());
  EXPECT_FALSE(ParentProcess::named(ParentProcess::own_name())->has_ended());
}

TEST(ParentProcess, KilledProcessHasEndedBeforeReaping) {
  OwnChild child;
  const ParentProcess starter = *ParentProcess::named(child.name());
  child.kill();
  EXPECT_TRUE(starter.has_ended());
  child.reap();
  EXPECT_TRUE(starter.has_ended());
}

TEST(ParentProcess, AnotherProcessOfItsNumberIsNotIt) {
  const std::string own = ParentProcess::own_name();
  const std::size_t first = own.find(':');
  const std::size_t second = own.find(':', first + 1);
  const std::string later = own.substr(0, second) + "1" + own.substr(second);
  EXPECT_TRUE(ParentProcess::named(later)->has_ended());
}

std::string boot() {
  const std::string own = ParentProcess::own_name();
  return own.substr(own.rfind(':') + 1);
}

TEST(ParentProcess, OtherNamespaceOrEmptyNameHasNotEnded) {
  EXPECT_FALSE(ParentProcess::named("4000000:17:1:" + boot())->has_ended());
  const std::string own = ParentProcess::own_name();
  const std::string gone = "4194304" + own.substr(own.find(':'));  // Above the largest pid.
  EXPECT_TRUE(ParentProcess::named(gone)->has_ended());
  EXPECT_FALSE(ParentProcess::named(gone + "x")->has_ended()) << "on another host";
  EXPECT_FALSE(ParentProcess().has_ended());
  EXPECT_FALSE(ParentProcess::named("")->has_ended());
}

TEST(ParentProcess, RejectsMalformedName) {
  for (const char* wrong : {"x", "1", "1:2", "1:2:3", "1:2:3:", "0:2:3:b", "1:-2:3:b", "1:2:3 :b",
                            "99999999999999999999:2:3:b"}) {
    const Result<ParentProcess> starter = ParentProcess::named(wrong);
    ASSERT_FALSE(starter.ok()) << wrong;
    EXPECT_EQ(starter.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(starter.status().cause(), HasSubstr("wanted PID:TICKS:NAMESPACE:BOOT"));
  }
}

}  // namespace
}  // namespace stretto
