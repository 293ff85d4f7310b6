// SPDX-License-Identifier: Apache-2.0
// What is in a journal after anything that can happen to it.
#include "scheduler/journal/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "tests/sim/sim_disk.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using Kind = JournalRecord::Kind;

constexpr const char* kBook = "journal";

JournalRecord record(std::uint64_t number) {
  return {.kind = Kind::kLost,
          .epoch = static_cast<std::uint32_t>(3 * number),
          .number = number,
          .more = ~number,
          .text = std::string(number % 7, 'x')};
}

class JournalTest : public testing::Test {
 protected:
  std::unique_ptr<Journal> begin() {
    Result<std::unique_ptr<Journal>> journal = Journal::begin(disk_, kBook);
    EXPECT_TRUE(journal.ok()) << journal.status().text();
    return std::move(*journal);
  }
  // Commits of two records each.
  std::uint64_t write(Journal& journal, std::uint64_t from, std::uint64_t commits) {
    for (std::uint64_t i = 0; i < commits; ++i) {
      journal.add(record(from + 2 * i));
      journal.add(record(from + 2 * i + 1));
      if (!journal.commit().ok()) return i;
    }
    return commits;
  }
  std::vector<JournalRecord> found() {
    Result<Journal::Found> found = Journal::go_on(disk_, kBook);
    EXPECT_TRUE(found.ok()) << found.status().text();
    if (!found.ok()) return {};
    journal_ = std::move(found->journal);
    return std::move(found->records);
  }
  static void expect_first(const std::vector<JournalRecord>& found, std::uint64_t count) {
    ASSERT_EQ(found.size(), count);
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(found[i], record(i));
  }
  std::uint64_t size() { return *(*disk_.open(kBook, Open::kRead))->size(); }
  void flip(std::uint64_t offset) {
    const auto file = std::move(*disk_.open(kBook, Open::kWrite));
    std::byte byte{};
    ASSERT_TRUE(file->read(offset, std::span(&byte, 1)).ok());
    byte ^= std::byte{0x20};
    ASSERT_TRUE(file->write(offset, std::span(&byte, 1)).ok());
  }

  sim::SimDisk disk_{1};
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalTest, ReadsCommittedRecords) {
  write(*begin(), 0, 4);
  expect_first(found(), 8);
  write(*journal_, 8, 2);
  journal_.reset();
  expect_first(found(), 12);
}

TEST_F(JournalTest, NothingIsNothing) {
  begin();
  EXPECT_TRUE(found().empty());
}

TEST_F(JournalTest, DropsUncommittedRecords) {
  auto journal = begin();
  write(*journal, 0, 1);
  journal->add(record(2));
  EXPECT_TRUE(journal->has_news());
  journal.reset();
  expect_first(found(), 2);
}

TEST_F(JournalTest, ACommitThatIsCutShortNeverWas) {
  write(*begin(), 0, 2);
  const std::uint64_t before = size();
  found();
  write(*journal_, 4, 1);
  journal_.reset();
  const std::uint64_t whole = size();
  std::vector<std::byte> bytes(whole);
  ASSERT_TRUE((*disk_.open(kBook, Open::kRead))->read(0, bytes).ok());
  for (std::uint64_t length = before; length < whole; ++length) {
    ASSERT_TRUE(disk_.remove(kBook).ok());
    ASSERT_TRUE((*disk_.open(kBook, Open::kCreate))->write(0, std::span(bytes).first(length)).ok());
    expect_first(found(), 4);
    write(*journal_, 4, 2);  // And it goes on from there.
    journal_.reset();
    expect_first(found(), 8);
    journal_.reset();
  }
}

TEST_F(JournalTest, DamageAnywhereButInTheLastCommitIsAnError) {
  write(*begin(), 0, 3);
  const std::uint64_t last = size() / 3 * 2;
  for (std::uint64_t offset = 0; offset < last - 8; ++offset) {
    flip(offset);
    const Result<Journal::Found> found = Journal::go_on(disk_, kBook);
    ASSERT_FALSE(found.ok()) << "byte " << offset;
    EXPECT_EQ(found.status().code(), Code::kMalformed);
    EXPECT_THAT(found.status().cause(), HasSubstr("is damaged at byte"));
    flip(offset);
  }
}

TEST_F(JournalTest, CrashOfProcessLeavesAllCommitsOrOneMore) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim::SimDisk disk(seed);
    std::unique_ptr<Journal> journal = std::move(*Journal::begin(disk, kBook));
    disk.crash_after(seed % 12);
    const std::uint64_t told = write(*journal, 0, 20);
    journal.reset();
    disk.restart(sim::Crash::kProcess);
    const Result<Journal::Found> found = Journal::go_on(disk, kBook);
    ASSERT_TRUE(found.ok()) << seed << ": " << found.status().text();
    ASSERT_GE(found->records.size(), 2 * told) << seed;
    ASSERT_LE(found->records.size(), 2 * told + 2) << seed;
    expect_first(found->records, found->records.size());
  }
}

TEST_F(JournalTest, CommitWaitsForNoDevice) {
  sim::SimDisk slow(1, {.sync_latency = 4s});
  const std::unique_ptr<Journal> journal = std::move(*Journal::begin(slow, kBook));
  EXPECT_EQ(write(*journal, 0, 10), 10U);
  EXPECT_LT(slow.spent(), 1s);
}

TEST_F(JournalTest, TwoSchedulersCannotWriteIt) {
  const auto journal = begin();
  const Result<Journal::Found> second = Journal::go_on(disk_, kBook);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().cause(), HasSubstr("another scheduler that lives"));
}

TEST_F(JournalTest, DiscardRemovesJournal) {
  begin()->discard();
  EXPECT_FALSE(Journal::go_on(disk_, kBook).ok());
}

TEST_F(JournalTest, AFullDiskIsToldOf) {
  sim::SimDisk small(1, {.quota_bytes = 4096});
  std::unique_ptr<Journal> journal = std::move(*Journal::begin(small, kBook));
  EXPECT_LT(write(*journal, 0, 10'000), 10'000U);
}

}  // namespace
}  // namespace stretto
