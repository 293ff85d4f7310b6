// SPDX-License-Identifier: Apache-2.0
// A tool whose scheduler does not answer.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "common/descriptor.h"
#include "tools/trace/observer_client.h"
#include "van/control/control.h"

namespace stretto::observe {
namespace {

TEST(ServerJoinStatusTest, ARefusalThatNamesAServerIsAboutThatOne) {
  using What = ServerJoinStatus::What;
  const Status no(Code::kRefused, "no");
  const ServerJoinStatus one = news_in({.server = 1, .why = no, .joining = 1, .other = 5});
  EXPECT_EQ(one.what, What::kGivenUp);
  EXPECT_EQ(one.server, 5U);
  EXPECT_EQ(one.from, 1U);
  EXPECT_EQ(one.why, no);
  EXPECT_EQ(news_in({.why = no, .joining = 3}).what, What::kRefused);
  EXPECT_EQ(news_in({.server = 5, .joining = 1, .other = 1}).what, What::kStarts);
  EXPECT_EQ(news_in({.server = 5, .other = 1}).what, What::kIsIn);
  EXPECT_EQ(news_in({.server = 5, .why = no, .other = 1}).what, What::kGivenUp);
}

TEST(ObserverClient, ConnectIsCancellableWhileWaiting) {
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
  const auto observer = ObserverClient::connect(
      {"127.0.0.1:" + std::to_string(ntohs(address.sin_port)), "a token", false},
      [&calls] { return ++calls < 3; });
  EXPECT_EQ(observer.status().code(), Code::kCancelled);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace stretto::observe
