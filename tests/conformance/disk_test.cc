// SPDX-License-Identifier: Apache-2.0
// The behaviour of every disk, real and simulated, while nothing fails. To run the suite over
// another disk, add a line at the end.
#include "common/files/disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "common/files/real_disk.h"
#include "tests/sim/sim_disk.h"

namespace stretto::conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMost = 100;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct DiskKind {
  const char* name;
  std::unique_ptr<Disk> (*make)();
};

std::string name_of(const testing::TestParamInfo<DiskKind>& info) { return info.param.name; }

class DiskTest : public testing::TestWithParam<DiskKind> {
 protected:
  DiskTest() {
    // The simulated disk is empty at first.
    for (std::size_t end = root_.find('/', 1); end != std::string::npos;
         end = root_.find('/', end + 1)) {
      EXPECT_TRUE(disk_->make_folder(root_.substr(0, end)).ok());
    }
    EXPECT_TRUE(disk_->make_folder(root_).ok());
  }
  ~DiskTest() override { std::filesystem::remove_all(root_); }

  std::string at(const std::string& name) const { return root_ + "/" + name; }
  std::unique_ptr<File> open(const std::string& name, Open how) {
    Result<std::unique_ptr<File>> file = disk_->open(at(name), how);
    EXPECT_TRUE(file.ok()) << file.status().text();
    return *std::move(file);
  }
  void put(const std::string& name, std::string_view text) {
    EXPECT_TRUE(open(name, Open::kCreate)->write(0, bytes_of(text)).ok());
  }
  static std::string text_in(File& file, std::uint64_t offset = 0, std::size_t most = kMost) {
    std::string text(most, '\0');
    const Result<std::size_t> count = file.read(offset, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(count.ok()) << count.status().text();
    return text.substr(0, count.ok() ? *count : 0);
  }
  std::string text_of(const std::string& name) { return text_in(*open(name, Open::kRead)); }
  std::vector<std::string> names(const std::string& folder = "") {
    const auto found = disk_->list(at(folder), kMost);
    EXPECT_TRUE(found.ok()) << found.status().text();
    return found.ok() ? *found : std::vector<std::string>();
  }
  // The error names the path.
  static void expect_refused(const Status& status, const std::string& path) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.text();
    EXPECT_THAT(status.cause(), HasSubstr("'" + path + "'"));
  }

  const std::unique_ptr<Disk> disk_ = GetParam().make();
  const std::string root_ = testing::TempDir() + "disk_" + std::to_string(::getpid());
};

TEST_P(DiskTest, BytesAreReadWhereTheyWereWritten) {
  const std::unique_ptr<File> file = open("a", Open::kCreate);
  ASSERT_TRUE(file->write(0, bytes_of("zero")).ok());
  ASSERT_TRUE(file->write(6, bytes_of("six")).ok());
  ASSERT_TRUE(file->write(1, bytes_of("E")).ok());
  EXPECT_EQ(text_in(*file), std::string("zEro\0\0six", 9)) << "a gap is zero";
  EXPECT_EQ(text_in(*file, 6, 2), "si");
  EXPECT_EQ(text_in(*file, 9), "") << "at the end";
  EXPECT_EQ(text_in(*file, 1000), "") << "beyond it";
  EXPECT_EQ(*file->size(), 9U);
  EXPECT_TRUE(file->write(0, {}).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(disk_->sync_folder(root_).ok());
  EXPECT_EQ(text_of("a"), text_in(*file));
}

TEST_P(DiskTest, OpeningSaysWhetherTheFileIsThere) {
  expect_refused(disk_->open(at("a"), Open::kRead).status(), at("a"));
  expect_refused(disk_->open(at("a"), Open::kWrite).status(), at("a"));
  EXPECT_FALSE(*disk_->exists(at("a")));
  put("a", "text");
  EXPECT_TRUE(*disk_->exists(at("a")));
  expect_refused(disk_->open(at("a"), Open::kCreate).status(), at("a"));
  EXPECT_TRUE(open("a", Open::kWrite)->write(4, bytes_of("s")).ok());
  EXPECT_EQ(text_of("a"), "texts");
  EXPECT_FALSE(open("a", Open::kRead)->write(0, bytes_of("x")).ok());
  EXPECT_EQ(text_of("a"), "texts");
}

TEST_P(DiskTest, PathsLeadThroughFolders) {
  expect_refused(disk_->open(at("no/a"), Open::kCreate).status(), at("no/a"));
  put("a", "");
  expect_refused(disk_->open(at("a/b"), Open::kCreate).status(), at("a/b"));
  expect_refused(disk_->exists(at("a/b")).status(), at("a/b"));
  expect_refused(disk_->open("", Open::kRead).status(), "");
  expect_refused(disk_->open(root_, Open::kWrite).status(), root_);
  EXPECT_FALSE(*disk_->exists(at("no/a")));
}

TEST_P(DiskTest, FoldersAreMadeOneByOne) {
  expect_refused(disk_->make_folder(at("x/y")), at("x/y"));
  ASSERT_TRUE(disk_->make_folder(at("x")).ok());
  ASSERT_TRUE(disk_->make_folder(at("x/y")).ok());
  EXPECT_TRUE(disk_->make_folder(at("x/y")).ok()) << "it is there";
  put("a", "");
  expect_refused(disk_->make_folder(at("a")), at("a"));
  expect_refused(disk_->sync_folder(at("a")), at("a"));
  expect_refused(disk_->sync_folder(at("none")), at("none"));
}

TEST_P(DiskTest, NamesAreListedInOrder) {
  for (const char* name : {"c", "a", ".b"}) put(name, "");
  ASSERT_TRUE(disk_->make_folder(at("b")).ok());
  EXPECT_THAT(names(), ElementsAre(".b", "a", "b", "c"));
  EXPECT_THAT(names("b"), IsEmpty());
  EXPECT_TRUE(disk_->list(root_, 4).ok());
  EXPECT_EQ(disk_->list(root_, 3).status().code(), Code::kResource) << "more than it may be";
  expect_refused(disk_->list(at("none"), kMost).status(), at("none"));
  expect_refused(disk_->list(at("a"), kMost).status(), at("a"));
}

TEST_P(DiskTest, RenamingReplaces) {
  put("a", "new");
  put("b", "old");
  ASSERT_TRUE(disk_->rename(at("a"), at("b")).ok());
  EXPECT_THAT(names(), ElementsAre("b"));
  EXPECT_EQ(text_of("b"), "new");
  EXPECT_TRUE(disk_->rename(at("b"), at("b")).ok());
  expect_refused(disk_->rename(at("a"), at("c")), at("c"));
  ASSERT_TRUE(disk_->make_folder(at("x")).ok());
  expect_refused(disk_->rename(at("b"), at("x")), at("x"));
  expect_refused(disk_->rename(at("x"), at("b")), at("b"));
  expect_refused(disk_->rename(at("b"), at("x/b")), at("x/b"));
  ASSERT_TRUE(disk_->rename(at("x"), at("y")).ok());
  EXPECT_THAT(names(), ElementsAre("b", "y"));
}

TEST_P(DiskTest, RemoveDeletesFilesAndEmptyFolders) {
  put("a", "text");
  ASSERT_TRUE(disk_->make_folder(at("x")).ok());
  put("x/b", "");
  const std::unique_ptr<File> file = open("a", Open::kWrite);
  EXPECT_TRUE(disk_->remove(at("a")).ok());
  EXPECT_TRUE(disk_->remove(at("a")).ok()) << "there is none";
  EXPECT_EQ(text_in(*file), "text") << "who has it open goes on";
  EXPECT_TRUE(file->write(4, bytes_of("s")).ok());
  expect_refused(disk_->remove(at("x")), at("x"));
  EXPECT_TRUE(disk_->remove(at("x/b")).ok());
  EXPECT_TRUE(disk_->remove(at("x")).ok());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(DiskTest, ReportsAvailableAndTotalSpace) {
  const Result<Space> space = disk_->space(root_);
  ASSERT_TRUE(space.ok()) << space.status().text();
  EXPECT_GT(space->available_bytes, 0U);
  EXPECT_LE(space->available_bytes, space->total_bytes);
  expect_refused(disk_->space(at("none")).status(), at("none"));
}

TEST_P(DiskTest, ReplacesEntireFileAndRemovesDraft) {
  put("a.new", "what a crash left behind, longer than all that comes");
  for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
    ASSERT_TRUE(replace_file(*disk_, at("a"), bytes_of("first"), durability).ok());
    EXPECT_EQ(text_of("a"), "first");
    ASSERT_TRUE(replace_file(*disk_, at("a"), bytes_of("2nd"), durability).ok());
    EXPECT_EQ(text_of("a"), "2nd");
    EXPECT_THAT(names(), ElementsAre("a"));
  }
  expect_refused(replace_file(*disk_, at("x/a"), {}, Durability::kMachine), at("x/a.new"));
  ASSERT_TRUE(disk_->make_folder(at("x")).ok());
  expect_refused(replace_file(*disk_, at("x"), {}, Durability::kMachine), at("x"));
  EXPECT_THAT(names(), ElementsAre("a", "x")) << "the draft is removed";
}

TEST_P(DiskTest, AFileIsHeldByOneAtATime) {
  std::unique_ptr<FileHold> first = disk_->hold(at("a")).or_exit();
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(disk_->hold(at("a")).or_exit(), nullptr);
  EXPECT_NE(disk_->hold(at("b")).or_exit(), nullptr) << "another file";
  ASSERT_TRUE(open("a", Open::kWrite)->write(0, bytes_of("by us")).ok());
  EXPECT_EQ(text_of("a"), "by us");
  first.reset();
  first = disk_->hold(at("a")).or_exit();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(text_of("a"), "by us") << "what was there stays";
  expect_refused(disk_->hold(at("x/a")).status(), at("x/a"));
  ASSERT_TRUE(disk_->make_folder(at("x")).ok());
  expect_refused(disk_->hold(at("x")).status(), at("x"));
}

template <typename T>
std::unique_ptr<Disk> make() {
  return std::make_unique<T>();
}
std::unique_ptr<Disk> make_simulated() { return std::make_unique<sim::SimDisk>(1); }

INSTANTIATE_TEST_SUITE_P(All, DiskTest,
                         testing::Values(DiskKind{"real", &make<RealDisk>},
                                         DiskKind{"simulated", &make_simulated}),
                         name_of);

TEST(RealDiskTest, AFullDiskIsNamed) {
  RealDisk disk;
  const Result<std::unique_ptr<File>> file = disk.open("/dev/full", Open::kWrite);
  ASSERT_TRUE(file.ok()) << file.status().text();
  const Status status = (*file)->write(0, bytes_of("text"));
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_EQ(status.cause(),
            "cannot write more than 0 of 4 bytes to '/dev/full': No space left on device; make "
            "room there, or name another folder");
}

TEST(RealDiskTest, AWriteThatStopsHalfWaySaysWhere) {
  const std::string path = testing::TempDir() + "limited_" + std::to_string(::getpid());
  RealDisk disk;
  const std::unique_ptr<File> file = disk.open(path, Open::kCreate).or_exit();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limited{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const Status status = file->write(0, std::vector<std::byte>(3000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, old_handler));
  EXPECT_THAT(status.cause(), HasSubstr("cannot write more than 1000 of 3000 bytes to '" + path));
  EXPECT_EQ(*file->size(), 1000U);
  EXPECT_TRUE(disk.remove(path).ok());
}

}  // namespace
}  // namespace stretto::conformance
