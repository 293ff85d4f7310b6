// SPDX-License-Identifier: Apache-2.0
// What leaves sealed: every part once, in order, whatever its size is and whenever the kernel takes
// no more.
#include "van/tcp/outlet.h"

#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

namespace stretto::tcp {
namespace {

class SealedOutletTest : public testing::Test {
 protected:
  SealedOutletTest() {
    randombytes_buf(shared_.data(), shared_.size());
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0);
    // All that is sealed ahead fits in at once; without the right to that, mostly.
    const int room = 4 << 20;
    if (::setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) {
      ::setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
    sealer_.emplace(shared_, CurveSide::kDialer, 3);
    opener_.emplace(shared_, CurveSide::kDialer, 2);
    outlet_.seal_by(&*sealer_);
  }
  ~SealedOutletTest() override {
    for (const int end : ends_) ::close(end);
  }

  void add(std::size_t payload) {
    wire::Header header;
    outlet_.add(header, Buffer::allocate(payload));
    wanted_.push_back(wire::kHeaderBytes);
    wanted_.push_back(payload);
  }
  void read_all() {
    std::array<std::byte, 65536> bytes;
    for (ssize_t got = 0; (got = ::read(ends_[1], bytes.data(), bytes.size())) > 0;) {
      read_.insert(read_.end(), bytes.begin(), bytes.begin() + got);
    }
  }
  void write_all() {
    for (int status = EAGAIN; status != 0; read_all()) {
      status = outlet_.write(ends_[0]);
      ASSERT_TRUE(status == 0 || status == EAGAIN) << status;
    }
  }
  /// Sizes of the parts in what was read; each must come open.
  std::vector<std::size_t> opened() {
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < read_.size();) {
      const bool is_long = (std::to_integer<unsigned>(read_[at]) & 2) != 0;
      std::size_t length = 0;
      const std::size_t digits = is_long ? 8 : 1;
      for (std::size_t i = 1; i <= digits; ++i) {
        length = (length << 8) | std::to_integer<std::size_t>(read_[at + i]);
      }
      at += 1 + digits;
      if (length < kSealBytes || length > read_.size() - at) return {};
      const auto part = std::span(read_).subspan(at, length);
      std::vector<std::byte> plain(length - kSealBytes);
      const auto flags = opener_->open(std::span<const std::byte>(part).first<kSealBytes>(),
                                       part.subspan(kSealBytes), plain);
      if (!flags) return {};
      sizes.push_back(plain.size());
      at += length;
    }
    return sizes;
  }

  std::array<int, 2> ends_{};
  CurveKey shared_{};
  std::optional<CurveSealer> sealer_;
  std::optional<CurveOpener> opener_;
  Outlet outlet_{true};
  std::vector<std::size_t> wanted_;
  std::vector<std::byte> read_;
};

// What is sealed ahead may end just behind a header whose payload is empty.
TEST_F(SealedOutletTest, APayloadMayBeEmptyWhereWhatIsSealedAheadEnds) {
  constexpr std::size_t kAhead = std::size_t{256} << 10;
  for (std::size_t payload = kAhead - 520; payload < kAhead + 8; payload += 3) {
    for (const std::size_t size : {payload, std::size_t{0}, std::size_t{0}, std::size_t{5}}) {
      add(size);
    }
    write_all();
    ASSERT_TRUE(outlet_.empty());
    ASSERT_EQ(outlet_.messages(), 0U);
    ASSERT_EQ(opened(), wanted_) << payload;
    wanted_.clear();
    read_.clear();
  }
}

TEST_F(SealedOutletTest, ManySmallOnesLeaveInOrder) {
  for (std::size_t i = 0; i < 3000; ++i) add(i % 700);
  write_all();
  EXPECT_EQ(opened(), wanted_);
}

}  // namespace
}  // namespace stretto::tcp
