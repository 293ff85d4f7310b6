// SPDX-License-Identifier: Apache-2.0
// What tests of strangers share: an endpoint that listens, and an innocent link to it that echoes
// and must work whatever strangers do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/conformance/conformance.h"

namespace stretto::conformance {

inline constexpr std::size_t kMostPayload = 64 * 1024;

class Innocent : public testing::Test {
 protected:
  Innocent(std::unique_ptr<Transport> server, std::unique_ptr<Transport> innocent,
           const std::string& listen_at)
      : server_(std::move(server)), innocent_(std::move(innocent)) {
    address_ = server_.listen(listen_at);
    link_ = innocent_.connect(address_);
    server_.when_frame = [this](LinkId link, const wire::Header& header, Buffer payload) {
      if (link == innocent_link()) {
        server_.send(link, header.sequence, payload);
      } else if (when_stranger) {
        when_stranger(link, header, std::move(payload));
      }
    };
    expect_innocent_works();
  }

  LinkId innocent_link() const { return server_.accepted.empty() ? 0 : server_.accepted.front(); }

  void expect_innocent_works() {
    const Buffer payload = Buffer::copy_of(pattern(5'000, 7));
    const std::size_t before = innocent_.frames;
    innocent_.when_frame = [this](LinkId link, const wire::Header&, const Buffer& echo) {
      EXPECT_TRUE(link != link_ || has_pattern(echo.bytes(), 7));
    };
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_EQ(innocent_.send(link_, i, payload), Sent::kTaken);
    }
    ASSERT_TRUE(until({&innocent_, &server_}, [&] { return innocent_.frames == before + 20; }));
    EXPECT_TRUE(innocent_.broken.empty());
    EXPECT_EQ(server_.broken.count(innocent_link()), 0U);
  }

  bool poll_until(const std::function<bool()>& condition) { return until({&server_}, condition); }

  std::function<void(LinkId, const wire::Header&, Buffer)> when_stranger;
  End server_;
  End innocent_;
  std::string address_;
  LinkId link_ = 0;
};

}  // namespace stretto::conformance
