// SPDX-License-Identifier: Apache-2.0
// Lines that cannot be written: a full disk, and readers that close.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "common/descriptor.h"
#include "tools/launch/process/output_queue.h"

namespace stretto::launch {
namespace {

// A full device; replace() makes room.
class LaunchOutputQueue : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(to_.is_open());
    ASSERT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
  }
  void TearDown() override {
    for (const int end : ends_) ::close(end);
  }
  void make_room() { ASSERT_GE(::dup2(ends_[1], to_.get()), 0); }
  std::string written() const {
    std::string text(4096, '\0');
    const ssize_t got = ::read(ends_[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  Descriptor to_{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  OutputQueue queue_{to_.get()};
  int ends_[2] = {-1, -1};
};

TEST_F(LaunchOutputQueue, AFullDiskIsToldOnceAndTriedAgain) {
  for (int i = 0; i < 3; ++i) {
    queue_.line("[worker 0] ", "lost");
    queue_.write();
    EXPECT_TRUE(queue_.drained());
    EXPECT_EQ(queue_.take_lack(), i == 0 ? ENOSPC : 0);
  }
  make_room();
  queue_.line("[worker 0] ", "kept");
  queue_.write();
  EXPECT_EQ(written(), "[worker 0] kept\n");
  EXPECT_EQ(queue_.take_lack(), 0);
}

TEST_F(LaunchOutputQueue, ALineThatWasCutShortIsEndedBeforeTheNext) {
  make_room();
  ASSERT_GE(::fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
  queue_.line("", std::string(5000, 'x'));  // Written in pieces.
  queue_.write();
  EXPECT_EQ(written(), std::string(4096, 'x'));
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_GE(::dup2(full.get(), to_.get()), 0);
  for (int i = 0; i < 2; ++i) {
    queue_.line("", "lost");
    queue_.write();
  }
  make_room();
  queue_.line("", "kept");
  queue_.write();
  EXPECT_EQ(written(), "\nkept\n");
}

TEST_F(LaunchOutputQueue, AReaderThatGoesIsNoLack) {
  ::signal(SIGPIPE, SIG_IGN);
  make_room();
  ::close(ends_[0]);
  queue_.line("", "lost");
  queue_.write();
  EXPECT_TRUE(queue_.drained());
  EXPECT_EQ(queue_.take_lack(), 0);
  ends_[0] = ::dup(ends_[1]);
}

}  // namespace
}  // namespace stretto::launch
