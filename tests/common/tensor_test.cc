// SPDX-License-Identifier: Apache-2.0
// Modes by name, there and back.
#include "stretto/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Mode, HasAName) {
  for (const char* name : {"sync", "bounded", "async", "eager", "eager_async"}) {
    const Result<Mode> mode = mode_named(name);
    ASSERT_TRUE(mode.ok()) << name;
    EXPECT_EQ(name_of(*mode), name);
  }
  EXPECT_EQ(*mode_named("eager-async"), Mode::kEagerAsync);
  EXPECT_EQ(name_of(Mode{0}), "unknown");
  EXPECT_EQ(name_of(Mode{6}), "unknown");
}

TEST(Mode, ThatIsNoneIsRefusedWithAllThatThereAre) {
  EXPECT_THAT(mode_named("asynch").status().cause(),
              testing::HasSubstr("'asynch' is not known; there are sync, bounded, async, eager, "
                                 "eager_async"));
}

TEST(Mode, EagerOnesAndThoseWithRounds) {
  EXPECT_TRUE(has_rounds(Mode::kSync) && has_rounds(Mode::kEager));
  EXPECT_FALSE(has_rounds(Mode::kBounded) || has_rounds(Mode::kAsync) ||
               has_rounds(Mode::kEagerAsync));
  EXPECT_TRUE(is_eager(Mode::kEager) && is_eager(Mode::kEagerAsync));
  EXPECT_FALSE(is_eager(Mode::kSync) || is_eager(Mode::kBounded) || is_eager(Mode::kAsync));
}

}  // namespace
}  // namespace stretto
