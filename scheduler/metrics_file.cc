// SPDX-License-Identifier: Apache-2.0
// A job does not end because its metrics cannot be written: that is said once.
#include "scheduler/metrics_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "common/log.h"

namespace stretto {
namespace {

constexpr Duration kEvery = 1s;

}  // namespace

void MetricsFile::step(Duration wait) {
  agent_.step(wait);
  if (path_.empty() || clock_.now() < next_write_) return;
  next_write_ = clock_.now() + kEvery;
  const Status status = write();
  if (!status.ok() && !complained_) log(Level::kWarning, "{}", status.cause());
  complained_ = !status.ok();
}

Time MetricsFile::next_due() const {
  return path_.empty() ? agent_.next_due() : std::min(agent_.next_due(), next_write_);
}

Status MetricsFile::write() const {
  const std::string beside = path_ + ".new";
  errno = 0;
  std::ofstream file(beside, std::ios::trunc);
  file << metrics_();
  file.close();
  if (!file || std::rename(beside.c_str(), path_.c_str()) != 0) {
    return {Code::kInvalidArgument,
            fmt::format("metrics cannot be written to {}: {}; is STRETTO_METRICS_FILE a path in a "
                        "folder that exists and may be written to?",
                        path_, std::strerror(errno))};
  }
  return {};
}

}  // namespace stretto
