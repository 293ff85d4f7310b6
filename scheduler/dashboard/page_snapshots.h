// SPDX-License-Identifier: Apache-2.0
// PageSnapshots: what the live page shows, left there by the scheduler's loop and read by the
// page's threads; and the wish for a trace, the other way. Neither waits for the other.
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

  // The loop's.
  /// Pages of who is in, as JSON, the state of the trace, and the last minutes' curves.
  void show(std::vector<std::string> snapshots, std::string trace_state, std::string history);
  /// The last trace, not aligned yet.
  void show_trace(std::shared_ptr<const trace::Trace> trace);
  /// A trace's text was made, outside of the lock: it is kept unless there is a later one's.
  std::string keep(std::uint64_t number, std::string text);
  /// The newest trace and its number, if nobody has begun to make its text.
  std::pair<std::shared_ptr<const trace::Trace>, std::uint64_t> take_trace();
  std::optional<TraceWish> take_wish();

  // The page's.
  /// A page of who is in; the first one if there are fewer.
  std::string snapshot(std::size_t page);
  std::string trace_state();
  std::string history();
  /// {"report":{...},"nodes":[{"name","spans":[[kind,begin_us,length_us,tensor,round],...]}...]}:
  /// at most kMostSpans, of the trace's end. "{}" before there is one. Made once for each trace.
  std::string trace();
  void wish(const TraceWish& wish);

  static constexpr std::size_t kMostSpans = 20'000;

 private:
  Mutex mutex_;
  std::vector<std::string> snapshots_ GUARDED_BY(mutex_);
  std::string trace_state_ GUARDED_BY(mutex_) = "{}";
  std::string history_ GUARDED_BY(mutex_) = "{}";
  std::shared_ptr<const trace::Trace> trace_ GUARDED_BY(mutex_);
  std::uint64_t traces_ GUARDED_BY(mutex_) = 0;  // So many have been left here,
  std::uint64_t told_ GUARDED_BY(mutex_) = 0;    // and this one is what the text is of.
  std::string trace_text_ GUARDED_BY(mutex_) = "{}";
  std::optional<TraceWish> wish_ GUARDED_BY(mutex_);
};

/// The text of PageSnapshots::trace().
std::string timeline_json(const trace::Trace& trace);

}  // namespace stretto
