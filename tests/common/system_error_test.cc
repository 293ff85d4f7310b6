// SPDX-License-Identifier: Apache-2.0
// Codes and advice for what the system refuses.
#include "common/system_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace stretto {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Failure, MapsDescriptorExhaustionToResource) {
  const Status status = failure("wanted a socket", EMFILE);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.cause(), StartsWith("wanted a socket: "));
  EXPECT_THAT(status.cause(), HasSubstr("ulimit -n"));
}

TEST(Failure, TheRestIsTheNetworks) {
  EXPECT_EQ(failure("wanted to listen", EADDRINUSE).code(), Code::kNetwork);
  EXPECT_THAT(failure("wanted to listen", EADDRINUSE).cause(), HasSubstr("port 0"));
  EXPECT_EQ(failure("wanted it", EIO).cause(), "wanted it: Input/output error");
}

}  // namespace
}  // namespace stretto
