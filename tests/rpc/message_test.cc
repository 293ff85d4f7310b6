// SPDX-License-Identifier: Apache-2.0
// Messages share their bytes, and never copy them unasked.
#include "rpc/message.h"

#include <gtest/gtest.h>

namespace stretto::rpc {
namespace {

TEST(Message, TakesOverVectorsAndTexts) {
  EXPECT_EQ(Message("text").text(), "text");
  EXPECT_EQ(Message(std::string("long enough to live on the heap")).size(), 31U);
  std::vector<std::byte> bytes(100);
  const std::byte* const where = bytes.data();
  EXPECT_EQ(Message(std::move(bytes)).bytes().data(), where);
  EXPECT_EQ(Message().size(), 0U);
  EXPECT_EQ(Message(std::string()).owner(), nullptr);
}

TEST(Message, GoesToALeaseAndBackWithoutACopy) {
  const Message message("some bytes that travel");
  const Message back = to_message(to_buffer(message));
  EXPECT_EQ(back.bytes().data(), message.bytes().data());
  EXPECT_EQ(back.text(), message.text());
  EXPECT_TRUE(to_buffer(Message()).empty());
}

TEST(Message, KeepsLentMemoryUntilTheLastCopyIsGone) {
  auto owner = std::make_shared<std::vector<std::byte>>(10);
  const std::weak_ptr<const void> watched = owner;
  Message message = Message::lent(*owner, owner);
  Buffer buffer = to_buffer(message);
  owner.reset();
  message = {};
  EXPECT_FALSE(watched.expired());
  buffer = Buffer();
  EXPECT_TRUE(watched.expired());
}

TEST(Message, CopiesOnlyWhenAskedTo) {
  const std::vector<std::byte> bytes(10, std::byte{7});
  const Message copy = Message::copy_of(bytes);
  EXPECT_NE(copy.bytes().data(), bytes.data());
  EXPECT_EQ(copy.bytes()[9], std::byte{7});
}

}  // namespace
}  // namespace stretto::rpc
