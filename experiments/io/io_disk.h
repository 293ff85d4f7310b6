// SPDX-License-Identifier: Apache-2.0
// IoDisk: reads real files with a given depth, through the reader's own backend and past the page
// cache, to measure a setting. The bytes are discarded.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "experiments/io/io_settings.h"
#include "input/io/backend.h"
#include "input/io/latency.h"

namespace stretto::bench::experiments {

/// Thread: one at a time.
class IoDisk {
 public:
  /// Opens a file, or all files in a folder; kInvalidArgument names what cannot be read.
  static Result<IoDisk> open(const std::string& path, Pattern pattern);

  /// Reads with these knobs for `time`; reads in flight continue. A device error names file and
  /// offset.
  Result<input::Window> run(input::Knobs knobs, Duration time);
  std::string_view method() const { return backend_->name(); }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t files() const { return files_.size(); }
  Time now() const { return clock_.now(); }

 private:
  struct File {
    std::shared_ptr<input::OpenFile> file;
    std::uint64_t bytes = 0;
  };
  struct Flight {
    std::unique_ptr<std::byte, void (*)(void*)> memory{nullptr, nullptr};
    std::size_t size = 0;
    Time begun{};
    std::size_t file = 0;
    std::uint64_t offset = 0;
    bool busy = false;
  };

  IoDisk() = default;
  void submit(std::uint32_t bytes);
  Status take(const input::Done& done);
  /// The file and offset of the next read.
  std::pair<std::size_t, std::uint64_t> next_place(std::uint32_t bytes);

  SteadyClock clock_;
  Pattern pattern_ = Pattern::kSequential;
  std::vector<File> files_;
  std::uint64_t bytes_ = 0;
  std::vector<std::size_t> order_;  // The order of files in this round.
  std::size_t at_ = 0;              // The position in order_,
  std::uint64_t offset_ = 0;        // and in that file.
  std::mt19937_64 random_{1};
  std::vector<Flight> flights_;  // By tag; before the backend, which must end first.
  std::uint32_t in_flight_ = 0;
  std::uint64_t delivered_ = 0;
  input::Latencies latencies_;
  std::unique_ptr<input::Backend> backend_;
};

}  // namespace stretto::bench::experiments
