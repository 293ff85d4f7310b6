// SPDX-License-Identifier: Apache-2.0
// Memory that peers read: the placement of blocks, their reuse, and write protection.
#include "van/shm/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace stretto::shm {
namespace {

constexpr std::size_t kChunk = 1 << 20;

TEST(Arena, BlocksAreAtMostAQuarterLarger) {
  for (std::size_t bytes = 1; bytes < (1 << 22); bytes += 1 + bytes / 7) {
    const std::size_t size = block_size(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 64, 0U);
    EXPECT_EQ(block_size(size), size) << "a block's size is its own";
    EXPECT_LE(size, std::max<std::size_t>(bytes + 63, bytes + bytes / 4)) << bytes;
  }
  EXPECT_EQ(block_size(256 << 10), std::size_t{256} << 10) << "a part's block is a part";
}

TEST(Arena, BuffersAreAlignedWritableAndApart) {
  Arena arena(kChunk);
  std::vector<Buffer> buffers;
  for (std::size_t bytes = 1; bytes < 100'000; bytes = bytes * 3 / 2 + 1) {
    buffers.push_back(arena.allocate(bytes).or_exit());
    ASSERT_EQ(buffers.back().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.back().data()) % 64, 0U);
    std::ranges::fill(buffers.back().writable(), static_cast<std::byte>(buffers.size()));
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(std::ranges::all_of(
        buffers[i].bytes(), [i](std::byte one) { return one == static_cast<std::byte>(i + 1); }));
  }
}

TEST(Arena, FindsOnlyOwnBuffers) {
  Arena arena(kChunk);
  EXPECT_FALSE(arena.find(Buffer::allocate(10).bytes()));
  const Buffer first = arena.allocate(1000).or_exit();
  const Buffer large = arena.allocate(3 * kChunk).or_exit();
  ASSERT_EQ(arena.chunks(), 2U);
  EXPECT_EQ(arena.find(first.bytes())->chunk, 0U);
  EXPECT_EQ(arena.find(large.bytes())->chunk, 1U);
  EXPECT_EQ(arena.find(large.slice(64, 100).bytes())->offset,
            arena.find(large.bytes())->offset + 64);
  EXPECT_FALSE(arena.find(Buffer::allocate(10).bytes()));
  EXPECT_FALSE(arena.find({large.data(), arena.bytes_of(1) + 1}));
}

TEST(Arena, ABlockThatIsFreeIsTheNextOne) {
  Arena arena(kChunk);
  const std::byte* const memory = arena.allocate(10'000).or_exit().data();
  EXPECT_EQ(arena.allocate(10'000).or_exit().data(), memory);
  for (int i = 0; i < 10'000; ++i) static_cast<void>(arena.allocate(10'000).or_exit());
  EXPECT_EQ(arena.total_bytes(), kChunk);
}

TEST(Arena, AFreeBlockServesForLessDownToItsHalf) {
  Arena arena(kChunk);
  const std::byte* const memory = arena.allocate(kChunk).or_exit().data();
  for (const std::size_t bytes : {kChunk * 7 / 8, kChunk * 3 / 4, kChunk / 2, kChunk}) {
    EXPECT_EQ(arena.allocate(bytes).or_exit().data(), memory) << "it is still a block of its size";
  }
  EXPECT_EQ(arena.total_bytes(), kChunk);
  const Buffer third = arena.allocate(kChunk / 3).or_exit();
  EXPECT_NE(third.data(), memory);
  EXPECT_EQ(arena.allocate(kChunk).or_exit().data(), memory);
}

TEST(Arena, TheRestOfAChunkIsUsedToo) {
  Arena arena(kChunk);
  const Buffer half = arena.allocate(kChunk / 2 + 64).or_exit();
  const Buffer next = arena.allocate(kChunk / 2).or_exit();  // Does not fit any more.
  ASSERT_EQ(arena.chunks(), 2U);
  const Buffer quarter = arena.allocate(kChunk / 4).or_exit();
  EXPECT_EQ(arena.find(quarter.bytes())->chunk, 0U);
}

TEST(Arena, ChunksGrowWithArenaSize) {
  Arena arena(kChunk);
  std::vector<Buffer> all;
  for (int i = 0; i < 256; ++i) all.push_back(arena.allocate(kChunk).or_exit());
  EXPECT_LT(arena.chunks(), 30U);
}

TEST(Arena, PeersCanReadAndNotWrite) {
  Arena arena(kChunk);
  Buffer mine = arena.allocate(100).or_exit();
  std::memset(mine.writable().data(), 0x5a, mine.size());
  const auto offset = arena.find(mine.bytes())->offset;
  EXPECT_TRUE(check_memory(arena.descriptor_of(0), arena.bytes_of(0)).ok());
  EXPECT_FALSE(check_memory(arena.descriptor_of(0), arena.bytes_of(0) + 1).ok());
  const auto seen = Mapping::map(arena.descriptor_of(0), kChunk, Mapping::Access::kRead).or_exit();
  EXPECT_EQ(seen.data()[offset + 50], std::byte{0x5a});
  EXPECT_FALSE(Mapping::map(arena.descriptor_of(0), kChunk, Mapping::Access::kWrite).ok());
}

TEST(Arena, BuffersOutliveItAndEndOnAnyThread) {
  Buffer kept;
  {
    Arena arena(kChunk);
    kept = arena.allocate(5'000).or_exit();
    std::vector<Buffer> many;
    for (int i = 0; i < 100; ++i) many.push_back(arena.allocate(5'000).or_exit());
    std::jthread other([moved = std::move(many)]() mutable { moved.clear(); });
    for (int i = 0; i < 100; ++i) static_cast<void>(arena.allocate(5'000).or_exit());
  }
  std::memset(kept.writable().data(), 1, kept.size());
}

}  // namespace
}  // namespace stretto::shm
