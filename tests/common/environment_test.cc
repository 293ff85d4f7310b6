// SPDX-License-Identifier: Apache-2.0
// The process's own variables, read when they are asked for.
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/config/config.h"

namespace stretto {
namespace {

constexpr const char* kName = "STRETTO_ENVIRONMENT_TEST";

TEST(ProcessEnvironment, ReturnsSetNonEmptyVariables) {
  const Environment environment = process_environment();
  ASSERT_EQ(setenv(kName, "value", 1), 0);
  EXPECT_EQ(environment(kName), "value");
  ASSERT_EQ(setenv(kName, "", 1), 0);
  EXPECT_EQ(environment(kName), std::nullopt) << "empty is unset";
  ASSERT_EQ(unsetenv(kName), 0);
  EXPECT_EQ(environment(kName), std::nullopt);
}

}  // namespace
}  // namespace stretto
