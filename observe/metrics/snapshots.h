// SPDX-License-Identifier: Apache-2.0
// MetricsSnapshots: loops publish their metrics here periodically, and an endpoint's threads read
// them. So a loop never waits for a reader, and readers never access a loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"

namespace stretto::metrics {

enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };

struct Metric {
  std::string name;  ///< "stretto_bytes_in_total"
  std::string help;
  Type type = Type::kGauge;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;  ///< Of a histogram: the sum of all samples.
  /// Of a histogram: ascending upper bounds, and the number of samples up to each; the last bound
  /// is infinite.
  std::vector<std::pair<double, std::uint64_t>> buckets;
};
using Metrics = std::vector<Metric>;
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Appends metrics with the same labels to `into`, which must outlive this.
class Adder {
 public:
  Adder(Metrics& into, Labels labels) : into_(into), labels_(std::move(labels)) {}
  template <typename Number>
  void operator()(const char* name, Type type, Number value, const char* help) const {
    into_.push_back({.name = name,
                     .help = help,
                     .type = type,
                     .labels = labels_,
                     .value = static_cast<double>(value),
                     .buckets = {}});
  }

 private:
  Metrics& into_;
  const Labels labels_;
};

/// Thread: any.
class MetricsSnapshots {
 public:
  /// Replaces the metrics of `source`.
  void put(std::size_t source, Metrics metrics);
  /// Of all sources, with this process's memory.
  Metrics all();

 private:
  Mutex mutex_;
  std::map<std::size_t, Metrics> by_source_ GUARDED_BY(mutex_);
};

/// Publishes a loop's metrics, and tells it when the next update is due. Thread: loop.
class Publisher {
 public:
  /// `board` must outlive this; null: never.
  void set_board(MetricsSnapshots* board, std::size_t source) {
    board_ = board;
    source_ = source;
  }
  bool due(Time now) const { return board_ != nullptr && now >= next_; }
  void put(Metrics metrics, Time now) {
    next_ = now + kEvery;
    board_->put(source_, std::move(metrics));
  }

 private:
  static constexpr Duration kEvery = 500ms;
  MetricsSnapshots* board_ = nullptr;
  std::size_t source_ = 0;
  Time next_ = {};
};

}  // namespace stretto::metrics
