// SPDX-License-Identifier: Apache-2.0
// One process of fio for each measurement.
#include "tools/bench/io_fio.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/bench/run_command.h"

namespace stretto::bench {
namespace {

constexpr std::uint32_t kMostDepth = 128;
constexpr std::uint32_t kSizes[] = {32 << 10, 256 << 10, 2 << 20};

/// A file for what fio has measured, which goes away with this.
class Answer {
 public:
  Answer() {
    const int made = ::mkstemp(path_.data());
    if (made < 0) {
      error_ = {Code::kResource, fmt::format("no file for fio's answer, {}: {}; wanted room there",
                                             path_, std::strerror(errno))};
    } else {
      ::close(made);
    }
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    if (error_.ok()) (void)std::remove(path_.c_str());
  }
  const Status& error() const { return error_; }
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "stretto-fio-XXXXXX").string();
  Status error_;
};

}  // namespace

Result<double> rate_in_fio_json(const std::string& text) {
  const auto told = nlohmann::json::parse(text, nullptr, false);
  nlohmann::json::json_pointer place;
  place /= "jobs";
  place /= std::size_t{0};
  place /= "read";
  place /= "bw_bytes";
  if (told.is_discarded() || !told.contains(place) || !told.at(place).is_number()) {
    return Status(Code::kMalformed, "fio's JSON has no jobs[0].read.bw_bytes; wanted fio 3");
  }
  return told.at(place).get<double>();
}

Result<double> fio_rate(const std::string& path, Pattern pattern, input::Knobs knobs, Duration time,
                        std::uint32_t turn) {
  const Answer answer;
  if (!answer.error().ok()) return answer.error();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  const std::vector<std::string> words{
      "fio",
      "--name=read",
      "--readonly",
      "--allow_file_create=0",
      "--direct=1",
      "--ioengine=io_uring",
      "--time_based",
      "--filename=" + path,
      fmt::format("--rw={}", pattern == Pattern::kRandom ? "randread" : "read"),
      fmt::format("--offset={}%", pattern == Pattern::kRandom ? 0 : turn * 37 % 90),
      fmt::format("--bs={}", knobs.read_bytes),
      fmt::format("--iodepth={}", knobs.depth),
      fmt::format("--ramp_time={}ms", ms / 5),
      fmt::format("--runtime={}ms", ms),
      "--output-format=json",
      "--output=" + answer.path()};
  if (Status status = run_command(words); !status.ok()) return status;
  return rate_in_fio_json(answer.text());
}

Result<input::Knobs> best_of_fio(const std::string& path, Pattern pattern, Duration time) {
  input::Knobs best{};
  double fastest = 0;
  std::uint32_t turn = 0;
  for (std::uint32_t depth = 1; depth <= kMostDepth; depth *= 2) {
    for (const std::uint32_t size : kSizes) {
      const Result<double> rate = fio_rate(path, pattern, {depth, size}, time, ++turn);
      if (!rate.ok()) return rate.status();
      if (*rate <= fastest) continue;
      fastest = *rate;
      best = {depth, size};
    }
  }
  return best;
}

}  // namespace stretto::bench
