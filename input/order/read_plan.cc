// SPDX-License-Identifier: Apache-2.0
// A small gap between two samples is read with them: that costs less than another request.
#include "input/order/read_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stretto::input {
namespace {

constexpr std::uint64_t kGapBytes = 4096;
constexpr std::size_t kMostSamplesARun = 4096;  // In one run: they stay in memory together.

bool joins(const ReadRun& run, const Place& place, std::uint64_t read_bytes) {
  const std::uint64_t end = run.extent.offset + run.extent.bytes;
  return run.file == place.file && place.extent.offset >= end &&
         place.extent.offset - end <= kGapBytes && run.wanted.size() < kMostSamplesARun &&
         place.extent.offset + place.extent.bytes - run.extent.offset <= read_bytes;
}

}  // namespace

std::vector<ReadRun> plan_runs(std::span<const Place> samples, std::uint64_t first,
                               std::uint64_t read_bytes) {
  std::vector<std::size_t> sorted(samples.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, [&](std::size_t i) {
    return std::tuple(samples[i].file, samples[i].extent.offset, i);
  });
  std::vector<ReadRun> runs;
  for (const std::size_t i : sorted) {
    const Place& place = samples[i];
    if (runs.empty() || !joins(runs.back(), place, read_bytes)) {
      runs.push_back({.file = place.file, .extent = place.extent, .wanted = {}});
    }
    ReadRun& run = runs.back();
    run.extent.bytes = place.extent.offset + place.extent.bytes - run.extent.offset;
    run.wanted.push_back(first + i);
  }
  std::ranges::sort(runs, {},
                    [](const ReadRun& run) { return *std::ranges::min_element(run.wanted); });
  return runs;
}

}  // namespace stretto::input
