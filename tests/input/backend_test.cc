// SPDX-License-Identifier: Apache-2.0
// One suite for all backends: reads, errors, and the end of waits.
#include "input/io/backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <thread>

#include "input/io/memory_pool.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

using testing::content;
using testing::Folder;
using testing::text_of;

struct BackendCase {
  Method method;
  bool direct;
};

class BackendTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  BackendTest() : backend_(*open_backend(GetParam().method)) {}

  std::shared_ptr<OpenFile> file(const std::string& path) {
    return std::make_shared<OpenFile>(path, GetParam().direct);
  }
  // Waits until `count` reads have ended.
  std::map<std::uint64_t, Done> ended(std::size_t count) {
    std::vector<Done> all;
    while (all.size() < count) backend_->wait(Time::max(), all);
    EXPECT_EQ(all.size(), count);
    std::map<std::uint64_t, Done> by_tag;
    for (const Done& done : all) EXPECT_TRUE(by_tag.emplace(done.tag, done).second);
    return by_tag;
  }

  Folder folder_;
  std::shared_ptr<MemoryPool> memory_ = std::make_shared<MemoryPool>(1 << 20);
  std::unique_ptr<Backend> backend_;
};

TEST_P(BackendTest, ReadsManyAtOnce) {
  constexpr std::size_t kReads = kMostDepth;
  const std::string bytes = content(1, kReads * kAlignment);
  const auto opened = file(folder_.write("f", bytes));
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < kReads; ++i) {
    buffers.push_back(memory_->lease(kAlignment));
    backend_->submit({i, opened, i * kAlignment, buffers.back().writable().first(kAlignment)});
  }
  for (const auto& [tag, done] : ended(kReads)) {
    EXPECT_EQ(done.error, 0);
    ASSERT_EQ(done.bytes, kAlignment);
    EXPECT_EQ(text_of(buffers[tag].bytes().first(kAlignment)),
              bytes.substr(tag * kAlignment, kAlignment));
  }
}

TEST_P(BackendTest, ReadsEndAtTheFilesEnd) {
  const auto opened = file(folder_.write("f", content(1, 5000)));
  Buffer buffer = memory_->lease(4 * kAlignment);
  const auto into = buffer.writable().first(2 * kAlignment);
  backend_->submit({1, opened, 0, into});
  EXPECT_EQ(ended(1)[1].bytes, 5000U);
  backend_->submit({2, opened, 8 * kAlignment, into});
  const Done behind = ended(1)[2];
  EXPECT_EQ(behind.bytes, 0U);
  EXPECT_EQ(behind.error, 0);
}

TEST_P(BackendTest, ErrorsAreTold) {
  Buffer buffer = memory_->lease(kAlignment);
  const auto into = buffer.writable().first(kAlignment);
  backend_->submit({1, file(folder_.path("missing")), 0, into});
  EXPECT_EQ(ended(1)[1].error, ENOENT);
  backend_->submit({2, file(folder_.path(".")), 0, into});
  EXPECT_EQ(ended(1)[2].error, EISDIR);
}

TEST_P(BackendTest, WakesAndDeadlinesEndWaits) {
  std::vector<Done> none;
  backend_->wake();
  backend_->wait(Time::max(), none);
  backend_->wait(std::chrono::steady_clock::now() + 1ms, none);
  backend_->wait(Time::min(), none);
  std::jthread waker([this] { backend_->wake(); });
  backend_->wait(Time::max(), none);
  EXPECT_TRUE(none.empty());
}

TEST_P(BackendTest, EndsWithReadsInFlight) {
  const auto opened = file(folder_.write("f", content(1, 1 << 20)));
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < 64; ++i) {
    buffers.push_back(memory_->lease(1 << 20));
    backend_->submit({i, opened, 0, buffers.back().writable()});
  }
  backend_.reset();
}

TEST(Backends, BothAreHere) {
  EXPECT_EQ((*open_backend(Method::kThreads))->name(), "threads");
  const auto uring = open_backend(Method::kUring);
  const auto chosen = open_backend(Method::kAuto);
  if (uring.ok()) {
    EXPECT_EQ((*chosen)->name(), "io_uring");
  } else {
    EXPECT_EQ(uring.status().code(), Code::kUnsupported);
    EXPECT_EQ((*chosen)->name(), "threads");
  }
}

// kAuto: io_uring where this system permits it.
INSTANTIATE_TEST_SUITE_P(
    All, BackendTest,
    ::testing::Values(BackendCase{Method::kThreads, false}, BackendCase{Method::kThreads, true},
                      BackendCase{Method::kAuto, false}, BackendCase{Method::kAuto, true}),
    [](const auto& instance) {
      return std::string(instance.param.method == Method::kThreads ? "Threads" : "Auto") +
             (instance.param.direct ? "Direct" : "");
    });

}  // namespace
}  // namespace stretto::input
