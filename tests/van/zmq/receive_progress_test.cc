// SPDX-License-Identifier: Apache-2.0
// Bytes after the last message are of one whose rest has not come.
#include "van/zmq/receive_progress.h"

#include <gtest/gtest.h>

namespace stretto::zmq {
namespace {

TEST(ReceiveProgress, BytesWithoutMessageAreABeginning) {
  ReceiveProgress progress;
  EXPECT_EQ(progress.begun_at(300), 0U);  // Of the handshake.
  EXPECT_EQ(progress.begun_at(300), 0U);
  const std::uint64_t begun = progress.begun_at(301);
  EXPECT_NE(begun, 0U);
  EXPECT_EQ(progress.begun_at(9'000), begun);  // More bytes are no message.
}

TEST(ReceiveProgress, MessageEndsTheBeginning) {
  ReceiveProgress progress;
  EXPECT_EQ(progress.begun_at(0), 0U);
  const std::uint64_t first = progress.begun_at(100);
  progress.count_message();
  EXPECT_EQ(progress.begun_at(200), 0U);
  EXPECT_EQ(progress.begun_at(200), 0U);
  EXPECT_NE(progress.begun_at(201), first);
}

// libzmq has stopped reading.
TEST(ReceiveProgress, UnreadBytesAreABeginning) {
  ReceiveProgress progress;
  const std::uint64_t begun = progress.begun_at(300, 20);
  EXPECT_NE(begun, 0U);
  EXPECT_EQ(progress.begun_at(300, 20), begun);
  progress.count_message();
  EXPECT_NE(progress.begun_at(300, 20), begun);
  EXPECT_EQ(progress.begun_at(300), 0U);
}

TEST(ReceiveProgress, NothingIsKnownWithoutACount) {
  ReceiveProgress progress;
  EXPECT_EQ(progress.begun_at(std::nullopt), 0U);
  EXPECT_EQ(progress.begun_at(100), 0U);
  EXPECT_EQ(progress.begun_at(std::nullopt), 0U);
  EXPECT_NE(progress.begun_at(101), 0U);
}

}  // namespace
}  // namespace stretto::zmq
