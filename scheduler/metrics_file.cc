// SPDX-License-Identifier: Apache-2.0
// A job does not end because its metrics cannot be written: that is said once.
#include "scheduler/metrics_file.h"

#include <fmt/format.h>

#include <span>

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

Status MetricsFile::write() {
  const std::string text = metrics_();
  const Status status =
      replace_file(disk_, path_, std::as_bytes(std::span(text)), Durability::kProcess);
  if (status.ok()) return {};
  return {status.code(), fmt::format("metrics are not written (STRETTO_METRICS_FILE={}): {}", path_,
                                     status.cause())};
}

}  // namespace stretto
