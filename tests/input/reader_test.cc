// SPDX-License-Identifier: Apache-2.0
// The reader as a whole: every format with every backend, the epoch contract over ranks, resuming,
// and knobs changed at random during reads.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "common/input_account.h"
#include "common/threads/interruptible.h"
#include "input/reader/open_reader.h"
#include "tests/input/files.h"
#include "tests/input/limited_backend.h"

namespace stretto::input {
namespace {

using testing::content;
using testing::Folder;
using testing::read_all;
using testing::tar_end;
using testing::tar_file;
using testing::text_of;
using testing::tf_records;
using testing::Told;

// Three files with 300 samples, from empty ones to several blocks, in any format.
struct DataSet {
  std::vector<std::string> paths;
  std::vector<std::string> samples;
};

DataSet make_tf(const Folder& folder) {
  DataSet made;
  for (int file = 0; file < 3; ++file) {
    std::vector<std::string> payloads;
    for (int i = 0; i < 100; ++i) {
      payloads.push_back(content(made.samples.size(), (made.samples.size() * 331) % 20'000));
      made.samples.push_back(payloads.back());
    }
    made.paths.push_back(folder.write("tf" + std::to_string(file), tf_records(payloads)));
  }
  return made;
}

DataSet make_records(const Folder& folder, std::size_t bytes) {
  DataSet made;
  for (int file = 0; file < 3; ++file) {
    std::string all;
    for (int i = 0; i < 100; ++i) {
      made.samples.push_back(content(made.samples.size(), bytes));
      all += made.samples.back();
    }
    made.paths.push_back(folder.write("records" + std::to_string(file), all));
  }
  return made;
}

DataSet make_files(const Folder& folder) {
  DataSet made;
  for (std::size_t i = 0; i < 300; ++i) {
    made.samples.push_back(content(i, (i * 1117) % 30'000));
    made.paths.push_back(folder.write("file" + std::to_string(i), made.samples.back()));
  }
  return made;
}

Options options_for(const DataSet& data, Format format) {
  Options options;
  options.paths = data.paths;
  options.format = format;
  options.record_bytes = format == Format::kRecords ? data.samples[0].size() : 0;
  options.shuffle_block_bytes = 16 << 10;
  options.shuffle_blocks = 4;
  options.read_bytes = 32 << 10;
  return options;
}

void expect_all_once(const Told& told, const DataSet& data) {
  EXPECT_TRUE(told.errors.empty()) << told.errors[0];
  ASSERT_EQ(told.samples.size(), data.samples.size());
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < told.samples.size(); ++i) {
    EXPECT_TRUE(seen.insert(told.numbers[i]).second);
    EXPECT_EQ(told.samples[i], data.samples[told.numbers[i]]) << told.numbers[i];
  }
}

struct ReaderCase {
  Format format;
  Method method;
  Direct direct;
  bool shuffle;
};

class ReaderTest : public ::testing::TestWithParam<ReaderCase> {
 protected:
  ReaderTest() {
    switch (GetParam().format) {
      case Format::kTfRecord:
        data_ = make_tf(folder_);
        break;
      case Format::kRecords:
        data_ = make_records(folder_, 777);
        break;
      default:
        data_ = make_files(folder_);
    }
  }
  Options options() const {
    Options made = options_for(data_, GetParam().format);
    made.method = GetParam().method;
    made.direct = GetParam().direct;
    made.shuffle = GetParam().shuffle;
    made.epochs = 2;
    return made;
  }

  Folder folder_;
  DataSet data_;
};

TEST_P(ReaderTest, EachSampleOnceAnEpochByteByByte) {
  Reader reader = *Reader::open(options());
  EXPECT_EQ(reader.samples(), data_.samples.size());
  const Told first = read_all(reader);
  const Told second = read_all(reader);
  expect_all_once(first, data_);
  expect_all_once(second, data_);
  EXPECT_EQ(first.numbers == second.numbers, !GetParam().shuffle);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(*reader.next()) << "it stays at its end";
}

TEST_P(ReaderTest, CountsInItsAccountAndKeepsToItsLimit) {
  Options wanted = options();
  wanted.tune = false;
  wanted.depth = 8;
  wanted.read_bytes = 1 << 16;
  wanted.account = new_input_account();
  InputAccount& account = *wanted.account;
  account.set_limit(1);
  testing::ModelledDevice device;
  const Time begun = SteadyClock().now();
  Reader reader = *open_reader(
      wanted, std::make_unique<testing::LimitedBackend>(*open_backend(wanted.method), device));
  const Cursor start = reader.cursor();
  expect_all_once(read_all(reader), data_);
  EXPECT_EQ(device.most_in_flight.load(), 1U) << "the least limit is one such read";
  EXPECT_EQ(reader.knobs(), (Knobs{1, 1 << 16}));
  account.set_limit(0);
  ASSERT_TRUE(reader.seek(start).ok()) << "it may have read all before it heard of that";
  expect_all_once(read_all(reader), data_);
  EXPECT_EQ(reader.knobs(), (Knobs{8, 1 << 16}));
  std::uint64_t bytes = 0;
  for (const std::string& sample : data_.samples) bytes += 2 * sample.size();
  const InputTotals totals = *account.totals(begun + 1h);
  EXPECT_EQ(totals.delivered_bytes, bytes);
  EXPECT_GE(totals.demanded_bytes, bytes);
  EXPECT_GT(totals.requests, 0U);
  EXPECT_EQ(totals.in_flight_bytes, 8U << 16);
}

TEST_P(ReaderTest, KnobsTurnedWhileItReads) {
  Options wanted = options();
  wanted.memory_bytes = 100'000;
  Reader reader = *Reader::open(wanted);
  std::atomic<bool> stop{false};
  std::jthread turner([&] {
    std::mt19937 random(1);
    while (!stop.load()) {
      reader.set_knobs({.depth = 1U << random() % 6, .read_bytes = 4096U << random() % 6});
    }
  });
  const Told first = read_all(reader);
  expect_all_once(first, data_);
  stop.store(true);
  turner.join();
  expect_all_once(read_all(reader), data_);
  const Window window = reader.take_window();
  EXPECT_GT(window.requests, 0U);
  EXPECT_GT(window.delivered_bytes, 0U);
  EXPECT_GE(window.p95_latency.count(), 1);
}

TEST_P(ReaderTest, ResumesFromACursor) {
  Reader whole = *Reader::open(options());
  const Told expected = read_all(whole, 2);
  for (const std::size_t taken : {0U, 1U, 150U, 299U, 300U, 420U}) {
    Reader before = *Reader::open(options());
    for (std::size_t i = 0; i < taken + (taken > 300 ? 1 : 0); ++i) (void)*before.next();
    const Cursor cursor = *Cursor::decode(before.cursor().encode());
    Reader after = *Reader::open(options());
    ASSERT_TRUE(after.seek(cursor).ok());
    EXPECT_EQ(after.cursor(), cursor);
    const Told rest = read_all(after, taken > 300 ? 1 : 2);
    EXPECT_EQ(rest.numbers, std::vector(expected.numbers.begin() + static_cast<long>(taken),
                                        expected.numbers.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ReaderTest,
    ::testing::Values(ReaderCase{Format::kTfRecord, Method::kThreads, Direct::kOff, false},
                      ReaderCase{Format::kTfRecord, Method::kAuto, Direct::kOff, true},
                      ReaderCase{Format::kTfRecord, Method::kAuto, Direct::kOn, true},
                      ReaderCase{Format::kRecords, Method::kThreads, Direct::kOn, true},
                      ReaderCase{Format::kRecords, Method::kAuto, Direct::kOn, false},
                      ReaderCase{Format::kFiles, Method::kThreads, Direct::kOn, true},
                      ReaderCase{Format::kFiles, Method::kAuto, Direct::kOff, false},
                      ReaderCase{Format::kFiles, Method::kAuto, Direct::kOn, true}));

TEST(Reader, EachSampleOnceOverAllRanks) {
  const Folder folder;
  const DataSet data = make_tf(folder);
  Options options = options_for(data, Format::kTfRecord);
  options.shuffle = true;
  options.world = 3;
  Told all;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    Reader reader = *Reader::open(options);
    const Told mine = read_all(reader);
    EXPECT_EQ(mine.samples.size(), reader.samples() == 0 ? 0 : mine.numbers.size());
    all.samples.insert(all.samples.end(), mine.samples.begin(), mine.samples.end());
    all.numbers.insert(all.numbers.end(), mine.numbers.begin(), mine.numbers.end());
  }
  expect_all_once(all, data);
}

TEST(Reader, OrderDoesNotDependOnKnobs) {
  const Folder folder;
  const DataSet data = make_tf(folder);
  Options options = options_for(data, Format::kTfRecord);
  options.shuffle = true;
  Reader slow = *Reader::open(options);
  options.depth = 64;
  options.read_bytes = 1 << 20;
  options.memory_bytes = 5000;
  Reader fast = *Reader::open(options);
  EXPECT_EQ(read_all(slow).numbers, read_all(fast).numbers);
}

TEST(Reader, TarSamplesHaveMembers) {
  const Folder folder;
  Options options;
  options.format = Format::kTar;
  options.paths = {
      folder.write("a.tar", tar_file("x/1.jpg", "J") + tar_file("x/1.cls", "3") + tar_end()),
      folder.write("b.tar", tar_file("2.jpg", content(1, 9000)) + tar_end())};
  std::vector<Sample> samples;
  {
    Reader reader = *Reader::open(options);
    while (std::optional<Sample> sample = *reader.next()) samples.push_back(*std::move(sample));
  }
  ASSERT_EQ(samples.size(), 2U);  // They outlive the reader.
  EXPECT_EQ(samples[0].key, "x/1");
  ASSERT_EQ(samples[0].members.size(), 2U);
  EXPECT_EQ(samples[0].members[1].name, "cls");
  EXPECT_EQ(text_of(samples[0].members[1].bytes), "3");
  EXPECT_EQ(samples[1].path, options.paths[1]);
  EXPECT_EQ(text_of(samples[1].members[0].bytes), content(1, 9000));
}

TEST(Reader, TarMembersHaveLowerCaseNames) {
  const Folder folder;
  Options options;
  options.format = Format::kTar;
  options.paths = {folder.write("a.tar", tar_file("X/1.JPG", "J") + tar_file("X/1.Seg.Png", "S") +
                                             tar_file("X/2.jpg", "K") + tar_end())};
  Reader reader = *Reader::open(options);
  const std::optional<Sample> sample = *reader.next();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->key, "X/1");
  ASSERT_EQ(sample->members.size(), 2U);
  EXPECT_EQ(sample->members[0].name, "jpg");
  EXPECT_EQ(sample->members[1].name, "seg.png");
  EXPECT_EQ(reader.samples(), 2U);
}

TEST(Reader, DecodesInAPool) {
  const Folder folder;
  const DataSet data = make_tf(folder);
  Options options = options_for(data, Format::kTfRecord);
  options.epochs = 1;
  options.decode = [](const Sample& sample) -> Result<std::any> {
    if (sample.number == 7) return Status(Code::kMalformed, "seven");
    return std::any(sample.bytes.size());
  };
  Reader reader = *Reader::open(options);
  std::uint64_t next = 0;
  for (;;) {
    Result<std::optional<Sample>> sample = reader.next();
    reader.set_decode_threads(static_cast<std::uint32_t>(1 + next % 5));
    if (!sample.ok()) {
      EXPECT_EQ(next, 7U);
      EXPECT_NE(sample.status().cause().find("tf0' at offset"), std::string::npos);
      EXPECT_TRUE(sample.status().cause().ends_with("seven"));
    } else if (!*sample) {
      break;
    } else {
      EXPECT_EQ((*sample)->number, next);
      EXPECT_EQ(std::any_cast<std::size_t>((*sample)->decoded), data.samples[next].size());
    }
    ++next;
  }
  EXPECT_EQ(next, data.samples.size());
}

TEST(Reader, HoldingSamplesDoesNotStopIt) {
  const Folder folder;
  const DataSet data = make_records(folder, 4096);
  Options options = options_for(data, Format::kRecords);
  options.memory_bytes = 16 << 10;
  Reader reader = *Reader::open(options);
  std::vector<Sample> held;
  while (std::optional<Sample> sample = *reader.next()) held.push_back(*std::move(sample));
  ASSERT_EQ(held.size(), data.samples.size());
  for (const Sample& sample : held) EXPECT_EQ(text_of(sample.bytes), data.samples[sample.number]);
}

TEST(Reader, EmptyFilesAndNoEnd) {
  const Folder folder;
  Options options;
  options.paths = {folder.write("1", ""), folder.write("2", "two"), folder.write("3", "")};
  options.epochs = 0;
  Reader reader = *Reader::open(options);
  for (int epoch = 0; epoch < 50; ++epoch) {
    EXPECT_EQ(read_all(reader).samples, (std::vector<std::string>{"", "two", ""}));
  }
  options.format = Format::kTfRecord;
  options.paths = {folder.path("1"), folder.path("3")};
  Reader none = *Reader::open(options);
  EXPECT_EQ(read_all(none, 50).samples.size(), 0U);
}

TEST(Reader, InterruptionEndsOpen) {
  const Folder folder;
  const Options options{.paths = make_tf(folder).paths, .format = Format::kTfRecord};
  int looks = 0;
  const Interruptible ends([&looks] { return ++looks < 1; });
  EXPECT_EQ(Reader::open(options).status().code(), Code::kCancelled);
  EXPECT_EQ(looks, 1);
}

TEST(Reader, SeekRefusesAnotherOrder) {
  const Folder folder;
  const DataSet data = make_tf(folder);
  Options options = options_for(data, Format::kTfRecord);
  Reader one = *Reader::open(options);
  options.shuffle = true;
  Reader other = *Reader::open(options);
  EXPECT_EQ(other.seek(one.cursor()).code(), Code::kMismatch);
  EXPECT_EQ(one.fingerprint(), other.fingerprint()) << "of the data set";
  (void)*one.next();
  ASSERT_TRUE(one.seek({.epoch = 0, .passed = 0, .fingerprint = one.cursor().fingerprint}).ok());
  EXPECT_EQ(read_all(one).samples.size(), data.samples.size());
}

}  // namespace
}  // namespace stretto::input
