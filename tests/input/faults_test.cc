// SPDX-License-Identifier: Apache-2.0
// Damaged files under the reader: each error names file and offset, and all other data is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/memory/crc32c.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

using testing::content;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_all;
using testing::tar_file;
using testing::tf_records;
using testing::Told;

class FaultsTest : public ::testing::TestWithParam<Method> {
 protected:
  Options options(std::vector<std::string> paths, Format format) {
    Options made;
    made.paths = std::move(paths);
    made.format = format;
    made.method = GetParam();
    made.depth = 4;
    return made;
  }
  static void expect_error(const Told& told, const std::string& path, std::uint64_t offset) {
    ASSERT_EQ(told.errors.size(), 1U);
    EXPECT_NE(told.errors[0].find("'" + path + "' at offset " + std::to_string(offset)),
              std::string::npos)
        << told.errors[0];
  }

  Folder folder_;
};

TEST_P(FaultsTest, FilesThatCannotBeReadAreNamedWhenOpening) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  const std::string good = folder_.write("good", "good");
  for (const std::string& bad : {folder_.path("missing"), folder_.path("."), folder_.path("pipe"),
                                 folder_.path("good/below")}) {
    Options wanted = options({good, bad}, Format::kFiles);
    const auto refused = Reader::open(wanted);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_NE(refused.status().cause().find("'" + bad + "'"), std::string::npos);
    wanted.on_error = OnError::kSkip;
    Reader reader = *Reader::open(wanted);
    EXPECT_EQ(read_all(reader).samples, std::vector<std::string>{"good"});
    EXPECT_EQ(reader.problem_count(), 1U);
    EXPECT_EQ(reader.problems().at(0).cause(), refused.status().cause());
  }
}

TEST_P(FaultsTest, OpenErrorSuggestsLikelyRemedy) {
  const auto cause_of = [this](const std::string& path, Format format) {
    return Reader::open(options({path}, format)).status().cause();
  };
  EXPECT_THAT(cause_of(folder_.path("train-*.tar"), Format::kTar),
              HasSubstr("patterns are not expanded here"));
  EXPECT_THAT(cause_of("~/train.tar", Format::kTar), HasSubstr("'~' is not expanded here"));
  EXPECT_THAT(cause_of(folder_.path("train.tar"), Format::kTar), Not(HasSubstr("expanded")));
  const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00 and so on", 18);
  for (const char* name : {"train.tar.gz", "train.tgz", "train"}) {
    EXPECT_THAT(cause_of(folder_.write(name, packed), Format::kTar),
                HasSubstr("it is compressed, and records are read where they lie; unpack it first "
                          "(gunzip does)"));
  }
  EXPECT_THAT(cause_of(folder_.write("train.tfrecord.gz", packed), Format::kTfRecord),
              HasSubstr("gunzip"));
  EXPECT_EQ(cause_of(folder_.write("train.tfrecord", packed), Format::kTfRecord), "")
      << "a record may begin so, and is looked at when its turn comes";
  EXPECT_EQ(cause_of(folder_.write("photo.gz", packed), Format::kFiles), "") << "it is a sample";
}

TEST_P(FaultsTest, FilesThatGoAwayWhileReading) {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < 20; ++i)
    paths.push_back(folder_.write(std::to_string(i), content(i, 100)));
  Options wanted = options(paths, Format::kFiles);
  Reader reader = *Reader::open(wanted);
  ASSERT_EQ(::unlink(paths[7].c_str()), 0);
  const Told told = read_all(reader);
  expect_error(told, paths[7], 0);
  EXPECT_NE(told.errors[0].find("No such file"), std::string::npos);
  EXPECT_EQ(told.samples.size(), 19U);
}

TEST_P(FaultsTest, FilesThatShrinkWhileReading) {
  for (const Direct direct : {Direct::kOff, Direct::kOn}) {
    std::string all;
    for (std::uint64_t i = 0; i < 100; ++i) all += content(i, 1000);
    const std::string path = folder_.write("shrinks", all);
    Options wanted = options({path, folder_.write("whole", all)}, Format::kRecords);
    wanted.record_bytes = 1000;
    wanted.direct = direct;
    Reader reader = *Reader::open(wanted);
    ASSERT_EQ(::truncate(path.c_str(), 97'500), 0);
    const Told told = read_all(reader);
    EXPECT_EQ(told.samples.size(), 197U);
    ASSERT_EQ(told.errors.size(), 3U);
    for (int i = 0; i < 3; ++i) {
      const std::string where = "'" + path + "' at offset " + std::to_string(97'000 + 1000 * i);
      EXPECT_NE(told.errors[static_cast<std::size_t>(i)].find(where), std::string::npos);
      EXPECT_NE(told.errors[static_cast<std::size_t>(i)].find("shorter"), std::string::npos);
    }
  }
}

TEST_P(FaultsTest, FaultsInAFullMemoryStopNothing) {
  std::string all;
  for (std::uint64_t i = 0; i < 200; ++i) all += content(i, 1000);
  const std::string path = folder_.write("shrinks", all);
  Options wanted = options({path}, Format::kRecords);
  wanted.record_bytes = 1000;
  wanted.shuffle = true;
  wanted.shuffle_block_bytes = 50'000;
  wanted.memory_bytes = 5000;
  wanted.tune = false;
  wanted.depth = 1;
  Reader reader = *Reader::open(wanted);
  ASSERT_EQ(::truncate(path.c_str(), 120'500), 0);
  const Told told = read_all(reader);
  EXPECT_EQ(told.samples.size(), 120U);
  EXPECT_EQ(told.errors.size(), 80U);
}

TEST_P(FaultsTest, CorruptRecordIsOneErrorInItsPlace) {
  std::vector<std::string> payloads;
  for (std::uint64_t i = 0; i < 50; ++i) payloads.push_back(content(i, 1000));
  std::string file = tf_records(payloads);
  file[20 * 1016 + 500] ^= 1;
  const std::string path = folder_.write("tf", file);
  Options wanted = options({path}, Format::kTfRecord);
  Reader failing = *Reader::open(wanted);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(failing.next().ok());
  EXPECT_EQ(failing.next().status().code(), Code::kMalformed);
  EXPECT_EQ(failing.cursor().passed, 21U);
  EXPECT_EQ(read_all(failing).samples.size(), 29U);

  Reader again = *Reader::open(wanted);
  expect_error(read_all(again), path, 20 * 1016);
  wanted.on_error = OnError::kSkip;
  Reader skipping = *Reader::open(wanted);
  EXPECT_EQ(read_all(skipping).samples.size(), 49U);
  EXPECT_EQ(skipping.problem_count(), 1U);
  wanted.check_crc = false;
  Reader trusting = *Reader::open(wanted);
  EXPECT_EQ(read_all(trusting).samples.size(), 50U);
}

TEST_P(FaultsTest, TruncatedFilesOfEachFormat) {
  const std::string tf = tf_records({content(1, 1000), content(2, 1000)});
  const std::string tar = tar_file("1.a", content(1, 1000)) + tar_file("2.a", content(2, 1000));
  const std::string records = content(1, 1500);
  const auto read = [&](const std::string& name, const std::string& bytes, Format format) {
    Options wanted = options({folder_.write(name, bytes)}, format);
    wanted.record_bytes = format == Format::kRecords ? 1000 : 0;
    Reader reader = *Reader::open(wanted);
    return read_all(reader);
  };
  const Told from_tf = read("tf", tf.substr(0, 1900), Format::kTfRecord);
  expect_error(from_tf, folder_.path("tf"), 1016);
  EXPECT_EQ(from_tf.samples.size(), 1U);
  const Told from_tar = read("tar", tar.substr(0, 2300), Format::kTar);
  expect_error(from_tar, folder_.path("tar"), 1536);
  EXPECT_EQ(from_tar.samples.size(), 1U);
  const Told from_records = read("records", records, Format::kRecords);
  expect_error(from_records, folder_.path("records"), 1000);
  EXPECT_EQ(from_records.samples.size(), 1U);
}

TEST_P(FaultsTest, OptionsThatCannotBeUsed) {
  const std::string path = folder_.write("f", "x");
  const auto refuses = [&](auto change, const std::string& words) {
    Options wanted = options({path}, Format::kFiles);
    change(wanted);
    const auto reader = Reader::open(wanted);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.status().code(), Code::kInvalidArgument);
    EXPECT_NE(reader.status().cause().find(words), std::string::npos) << reader.status().cause();
  };
  refuses([](Options& o) { o.paths.clear(); }, "paths");
  refuses([](Options& o) { o.rank = 1; }, "rank 1 of world 1");
  refuses([](Options& o) { o.world = 0; }, "world");
  refuses([](Options& o) { o.record_bytes = 5; }, "record_bytes");
  refuses([](Options& o) { o.format = Format::kRecords; }, "record_bytes");
  refuses([](Options& o) { o.memory_bytes = 1; }, "memory_bytes");
  refuses([](Options& o) { o.max_sample_bytes = 0; }, "max_sample_bytes");
  Options large = options({folder_.write("large", content(1, 1000))}, Format::kFiles);
  large.max_sample_bytes = 999;
  EXPECT_FALSE(Reader::open(large).ok());
  EXPECT_FALSE(format_named("csv").ok());
  for (const char* name : {"files", "records", "tfrecord", "tar"}) {
    EXPECT_TRUE(format_named(name).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultsTest, ::testing::Values(Method::kThreads, Method::kAuto));

TEST(Cursor, BytesAreCheckedAndRefused) {
  const Cursor cursor{.epoch = 3, .passed = 1ULL << 40, .fingerprint = 77};
  const std::string bytes = cursor.encode();
  EXPECT_EQ(*Cursor::decode(bytes), cursor);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string wrong = bytes;
    wrong[i] ^= 1;
    EXPECT_EQ(Cursor::decode(wrong).status().code(), Code::kMalformed);
    EXPECT_FALSE(Cursor::decode(bytes.substr(0, i)).ok());
  }
}

TEST(Cursor, OfAnotherReleaseIsAMismatch) {
  std::string older = Cursor{.epoch = 3, .passed = 5, .fingerprint = 77}.encode();
  const std::size_t text = older.size() - sizeof(std::uint32_t);
  older[std::strlen("stretto-cursor-")] = '1';
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(older.data(), text)));
  std::memcpy(older.data() + text, &crc, sizeof crc);
  EXPECT_EQ(Cursor::decode(older).status().code(), Code::kMismatch) << "orders were others then";
}

}  // namespace
}  // namespace stretto::input
