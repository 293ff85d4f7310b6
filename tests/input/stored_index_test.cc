// SPDX-License-Identifier: Apache-2.0
// Stored indexes: valid ones are used, and invalid ones are ignored.
#include "input/formats/stored_index.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <span>
#include <thread>

#include "common/memory/crc32c.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

using testing::content;
using testing::Folder;
using testing::tf_records;

IndexKey some_key() {
  return {
      .path = "shards/a", .max_sample_bytes = 7, .bytes = 100, .modified_ns = 3, .changed_ns = 4};
}

const std::vector<Extent> kExtents{{0, 40}, {40, 12}, {41, 59}};

TEST(StoredIndex, GoesThereAndBack) {
  const std::string bytes = encode_index(some_key(), kExtents);
  EXPECT_EQ(*decode_index(some_key(), bytes), kExtents);
  EXPECT_TRUE(decode_index(some_key(), encode_index(some_key(), {}))->empty());
}

TEST(StoredIndex, HoldsForOneKeyOnly) {
  const std::string bytes = encode_index(some_key(), kExtents);
  std::vector<IndexKey> others(6, some_key());
  others[0].path = "shards/b";
  others[1].format = Format::kTar;
  others[2].max_sample_bytes = 8;
  others[3].bytes = 101;
  others[4].modified_ns = 5;
  others[5].changed_ns = 5;
  for (const IndexKey& other : others) {
    EXPECT_EQ(decode_index(other, bytes).status().code(), Code::kMismatch);
  }
}

// The checksum of this index is right, but its extents follow the rules of an earlier release.
TEST(StoredIndex, IndexOfEarlierReleaseIsRefused) {
  std::string earlier = encode_index(some_key(), kExtents);
  earlier[std::string_view("stretto-index-").size()] = '2';
  const std::size_t size = earlier.size() - sizeof(std::uint32_t);
  const std::uint32_t sum = crc32c(std::as_bytes(std::span(earlier)).first(size));
  std::memcpy(earlier.data() + size, &sum, sizeof sum);
  EXPECT_FALSE(decode_index(some_key(), earlier).ok());
}

TEST(StoredIndex, EveryChangedOrMissingByteIsNoticed) {
  const std::string bytes = encode_index(some_key(), kExtents);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ 0x10);
    EXPECT_FALSE(decode_index(some_key(), wrong).ok()) << i;
    EXPECT_FALSE(decode_index(some_key(), bytes.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(decode_index(some_key(), bytes + "x").ok());
}

TEST(StoredIndex, ExtentsThatNoFileHasAreRefused) {
  const std::vector<std::vector<Extent>> impossible{{{0, 101}},       {{100, 1}},
                                                    {{0, 0}},         {{5, 5}, {5, 5}},
                                                    {{5, 5}, {4, 5}}, {{1, ~std::uint64_t{0}}}};
  for (const std::vector<Extent>& extents : impossible) {
    EXPECT_EQ(decode_index(some_key(), encode_index(some_key(), extents)).status().code(),
              Code::kMalformed);
  }
}

TEST(StoredIndex, ExtentsLargerThanASampleMayBeAreRefused) {
  IndexKey key = some_key();
  key.bytes = 10 << 20;
  key.max_sample_bytes = 2 << 20;
  EXPECT_TRUE(decode_index(key, encode_index(key, {{0, (2 << 20) + 512}})).ok()) << "with headers";
  EXPECT_EQ(decode_index(key, encode_index(key, {{0, 4 << 20}})).status().code(), Code::kMalformed);
}

/// A data set of one file that is large enough to be indexed, and a folder for its index.
class KeptTest : public ::testing::Test {
 protected:
  KeptTest() { write(10); }

  void write(std::size_t records) {
    std::vector<std::string> payloads;
    for (std::size_t i = 0; i < records; ++i) payloads.push_back(content(i, 200'000));
    options_.paths = {folder_.write("data", tf_records(payloads))};
    options_.format = Format::kTfRecord;
    options_.index_folder = folder_.path("kept/here");
  }
  std::uint64_t samples() const { return Reader::open(options_)->samples(); }
  IndexKey key() const {
    struct stat about{};
    EXPECT_EQ(::stat(options_.paths[0].c_str(), &about), 0);
    return index_key(options_, options_.paths[0], about);
  }
  std::string kept() const { return IndexFolder(options_.index_folder).file_of(key()); }
  void keep(std::string_view bytes) const {
    std::ofstream(kept(), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::size_t files_kept() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each :
         std::filesystem::directory_iterator(options_.index_folder)) {
      ++count;
    }
    return count;
  }

  const Folder folder_;
  Options options_;
};

TEST_F(KeptTest, IsUsedInsteadOfTheFile) {
  EXPECT_EQ(samples(), 10U);
  EXPECT_TRUE(std::filesystem::exists(kept()));
  keep(encode_index(key(), {{0, 200'016}, {200'016, 200'016}}));
  EXPECT_EQ(samples(), 2U) << "what is kept is believed, and the file not read";
  options_.index_folder.clear();
  EXPECT_EQ(samples(), 10U) << "nothing is kept where it is not wanted";
}

TEST_F(KeptTest, RebuildsIncompleteIndex) {
  EXPECT_EQ(samples(), 10U);
  const std::string right =
      encode_index(key(), IndexFolder(options_.index_folder).load(key()).value());
  for (const std::string& wrong :
       {std::string(), right.substr(0, right.size() / 2), std::string(5'000'000, 'x')}) {
    keep(wrong);
    EXPECT_EQ(samples(), 10U);
    EXPECT_TRUE(IndexFolder(options_.index_folder).load(key())) << "mended";
  }
}

TEST_F(KeptTest, IgnoresIndexWithImpossibleSize) {
  EXPECT_EQ(samples(), 10U);
  std::string bytes = encode_index(key(), {{0, 200'016}});
  constexpr std::size_t kAtExtents = 16 + 6 * sizeof(std::uint64_t);
  for (const std::uint64_t extents : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{1} << 36,
                                      (std::uint64_t{1} << 60) + 1, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data() + kAtExtents, &extents, sizeof extents);
    keep(bytes);
    EXPECT_FALSE(IndexFolder(options_.index_folder).load(key()));
  }
  keep(encode_index(key(), {{0, 200'016}}));
  EXPECT_TRUE(IndexFolder(options_.index_folder).load(key()));
  std::filesystem::resize_file(kept(), std::uintmax_t{1} << 40);
  EXPECT_FALSE(IndexFolder(options_.index_folder).load(key()));
}

TEST_F(KeptTest, AChangedFileIsReadAgain) {
  EXPECT_EQ(samples(), 10U);
  write(12);
  EXPECT_EQ(samples(), 12U);
  write(10);
  EXPECT_EQ(samples(), 10U);
  EXPECT_EQ(files_kept(), 1U);
}

TEST_F(KeptTest, SmallFilesHaveNone) {
  write(2);
  EXPECT_EQ(samples(), 2U);
  EXPECT_FALSE(std::filesystem::exists(kept()));
}

TEST_F(KeptTest, AFolderThatCannotBeWrittenDoesNoHarm) {
  options_.index_folder = options_.paths[0] + "/no/folder";
  EXPECT_EQ(samples(), 10U);
}

TEST_F(KeptTest, ManyMayKeepItAtOnce) {
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([this] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(samples(), 10U);
        std::filesystem::remove(kept());
      }
    });
  }
  readers.clear();
  EXPECT_EQ(samples(), 10U);
  EXPECT_EQ(files_kept(), 1U) << "nothing half written is left";
}

TEST_F(KeptTest, FilesWithoutSamplesAreNamed) {
  options_.paths.push_back(folder_.write("nothing", ""));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(samples(), 10U);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("nothing' has 0 bytes and no sample"), std::string::npos) << said;
}

}  // namespace
}  // namespace stretto::input
