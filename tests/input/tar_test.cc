// SPDX-License-Identifier: Apache-2.0
// tar shards: short and long names, files grouped into samples, and damaged archives.
#include "input/formats/tar.h"

#include <gtest/gtest.h>

#include "tests/input/files.h"

namespace stretto::input {
namespace {

using testing::bytes_of;
using testing::content;
using testing::tar_end;
using testing::tar_file;
using testing::tar_header;
using testing::text_of;

constexpr std::uint64_t kTarLimit = 1 << 20;

// "key ext=bytes ext=bytes" of each sample, and "!" with the cause of each error.
std::vector<std::string> read_tar(const std::string& file, std::uint64_t limit = kTarLimit) {
  MemorySource source(bytes_of(file));
  std::vector<std::string> all;
  const std::vector<Extent> extents = *scan_tar(source, limit);
  for (const Extent& extent : extents) {
    EXPECT_LE(extent.offset + extent.bytes, file.size());
    Result<TarSample> sample =
        tar_sample(bytes_of(file).subspan(extent.offset, extent.bytes), limit);
    if (!sample.ok()) {
      all.push_back("!" + sample.status().cause());
      continue;
    }
    std::string words(sample->key);
    for (const auto& [name, bytes] : sample->members) {
      words += " " + std::string(name) + "=" + text_of(bytes);
    }
    all.push_back(words);
  }
  return all;
}

std::string pax(const std::string& key, const std::string& value) {
  std::string record = " " + key + "=" + value + "\n";
  std::size_t length = record.size() + 1;
  while (std::to_string(length).size() + record.size() != length) ++length;
  return tar_file("pax", std::to_string(length) + record, 'x');
}

TEST(Tar, NeighboursWithOneNameAreASample) {
  const std::string file = tar_file("a/1.jpg", "J1") + tar_file("a/1.cls", "7") +
                           tar_file("folder/", "", '5') + tar_file("a/2.seg.png", "P2") +
                           tar_file("a/2.cls", "") + tar_file("a/2.x", "") +
                           tar_file("README", "R");
  const std::vector<std::string> expected = {"a/1 jpg=J1 cls=7", "a/2 seg.png=P2 cls= x="};
  EXPECT_EQ(read_tar(file + tar_end()), expected);
  EXPECT_EQ(read_tar(file), expected) << "without an end";
  EXPECT_TRUE(read_tar("").empty());
  EXPECT_TRUE(read_tar(tar_end()).empty());
}

TEST(Tar, DuplicateMemberIsAnErrorOfItsSample) {
  for (const std::string second : {"a/1.jpg", "a/1.JPG"}) {
    const std::vector<std::string> all =
        read_tar(tar_file("a/1.jpg", "J") + tar_file("a/1.cls", "1") + tar_file(second, "K") +
                 tar_file("a/2.jpg", "L") + tar_end());
    ASSERT_EQ(all.size(), 2U);
    EXPECT_NE(all[0].find("!'" + second + "' is a second 'jpg' of sample 'a/1'"), std::string::npos)
        << all[0];
    EXPECT_EQ(all[1], "a/2 jpg=L");
  }
}

TEST(Tar, LongNames) {
  const std::string name = std::string(150, 'd') + "/" + std::string(120, 'n');
  EXPECT_EQ(read_tar(pax("path", name + ".txt") + tar_file("short", "x")).at(0), name + " txt=x");
  EXPECT_EQ(
      read_tar(tar_file("././@LongLink", name + ".txt" + '\0', 'L') + tar_file("short", "x")).at(0),
      name + " txt=x");
  std::string prefixed = tar_header("n.txt", 0);
  prefixed.replace(345, 3, "dir");
  prefixed.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char letter : prefixed) sum += static_cast<unsigned char>(letter);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  prefixed.replace(148, 7, digits, 7);
  EXPECT_EQ(read_tar(prefixed).at(0), "dir/n txt=");
}

TEST(Tar, PaxSizeHolds) {
  std::string file = pax("size", "3") + tar_header("a.txt", 0) + "abc" + std::string(509, '\0');
  EXPECT_EQ(read_tar(file + tar_file("b.txt", "b")),
            (std::vector<std::string>{"a txt=abc", "b txt=b"}));
}

TEST(Tar, TruncatedArchiveLosesItsLastSampleOnly) {
  const std::string first = tar_file("1.a", "A") + tar_file("1.b", content(1, 600));
  const std::string second = tar_file("2.a", "A") + tar_file("2.b", content(2, 600));
  for (const std::size_t cut : {1UL, 500UL, 1000UL}) {
    const std::string file = first + second;
    const auto all = read_tar(file.substr(0, file.size() - cut));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].starts_with("1 a=A b="));
    if (cut > 424) {
      EXPECT_NE(all[1].find("truncated"), std::string::npos) << all[1];
    }
  }
}

TEST(Tar, WrongHeaderLosesThatOnly) {
  std::string file = tar_file("1.a", "A") + tar_file("2.a", "B") + tar_file("3.a", "C") + tar_end();
  file[1024 + 3] = 'x';
  const auto all = read_tar(file);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], "1 a=A");
  EXPECT_NE(all[1].find("checksum of a tar header is wrong"), std::string::npos);
  EXPECT_EQ(all[2], "3 a=C");
}

TEST(Tar, UnrelatedFilesSplitNoSample) {
  EXPECT_EQ(read_tar(tar_file("__meta__/a.json", "") + tar_file("a/._1.jpg", "M") +
                     tar_file("a/1.jpg", "J") + tar_file("a/README", "R") +
                     tar_file("a/1.cls", "1") + tar_file("a/.DS_Store", "S")),
            std::vector<std::string>{"a/1 jpg=J cls=1"});
}

// The second of three samples has lost the header of one of its three files.
TEST(Tar, ASampleThatLostAFileIsLeftOut) {
  const std::vector<std::string> names = {"jpg", "txt", "cls"};
  for (std::size_t lost = 0; lost < 3; ++lost) {
    std::string file;
    for (const std::string key : {"s0", "s1", "s2"}) {
      for (const std::string& name : names) {
        std::string one = tar_file(key + "." + name, content(1, 700));
        if (key == "s1" && name == names[lost]) one[3] ^= 1;
        file += one;
      }
    }
    const std::vector<std::string> all = read_tar(file + tar_end());
    EXPECT_EQ(std::ranges::count_if(all, [](const auto& words) { return words[0] == '!'; }), 1);
    EXPECT_EQ(std::ranges::count_if(all, [](const auto& words) { return words[1] == '1'; }), 0);
    EXPECT_GE(all.size(), 2U) << "one of the whole ones may have been its neighbour";
  }
}

TEST(Tar, AnArchiveCutBetweenTwoFilesOfASampleIsAnError) {
  const std::vector<std::string> all =
      read_tar(tar_file("s0.a", "A") + tar_file("s0.b", "B") + tar_file("s1.a", "C"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(all[1].find("the archive is truncated"), std::string::npos);
}

TEST(Tar, AWrongHeaderOfALongNameTakesItsFileWithIt) {
  std::string file = pax("path", "long.a") + tar_file("short.a", "A") + tar_file("2.a", "B");
  file[3] ^= 1;
  const std::vector<std::string> all = read_tar(file);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1], "2 a=B");
}

TEST(Tar, AWrongHeaderIsSteppedOverByItsSize) {
  const std::string inner = tar_file("x.a", "X") + tar_end();
  std::string file = tar_file("1.tar", inner) + tar_file("2.tar", "B") + tar_end();
  file[3] ^= 1;
  const std::vector<std::string> all = read_tar(file);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1], "2 tar=B");
}

TEST(Tar, LinksAndSparseFilesAreErrorsOfTheirSamples) {
  const std::string end = tar_file("2.a", "B") + tar_end();
  const auto error_of = [&](const std::string& file) {
    const std::vector<std::string> all = read_tar(file + end);
    EXPECT_EQ(all.size(), 2U);
    EXPECT_EQ(all.back(), "2 a=B");
    return all.front();
  };
  EXPECT_NE(error_of(tar_file("1.b", "") + tar_file("1.a", "", '1')).find("'1.a' is a link"),
            std::string::npos);
  EXPECT_NE(error_of(tar_file("1.a", "", '2')).find("--dereference"), std::string::npos);
  EXPECT_NE(error_of(tar_file("1.a", "", 'S')).find("sparse"), std::string::npos);
  EXPECT_NE(error_of(pax("GNU.sparse.major", "1") + tar_file("1.a", "map")).find("sparse"),
            std::string::npos);
}

TEST(Tar, FolderLongNameLeavesNextFileUnchanged) {
  EXPECT_EQ(read_tar(tar_file("l", "d/e.f", 'L') + tar_file("d", "", 'D') + tar_file("1.a", "A")),
            std::vector<std::string>{"1 a=A"});
}

TEST(Tar, HostileHeadersAreErrors) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += pax("path", "x.y");
  for (const std::string& file :
       {tar_header("a.txt", 077777777777), many, tar_file("p", "99 path=x\n", 'x'),
        tar_file("p", "path", 'x'), tar_file("p", content(1, 70'000), 'x'),
        tar_header("p", 512, 'x'), content(3, 2000)}) {
    const auto all = read_tar(file);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0][0], '!');
  }
}

TEST(Tar, SamplesAboveTheLimitAreErrors) {
  const auto all = read_tar(tar_file("1.a", content(1, 5000)) + tar_file("2.a", "B"), 2000);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(all[0].find("limit of 2000"), std::string::npos);
  EXPECT_EQ(all[1], "2 a=B");
}

TEST(Tar, ASampleThatIsTooLargeIsNotReadToItsLastHeader) {
  const std::string file = tar_file("a.one", std::string(100'000, 'x')) + tar_file("a.two", "2") +
                           tar_file("b.one", "1") + tar_end();
  MemorySource source(bytes_of(file));
  const std::vector<Extent> extents = *scan_tar(source, 4096);
  ASSERT_EQ(extents.size(), 2U);
  EXPECT_LE(extents[0].bytes, 4096U);
  const std::vector<std::string> words = read_tar(file, 4096);
  EXPECT_EQ(words[0].front(), '!');
  EXPECT_EQ(words[1], "b one=1");
}

}  // namespace
}  // namespace stretto::input
