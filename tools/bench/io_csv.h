// SPDX-License-Identifier: Apache-2.0
// What the plots of `io` are made of, as a file.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/flags.h"
#include "tools/bench/io_tuning.h"

namespace stretto::bench {

/// Each setting of the grid, and each step of one search.
class IoCsv {
 public:
  explicit IoCsv(const std::string& path) : path_(path) {
    if (path_.empty()) return;
    file_.open(path_, std::ios::trunc);
    file_ << "device,action,order,depth,read_bytes,bytes_per_s,p95_s\n";
  }
  void grid(std::string_view device, const std::vector<GridCell>& cells) {
    for (const GridCell& cell : cells) {
      row(device, "grid", 0, cell.knobs, cell.bytes_per_s, cell.p95_s);
    }
  }
  void trials(std::string_view device, const std::vector<input::Trial>& trials) {
    std::size_t order = 0;
    for (const input::Trial& trial : trials) {
      row(device, name_of(trial.action), ++order, trial.knobs, trial.bytes_per_second,
          std::chrono::duration<double>(trial.p95_latency).count());
    }
  }
  Status finish() {
    if (path_.empty()) return {};
    file_.close();
    if (file_) return {};
    return invalid(fmt::format("--csv {}: it cannot be written", path_));
  }

 private:
  void row(std::string_view device, std::string_view action, std::size_t order, input::Knobs knobs,
           double bytes_per_s, double p95_s) {
    if (path_.empty()) return;
    file_ << fmt::format("{},{},{},{},{},{:.6g},{:.6g}\n", device, action, order, knobs.depth,
                         knobs.read_bytes, bytes_per_s, p95_s);
  }

  std::string path_;
  std::ofstream file_;
};

}  // namespace stretto::bench
