// SPDX-License-Identifier: Apache-2.0
// The errors of failed allocations.
#include "common/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

#include "common/memory/buffer.h"
#include "common/system_error.h"

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The status of an allocation of `bytes` that fails.
Status told(std::size_t bytes) {
  try {
    const Buffer buffer = Buffer::allocate(bytes);
  } catch (const std::bad_alloc& thrown) {
    return out_of_memory(thrown);
  }
  return {};
}

TEST(OutOfMemory, ReportsRequestedAndProcessMemory) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 63;  // Impossible: no allocator is called.
  const Status status = told(kTooMuch);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.cause(), AllOf(HasSubstr("out of memory"), HasSubstr(std::to_string(kTooMuch)),
                                    HasSubstr("this process has")));
  EXPECT_EQ(told(SIZE_MAX).code(), Code::kResource) << "where the sum with the header wraps";
}

TEST(OutOfMemory, BadAllocReportsProcessMemory) {
  EXPECT_THAT(out_of_memory(std::bad_alloc()).cause(),
              AllOf(HasSubstr("out of memory"), HasSubstr("this process has")));
}

TEST(OutOfMemory, SystemErrorReportsProcessMemory) {
  const Status status = failure("wanted to map 7 bytes", ENOMEM);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.cause(),
              AllOf(HasSubstr("wanted to map 7 bytes"), HasSubstr("this process has")));
}

TEST(MemoryAtHand, NamesTheLimitThatIsSet) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) return;
  EXPECT_THAT(memory_at_hand(), HasSubstr("the machine"));
  rlimit limit = before;
  limit.rlim_cur = rlim_t{1} << 46;  // Above the machine's memory: no allocation fails meanwhile.
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const std::string text = memory_at_hand();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_THAT(text, AllOf(HasSubstr("may have 67108864 MiB"), HasSubstr("ulimit -v")));
}

TEST(Memory, ReportsResidentBytes) { EXPECT_GT(resident_bytes(), 0U); }

}  // namespace
}  // namespace stretto
