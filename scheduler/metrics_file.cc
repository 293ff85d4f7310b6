// SPDX-License-Identifier: Apache-2.0
// The job runs even if its metrics cannot be written: the error is logged once.
#include "scheduler/metrics_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "common/log.h"

namespace stretto {
namespace {

constexpr Duration kEvery = 1s;

Status written(Disk& disk, const std::string& path, const std::string& text) {
  const Status status =
      replace_file(disk, path, std::as_bytes(std::span(text)), Durability::kProcess);
  if (status.ok()) return {};
  return {status.code(), fmt::format("metrics are not written (STRETTO_METRICS_FILE={}): {}", path,
                                     status.cause())};
}

}  // namespace

void MetricsFile::step(Duration wait) {
  agent_.step(wait);
  end_write();
  if (path_.empty() || write_ || clock_.now() < next_write_) return;
  begin_write();
  end_write();
}

Time MetricsFile::next_due() const {
  const bool waits = path_.empty() || write_;  // The loop runs at least once a second.
  return waits ? agent_.next_due() : std::min(agent_.next_due(), next_write_);
}

void MetricsFile::begin_write() {
  next_write_ = clock_.now() + kEvery;
  write_ = std::make_shared<Write>();
  work_->post([write = write_, &disk = disk_, path = path_, text = metrics_()] {
    write->status = written(disk, path, text);
    write->ended.store(true, std::memory_order_release);
  });
}

void MetricsFile::end_write() {
  if (!write_ || !write_->ended.load(std::memory_order_acquire)) return;
  const bool is_news = status_.ok();
  status_ = std::move(std::exchange(write_, nullptr)->status);
  if (!status_.ok() && is_news) log(Level::kWarning, "{}", status_.cause());
}

}  // namespace stretto
