// SPDX-License-Identifier: Apache-2.0
// Options are refused before anything is opened; knobs, which a tuner turns, are bounded instead.
#include "input/reader/settings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "input/io/backend.h"

namespace stretto::input {
namespace {

constexpr std::uint32_t kMostReadBytes = 1U << 26;
constexpr std::uint32_t kMostWorld = 1U << 20;
constexpr std::size_t kMostPaths = 1U << 24;

Status invalid(std::string words) { return {Code::kInvalidArgument, std::move(words)}; }

}  // namespace

Status validate(const Options& options) {
  if (options.paths.empty()) return invalid("paths: there is none; name the files to read");
  if (options.paths.size() > kMostPaths) {
    return invalid(
        fmt::format("paths: {} files; more than {} are refused (put samples into record "
                    "files)",
                    options.paths.size(), kMostPaths));
  }
  if (options.world == 0 || options.world > kMostWorld || options.rank >= options.world) {
    return invalid(fmt::format("rank {} of world {}: wanted a rank below a world of 1 to {}",
                               options.rank, options.world, kMostWorld));
  }
  if (options.max_sample_bytes == 0) return invalid("max_sample_bytes: wanted 1 at least");
  const bool records = options.format == Format::kRecords;
  if (records != (options.record_bytes > 0)) {
    return invalid("record_bytes: wanted for the format 'records', and for no other");
  }
  if (records && options.record_bytes > options.max_sample_bytes) {
    return invalid(fmt::format("record_bytes {} is above max_sample_bytes {}", options.record_bytes,
                               options.max_sample_bytes));
  }
  if (options.memory_bytes < kAlignment) {
    return invalid(
        fmt::format("memory_bytes {}: wanted {} at least", options.memory_bytes, kAlignment));
  }
  return {};
}

Knobs bounded_knobs(const Knobs& knobs) {
  constexpr auto kBlock = static_cast<std::uint32_t>(kAlignment);
  const std::uint32_t bytes = std::clamp(knobs.read_bytes, kBlock, kMostReadBytes);
  return {.depth = std::clamp(knobs.depth, 1U, kMostDepth), .read_bytes = bytes / kBlock * kBlock};
}

bool wants_direct(Direct direct, std::uint64_t data_bytes, std::uint64_t machine_bytes) {
  if (direct != Direct::kAuto) return direct == Direct::kOn;
  return data_bytes > machine_bytes / 2;
}

std::uint64_t memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : 0;
}

Result<Format> format_named(std::string_view name) {
  if (name == "files") return Format::kFiles;
  if (name == "records") return Format::kRecords;
  if (name == "tfrecord") return Format::kTfRecord;
  if (name == "tar") return Format::kTar;
  return invalid(
      fmt::format("no format is called '{}'; wanted files, records, tfrecord or tar", name));
}

}  // namespace stretto::input
