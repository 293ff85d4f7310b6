// SPDX-License-Identifier: Apache-2.0
// PageSnapshots: the contents of the live page, written by the scheduler's loop and read by the
// page's threads; requests for a trace go the other way. Neither side blocks the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "observe/trace/timeline.h"

namespace stretto {

/// Thread: any.
class PageSnapshots {
 public:
  struct TraceWish {
    std::uint32_t iterations = 0;
    std::uint32_t seconds = 0;
  };

  // For the loop:
  /// Pages of members, as JSON, the state of the trace, and the last minutes' curves.
  void show(std::vector<std::string> snapshots, std::string trace_state, std::string history);
  /// The last trace, before alignment.
  void show_trace(std::shared_ptr<const trace::Trace> trace);
  /// Stores a trace's text, made outside the lock, unless a later one is stored; returns it.
  std::string keep(std::uint64_t number, std::string text);
  /// The newest trace and its number, unless a thread is making its text already.
  std::pair<std::shared_ptr<const trace::Trace>, std::uint64_t> take_trace();
  std::optional<TraceWish> take_wish();

  // For the page:
  /// A page of members; the first page if `page` is too large.
  std::string snapshot(std::size_t page);
  std::string trace_state();
  std::string history();
  /// {"report":{...},"nodes":[{"name","spans":[[kind,begin_us,length_us,tensor,round],...]}...]}:
  /// at most kMostSpans from the end of the trace; "{}" without a trace. Made once for each trace.
  std::string trace();
  void wish(const TraceWish& wish);

  static constexpr std::size_t kMostSpans = 20'000;

 private:
  Mutex mutex_;
  std::vector<std::string> snapshots_ GUARDED_BY(mutex_);
  std::string trace_state_ GUARDED_BY(mutex_) = "{}";
  std::string history_ GUARDED_BY(mutex_) = "{}";
  std::shared_ptr<const trace::Trace> trace_ GUARDED_BY(mutex_);
  std::uint64_t traces_ GUARDED_BY(mutex_) = 0;  // Number of traces stored here,
  std::uint64_t told_ GUARDED_BY(mutex_) = 0;    // and the number of the trace in `trace_text_`.
  std::string trace_text_ GUARDED_BY(mutex_) = "{}";
  std::optional<TraceWish> wish_ GUARDED_BY(mutex_);
};

/// The text of PageSnapshots::trace().
std::string timeline_json(const trace::Trace& trace);

}  // namespace stretto
