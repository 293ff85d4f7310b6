// SPDX-License-Identifier: Apache-2.0
// The pure parts of stretto-bench: flags, statistics, and JSON results.
#include <gtest/gtest.h>

#include <limits>

#include "tools/bench/support/flags.h"
#include "tools/bench/support/record.h"
#include "tools/bench/support/report.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

/// Parses words with three flags: --part_bytes N, --bytes N,..., --json.
struct Reading {
  explicit Reading(const std::vector<std::string>& words) {
    const std::vector<Flag> flags{
        {"part_bytes", false,
         [this](const std::string& text) { return read_whole(text, 64, 1 << 20, part_bytes); }},
        {"bytes", false,
         [this](const std::string& text) { return read_list(text, 4, 1 << 30, bytes); }},
        {"json", true, [this](const std::string&) {
           json = true;
           return Status();
         }}};
    status = read_flags(words, flags);
  }
  Status status;
  std::uint32_t part_bytes = 0;
  std::vector<std::uint64_t> bytes;
  bool json = false;
};

TEST(BenchFlags, AcceptsHyphensUnderscoresAndAttachedValues) {
  for (const char* word : {"--part_bytes", "--part-bytes"}) {
    EXPECT_EQ(Reading({word, "4096"}).part_bytes, 4096u) << word;
    EXPECT_EQ(Reading({std::string(word) + "=4096"}).part_bytes, 4096u) << word;
  }
}

TEST(BenchFlags, SizesHaveUnitsAndCommas) {
  const Reading reading({"--bytes", "64,4K,1M,1G", "--json"});
  EXPECT_TRUE(reading.status.ok()) << reading.status.text();
  EXPECT_EQ(reading.bytes, (std::vector<std::uint64_t>{64, 4096, 1 << 20, 1 << 30}));
  EXPECT_TRUE(reading.json);
}

TEST(BenchFlags, NamesInvalidFlagOrValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--part_bytes"}, "--part_bytes has no value"},
      {{"--json=yes"}, "--json takes no value"},
      {{"16M"}, "wanted a flag, found '16M'"},
      {{"--byte", "4"}, "unknown flag --byte; there are --part_bytes --bytes --json"},
      {{"--part_bytes", "63"}, "--part_bytes is '63', wanted a whole number from 64 to 1048576"},
      {{"--bytes", "4,,8"}, "--bytes is '4,,8', wanted a whole number from 4 to 1073741824"},
      {{"--bytes", "4,"}, "--bytes is '4,', wanted a whole number from 4 to 1073741824"},
      {{"--bytes", "17179869185G"},
       "--bytes is '17179869185G', wanted a whole number from 4 to 1073741824"},
      {{"--bytes", "4KB"}, "--bytes is '4KB', wanted a whole number from 4 to 1073741824"},
      {{"--bytes", "-4"}, "--bytes is '-4', wanted a whole number from 4 to 1073741824"}};
  for (const auto& [words, cause] : cases) {
    const Reading reading(words);
    EXPECT_EQ(reading.status.code(), Code::kInvalidArgument);
    EXPECT_EQ(reading.status.cause(), cause);
  }
}

TEST(BenchFlags, ChoicesAreWordsForValues) {
  constexpr std::pair<std::string_view, int> kKnown[] = {{"one", 1}, {"two", 2}, {"three", 3}};
  int one = 0;
  std::vector<int> several;
  const std::vector<Flag> flags{choice_flag<int>("one", kKnown, one),
                                choices_flag<int>("several", kKnown, several)};
  const auto cause = [&flags](const std::vector<std::string>& words) {
    return std::string(read_flags(words, flags).cause());
  };
  EXPECT_EQ(cause({"--one", "two", "--several", "three,one"}), "");
  EXPECT_EQ(one, 2);
  EXPECT_EQ(several, (std::vector<int>{3, 1}));
  EXPECT_EQ(cause({"--one", "four"}), "--one is 'four', wanted one, two or three");
  EXPECT_EQ(cause({"--several", "one,"}),
            "--several is 'one,', wanted one, two or three, or several with commas between");
  EXPECT_EQ(word_for<int>(kKnown, 3), "three");
}

TEST(BenchFlags, SecondsAreReal) {
  double seconds = 0;
  EXPECT_TRUE(read_seconds("0.5", 0.01, 10, seconds).ok());
  EXPECT_EQ(seconds, 0.5);
  for (const char* text : {"", "0", "11", "1s", "nan", "inf"}) {
    EXPECT_FALSE(read_seconds(text, 0.01, 10, seconds).ok()) << text;
  }
  EXPECT_EQ(seconds, 0.5);
}

TEST(BenchStatistics, QuantilesAreOfTheNearestRank) {
  const std::vector<double> sorted{1, 2, 3, 4};
  EXPECT_EQ(quantile(sorted, 0), 1);
  EXPECT_EQ(quantile(sorted, 0.5), 2);
  EXPECT_EQ(quantile(sorted, 0.51), 3);
  EXPECT_EQ(quantile(sorted, 0.99), 4);
  EXPECT_EQ(quantile(sorted, 1), 4);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(BenchStatistics, MediansOfOddAndEvenNumbers) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(spread_of({3, 1, 2}).min, 1);
  EXPECT_EQ(spread_of({3, 1, 2}).max, 3);
}

TEST(BenchReport, RatesAreOfOneWorkerAndCpuIsOfAll) {
  const std::vector<Report> reports{
      {.rank = 0,
       .seconds = 2,
       .gigabytes = 4,
       .cpu_s = 1,
       .servers_cpu_s = 3,
       .p50_us = 10,
       .p99_us = 90},
      {.rank = 1, .seconds = 1, .gigabytes = 4, .cpu_s = 3, .p50_us = 20, .p99_us = 30}};
  const Rates rates = rates_of(reports);
  EXPECT_DOUBLE_EQ(rates.gb_per_s, 3);  // The mean of 2 and 4.
  EXPECT_DOUBLE_EQ(rates.worker_cpu_s_per_gb, 0.5);
  EXPECT_DOUBLE_EQ(rates.server_cpu_s_per_gb, 0.375);
  EXPECT_DOUBLE_EQ(rates.p50_us, 15);
  EXPECT_DOUBLE_EQ(rates.p99_us, 90);
}

TEST(BenchRecord, JsonKeepsOrderAndEscapes) {
  Record record;
  record.text("name", "a \"b\"\\\n").count("bytes", 1 << 20).real("gb_per_s", 1.0 / 3);
  record.real("ratio", std::numeric_limits<double>::infinity());
  EXPECT_EQ(record.json(),
            R"({"name":"a \"b\"\\\u000a","bytes":1048576,"gb_per_s":0.333333,"ratio":null})");
  EXPECT_EQ(Record().json(), "{}");
}

TEST(BenchRecord, TablesShowFewDigits) {
  Record record;
  record.real("small", 0.123456).real("large", 272513.6).count("bytes", 16777216);
  EXPECT_EQ(record.shown("small"), "0.1235");
  EXPECT_EQ(record.shown("large"), "272514");
  EXPECT_EQ(record.shown("bytes"), "16777216");
  EXPECT_EQ(record.shown("none"), "-");
}

}  // namespace
}  // namespace stretto::bench
