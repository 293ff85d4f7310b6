// SPDX-License-Identifier: Apache-2.0
// Texts of versions and commits, and which builds are the same.
#include "common/build_version.h"

#include <gtest/gtest.h>

#include "common/version.h"

namespace stretto {
namespace {

TEST(BuildVersion, TextNamesCommit) {
  EXPECT_EQ(version_text("0.1.0", "9a89f44b1c2d"), "0.1.0 (9a89f44b1c2d)");
  EXPECT_EQ(version_text("0.1.0", ""), "0.1.0");
}

TEST(BuildVersion, BuildBeginsWithVersion) { EXPECT_TRUE(build_version().starts_with(kVersion)); }

TEST(BuildVersion, CommitsAreCompared) {
  EXPECT_TRUE(is_same_build("0.1.0 (aa)", "0.1.0 (aa)"));
  EXPECT_FALSE(is_same_build("0.1.0 (aa)", "0.1.0 (ab)"));
  EXPECT_FALSE(is_same_build("0.1.0 (aa)", "0.1.0 (aa-dirty)"));
  EXPECT_FALSE(is_same_build("0.1.0 (aa)", "0.2.0 (aa)"));
}

TEST(BuildVersion, UnknownCommitEqualsAny) {
  EXPECT_TRUE(is_same_build("0.1.0", "0.1.0 (ab)"));
  EXPECT_TRUE(is_same_build("0.1.0 (ab)", "0.1.0"));
  EXPECT_FALSE(is_same_build("0.1.0", "0.2.0 (ab)"));
}

}  // namespace
}  // namespace stretto
