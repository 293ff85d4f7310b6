// SPDX-License-Identifier: Apache-2.0
// Wakes are told once each, by the watch itself and by one that watches it.
#include "van/transport/epoll_set.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

namespace stretto {
namespace {

TEST(EpollSet, EachWakeIsToldOnce) {
  EpollSet watch;
  ASSERT_TRUE(watch.open().ok());
  const auto woken = [&watch] {
    bool told = false;
    EXPECT_TRUE(watch.wait(Duration::zero(), told).empty());
    return told;
  };
  EXPECT_FALSE(woken());
  for (int i = 0; i < 3; ++i) {
    watch.wake();
    watch.wake();  // With the one before.
    EXPECT_TRUE(woken());
    EXPECT_FALSE(woken());
  }
}

TEST(EpollSet, OuterSetSeesWakesOfInnerSet) {
  EpollSet inner;
  EpollSet outer;
  ASSERT_TRUE(inner.open().ok() && outer.open().ok());
  ASSERT_TRUE(outer.add(inner.descriptor(), 7).ok());
  bool woken = false;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(outer.wait(Duration::zero(), woken).empty());
    inner.wake();
    EXPECT_EQ(outer.wait(Duration::zero(), woken), std::vector<std::uint64_t>{7});
    EXPECT_EQ(outer.wait(Duration::zero(), woken), std::vector<std::uint64_t>{7});  // Until asked.
    bool told = false;
    EXPECT_TRUE(inner.wait(Duration::zero(), told).empty());
    EXPECT_TRUE(told);
  }
  EXPECT_FALSE(woken);
}

TEST(EpollSet, ADescriptorIsToldOfAsLongAsItIsReadable) {
  EpollSet watch;
  ASSERT_TRUE(watch.open().ok());
  const Descriptor event(::eventfd(1, EFD_NONBLOCK));
  ASSERT_TRUE(watch.add(event.get(), 5).ok());
  bool woken = false;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(watch.wait(Duration::zero(), woken), std::vector<std::uint64_t>{5});
  }
  eventfd_t value = 0;
  ASSERT_EQ(::eventfd_read(event.get(), &value), 0);
  EXPECT_TRUE(watch.wait(Duration::zero(), woken).empty());
  EXPECT_FALSE(woken);
}

}  // namespace
}  // namespace stretto
