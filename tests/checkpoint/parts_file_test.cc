// SPDX-License-Identifier: Apache-2.0
// Files of parts: reading returns exactly what was written, or an error.
#include "checkpoint/parts_file.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/index_codec.h"
#include "common/memory/crc32c.h"
#include "tests/checkpoint/files.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr CheckpointId kOrigin{.job = 77, .number = 3, .step = 1000};
const std::string kPath = "a.parts";

template <typename T>
std::span<const std::byte> bytes_of(const T& what) {
  return std::as_bytes(std::span(&what, 1));
}

class PartsFileTest : public testing::Test {
 protected:
  FileDigest written(const Contents& contents) {
    return write_file(disk_, kPath, kOrigin, contents).or_exit();
  }
  std::string all() {
    const std::unique_ptr<File> file = disk_.open(kPath, Open::kRead).or_exit();
    std::string text(file->size().or_exit(), '\0');
    EXPECT_EQ(file->read(0, std::as_writable_bytes(std::span(text))).or_exit(), text.size());
    return text;
  }
  void put(std::string_view text) {
    ASSERT_TRUE(disk_.remove(kPath).ok());
    const std::unique_ptr<File> file = disk_.open(kPath, Open::kCreate).or_exit();
    ASSERT_TRUE(file->write(0, std::as_bytes(std::span(text))).ok());
  }
  Status reading(const std::optional<FileDigest>& seal = std::nullopt) {
    const Result<Contents> contents = read_file(disk_, kPath, seal);
    return contents.ok() ? Status() : contents.status();
  }
  // Writes a file that is valid except for the contents of this index.
  void put_with_index(const std::string& index, std::string_view entries) {
    PartsHead head{.version = kFormatVersion};
    std::memcpy(head.magic, kHeadMagic, sizeof head.magic);
    head.checksum = crc32c(bytes_of(head).first(offsetof(PartsHead, checksum)));
    PartsEnd end{.index_offset = sizeof head + entries.size(),
                 .index_bytes = index.size(),
                 .index_checksum = crc32c(std::as_bytes(std::span(index))),
                 .head_checksum = head.checksum};
    std::memcpy(end.magic, kEndMagic, sizeof end.magic);
    put(std::string(reinterpret_cast<const char*>(&head), sizeof head) + std::string(entries) +
        index + std::string(reinterpret_cast<const char*>(&end), sizeof end));
  }

  sim::SimDisk disk_{1};
};

TEST_F(PartsFileTest, PartsRoundTrip) {
  Contents contents;
  contents[part_key("w", 0)] = "";
  contents[part_key("w", 1)] = "x";
  contents[part_key("w", 2)] = std::string(kChunkBytes, 'a');
  contents[part_key("w", 3)] = std::string(2 * kChunkBytes + 5, 'b');
  contents[{.kind = Kind::kAttached, .name = "random state", .rank = 2}] = "seed";
  const FileDigest seal = written(contents);
  EXPECT_EQ(read_file(disk_, kPath, seal).or_exit(), contents);
  const PartsReader reader = PartsReader::open(disk_, kPath).or_exit();
  EXPECT_EQ(reader.origin(), kOrigin);
  EXPECT_EQ(reader.seal(), seal);
  EXPECT_EQ(reader.entries()[0].version, 7U);
  EXPECT_THAT(reader.entries()[0].counted, ElementsAre(Pair(3U, 8U), Pair(5U, 9U)));
}

TEST_F(PartsFileTest, AnEmptyOneIsRead) {
  EXPECT_EQ(read_file(disk_, kPath, written({})).or_exit(), Contents());
}

TEST_F(PartsFileTest, AnEntryIsInItOnce) {
  PartsWriter writer = PartsWriter::create(disk_, kPath, kOrigin).or_exit();
  ASSERT_TRUE(writer.add({.key = part_key("w", 1)}, {}).ok());
  const Status again = writer.add({.key = part_key("w", 1)}, {});
  EXPECT_EQ(again.code(), Code::kInvalidArgument);
  EXPECT_THAT(again.cause(), HasSubstr("part 1 of tensor 'w'"));
}

TEST_F(PartsFileTest, NothingIsWrittenOver) {
  written({});
  EXPECT_FALSE(PartsWriter::create(disk_, kPath, kOrigin).ok());
}

TEST_F(PartsFileTest, DetectsEveryFlippedBit) {
  written({{part_key("w", 0), "some bytes"}, {part_key("v", 0), ""}});
  const std::string right = all();
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string wrong = right;
      wrong[at] = static_cast<char>(wrong[at] ^ (1 << bit));
      put(wrong);
      EXPECT_FALSE(reading().ok()) << "bit " << bit << " of byte " << at;
    }
  }
}

TEST_F(PartsFileTest, NoCutFileIsRead) {
  written({{part_key("w", 0), "some bytes"}});
  const std::string right = all();
  for (std::size_t length = 0; length < right.size(); ++length) {
    put(right.substr(0, length));
    EXPECT_FALSE(reading().ok()) << length << " bytes";
  }
  put(right + '\0');
  EXPECT_FALSE(reading().ok());
}

TEST_F(PartsFileTest, RejectsFileWithOtherSeal) {
  const FileDigest seal = written({{part_key("w", 0), "old"}});
  ASSERT_TRUE(disk_.remove(kPath).ok());
  written({{part_key("w", 0), "new"}});
  EXPECT_THAT(reading(seal).cause(), HasSubstr("not the file that its manifest names"));
}

TEST_F(PartsFileTest, ErrorNamesDamagedPart) {
  written({{part_key("w", 5), std::string(kChunkBytes + 9, 'a')}});
  std::string wrong = all();
  wrong[sizeof(PartsHead) + kChunkBytes] = 'b';
  put(wrong);
  EXPECT_THAT(reading().cause(), HasSubstr("part 5 of tensor 'w' has another checksum from its "
                                           "byte 4194304 on"));
  put(std::string(4096, 'x'));
  EXPECT_THAT(reading().cause(), HasSubstr("no file of a Stretto checkpoint"));
}

TEST_F(PartsFileTest, ALaterFormatIsSaidToBeOne) {
  written({});
  std::string later = all();
  PartsHead head;
  std::memcpy(&head, later.data(), sizeof head);
  head.version = kFormatVersion + 1;
  head.checksum = crc32c(bytes_of(head).first(offsetof(PartsHead, checksum)));
  std::memcpy(later.data(), &head, sizeof head);
  put(later);
  EXPECT_EQ(reading().code(), Code::kUnsupported);
  EXPECT_THAT(reading().cause(), HasSubstr("format 2"));
}

TEST_F(PartsFileTest, AnIndexThatCannotBeIsRefused) {
  const std::uint32_t checksum = crc32c(std::as_bytes(std::span("abcd", 4)));
  const SavedEntry right{.key = part_key("w", 0), .bytes = 4, .checksums = {checksum}};
  put_with_index(encode_index({right}), "abcd");
  ASSERT_TRUE(reading().ok()) << reading().cause();
  const auto refused = [&](const std::vector<SavedEntry>& entries) {
    put_with_index(encode_index(entries), "abcd");
    return reading().cause();
  };
  EXPECT_THAT(refused({right, right}), HasSubstr("cannot be"));
  SavedEntry wrong = right;
  wrong.checksums.push_back(checksum);
  EXPECT_THAT(refused({wrong}), HasSubstr("cannot be"));
  wrong = right;
  wrong.key.kind = static_cast<Kind>(9);
  EXPECT_THAT(refused({wrong}), HasSubstr("cannot be"));
  wrong = right;
  wrong.bytes = 3;
  EXPECT_THAT(refused({wrong}), HasSubstr("of another length"));
  wrong.bytes = 4096;
  EXPECT_THAT(refused({wrong}), HasSubstr("more than it holds"));
  wrong.bytes = ~std::uint64_t{0};
  wrong.checksums.clear();
  EXPECT_THAT(refused({wrong}), HasSubstr("cannot be"));
  put_with_index("no index", "abcd");
  EXPECT_THAT(reading().cause(), HasSubstr("cannot be"));
}

TEST_F(PartsFileTest, AFullDiskIsAnError) {
  sim::SimDisk small(1, {.capacity_bytes = 1 << 20});
  const Contents contents = {{part_key("w", 0), std::string(4 << 20, 'a')}};
  EXPECT_EQ(write_file(small, kPath, kOrigin, contents).status().code(), Code::kResource);
}

TEST_F(PartsFileTest, ASyncThatFailsIsAnError) {
  disk_.fail(sim::DiskCall::kSync, EIO);
  EXPECT_FALSE(write_file(disk_, kPath, kOrigin, {{part_key("w", 0), "a"}}).ok());
}

}  // namespace
}  // namespace stretto::checkpoint
