// SPDX-License-Identifier: Apache-2.0
// Keeps reads in flight and counts bytes and latencies.
#include "experiments/io/io_disk.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

namespace stretto::bench::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 1 << 20;

Status cannot_read(const std::string& path, const std::string& why) {
  return invalid(fmt::format("--path {}: wanted a file or a folder of files: {}", path, why));
}

Result<std::vector<fs::path>> files_at(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> found;
  fs::directory_iterator entries(path, error);
  if (error) return cannot_read(path, error.message());
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) return cannot_read(path, error.message());
    if (entries->is_regular_file(error) && found.size() < kMostFiles) {
      found.push_back(entries->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<IoDisk> IoDisk::open(const std::string& path, Pattern pattern) {
  const Result<std::vector<fs::path>> paths = files_at(path);
  if (!paths.ok()) return paths.status();
  IoDisk disk;
  disk.pattern_ = pattern;
  for (const fs::path& each : *paths) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(each, error);
    if (error) return cannot_read(each.string(), error.message());
    if (bytes == 0) continue;
    disk.files_.push_back({std::make_shared<input::OpenFile>(each.string(), true), bytes});
    disk.bytes_ += bytes;
  }
  if (disk.files_.empty()) return cannot_read(path, "there are none with bytes in them");
  disk.order_.resize(disk.files_.size());
  std::iota(disk.order_.begin(), disk.order_.end(), std::size_t{0});
  if (pattern == Pattern::kFiles) {
    std::shuffle(disk.order_.begin(), disk.order_.end(), disk.random_);
  }
  disk.flights_.resize(input::kMostDepth);
  Result<std::unique_ptr<input::Backend>> backend = input::open_backend(input::Method::kAuto);
  if (!backend.ok()) return backend.status();
  disk.backend_ = *std::move(backend);
  return disk;
}

Result<input::Window> IoDisk::run(input::Knobs knobs, Duration time) {
  const Time begun = clock_.now();
  const Time end = begun + time;
  latencies_ = {};
  delivered_ = 0;
  std::vector<input::Done> done;
  const std::uint32_t depth = std::min(knobs.depth, input::kMostDepth);
  Time now = begun;
  while (now < end || latencies_.count() == 0) {
    while (in_flight_ < depth) submit(knobs.read_bytes);
    done.clear();
    // A window without a read is useless, so the first read may take any time.
    backend_->wait(latencies_.count() == 0 ? Time::max() : end, done);
    for (const input::Done& each : done) {
      if (Status status = take(each); !status.ok()) return status;
    }
    now = clock_.now();
  }
  // No consumer follows: it counts as always waiting.
  return input::Window{.length = now - begun,
                       .delivered_bytes = delivered_,
                       .p95_latency = latencies_.percentile(0.95),
                       .mean_latency = latencies_.mean(),
                       .consumer_stall = now - begun,
                       .requests = latencies_.count()};
}

void IoDisk::submit(std::uint32_t bytes) {
  const auto free = std::find_if(flights_.begin(), flights_.end(),
                                 [](const Flight& flight) { return !flight.busy; });
  Flight& flight = *free;
  if (flight.size < bytes) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(input::kAlignment, bytes));
    flight.memory = {memory, std::free};
    flight.size = bytes;
  }
  std::tie(flight.file, flight.offset) = next_place(bytes);
  flight.busy = true;
  flight.begun = clock_.now();
  ++in_flight_;
  backend_->submit({.tag = static_cast<std::uint64_t>(free - flights_.begin()),
                    .file = files_[flight.file].file,
                    .offset = flight.offset,
                    .into = {flight.memory.get(), bytes}});
}

Status IoDisk::take(const input::Done& done) {
  Flight& flight = flights_[done.tag];
  flight.busy = false;
  --in_flight_;
  if (done.error != 0) {
    return {Code::kResource, fmt::format("{} at {}: {}", files_[flight.file].file->path(),
                                         flight.offset, std::strerror(done.error))};
  }
  delivered_ += done.bytes;
  latencies_.add(clock_.now() - flight.begun);
  return {};
}

std::pair<std::size_t, std::uint64_t> IoDisk::next_place(std::uint32_t bytes) {
  if (pattern_ == Pattern::kRandom) {
    // Files are drawn in proportion to their bytes; offsets are multiples of the read size.
    std::uint64_t place = std::uniform_int_distribution<std::uint64_t>(0, bytes_ - 1)(random_);
    std::size_t file = 0;
    while (place >= files_[file].bytes) place -= files_[file++].bytes;
    return {file, place / bytes * bytes};
  }
  if (offset_ >= files_[order_[at_]].bytes) {
    offset_ = 0;
    at_ = (at_ + 1) % order_.size();
  }
  return {order_[at_], std::exchange(offset_, offset_ + bytes)};
}

}  // namespace stretto::bench::experiments
