// SPDX-License-Identifier: Apache-2.0
// TFRecord: the checksum against published values, and files damaged in each way.
#include "input/formats/tfrecord.h"

#include <gtest/gtest.h>

#include "common/memory/crc32c.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

using testing::bytes_of;
using testing::content;
using testing::text_of;
using testing::tf_records;

constexpr std::uint64_t kRecordLimit = 1 << 20;

std::vector<Extent> scan(const std::string& file, std::uint64_t limit = kRecordLimit) {
  MemorySource source(bytes_of(file));
  return *scan_tfrecord(source, limit);
}

// The payloads; for each error "!" and its cause.
std::vector<std::string> read_tfrecord(const std::string& file,
                                       std::uint64_t limit = kRecordLimit) {
  std::vector<std::string> all;
  for (const Extent& extent : scan(file, limit)) {
    EXPECT_LE(extent.offset + extent.bytes, file.size());
    const auto payload =
        tfrecord_payload(bytes_of(file).subspan(extent.offset, extent.bytes), limit, true);
    all.push_back(payload.ok() ? text_of(*payload) : "!" + payload.status().cause());
  }
  return all;
}

TEST(TfRecord, AsTensorFlowWritesIt) {
  // The record of "hello", made by TensorFlow 2.
  const unsigned char expected[] = {0x05, 0, 0, 0, 0, 0, 0, 0};
  const std::string file = tf_records({"hello"});
  EXPECT_EQ(file.size(), 21U);
  EXPECT_EQ(std::memcmp(file.data(), expected, sizeof expected), 0);
  EXPECT_EQ(file.substr(12, 5), "hello");
}

TEST(TfRecord, FindsRecordsOfAllSizes) {
  const std::vector<std::string> payloads = {
      "", "a", content(1, 5000), content(2, 300'000), content(3, 17), ""};
  EXPECT_EQ(read_tfrecord(tf_records(payloads)), payloads);
  EXPECT_TRUE(scan("").empty());
}

TEST(TfRecord, TruncatedFileLosesItsLastOnly) {
  const std::string file = tf_records({"one", "two", "three"});
  for (std::size_t size = 38; size < file.size() - 1; ++size) {
    const auto all = read_tfrecord(file.substr(0, size));
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all[0], "one");
    EXPECT_EQ(all[1], "two");
    if (size > 38) {
      ASSERT_EQ(all.size(), 3U) << size;
      EXPECT_NE(all[2].find("!the file ends"), std::string::npos) << all[2];
    }
  }
}

TEST(TfRecord, WrongPayloadCrcLosesThatRecordOnly) {
  std::string file = tf_records({"one", "two", "three"});
  file[19 + 12] ^= 1;
  const auto all = read_tfrecord(file);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], "one");
  EXPECT_NE(all[1].find("the CRC of a record's 3 bytes is wrong"), std::string::npos);
  EXPECT_EQ(all[2], "three");
}

TEST(TfRecord, WrongLengthCrcLosesThatRecordOnly) {
  for (std::size_t at = 0; at < 12; ++at) {
    std::string file = tf_records({"one", "two", "three"});
    file[19 + at] ^= 0x40;
    const auto all = read_tfrecord(file);
    ASSERT_EQ(all.size(), 3U) << at;
    EXPECT_EQ(all[0], "one");
    EXPECT_NE(all[1].find("the CRC of a record's length"), std::string::npos);
    EXPECT_EQ(all[2], "three");
  }
}

TEST(TfRecord, AbsurdLengthsAreErrors) {
  const auto all = read_tfrecord(tf_records({content(1, 500), "small"}), 100);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(all[0].find("larger than the limit of 100"), std::string::npos);
  EXPECT_EQ(all[1], "small");
  EXPECT_EQ(read_tfrecord(content(7, 100'000)).size(), 1U) << "no TFRecord file at all";
}

}  // namespace
}  // namespace stretto::input
