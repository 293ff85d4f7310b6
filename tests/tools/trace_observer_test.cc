// SPDX-License-Identifier: Apache-2.0
// A tool whose scheduler does not answer.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "common/descriptor.h"
#include "tools/trace/observer.h"

namespace stretto::observe {
namespace {

TEST(Observer, WhoeverWaitsForASchedulerCanGoOnMeanwhile) {
  const Descriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* at = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(silent.get(), at, size), 0);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  ASSERT_EQ(::getsockname(silent.get(), at, &size), 0);
  int calls = 0;
  const auto observer =
      Observer::connect({"127.0.0.1:" + std::to_string(ntohs(address.sin_port)), "a token", false},
                        [&calls] { return ++calls < 3; });
  EXPECT_EQ(observer.status().code(), Code::kCancelled);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace stretto::observe
