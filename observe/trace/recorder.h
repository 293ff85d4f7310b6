// SPDX-License-Identifier: Apache-2.0
// Recorder: moves a loop's records from its ring to a sink, on its own thread, so that the loop
// never waits for a disk. For traces from the start; for traces on demand the loop sends them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "observe/trace/timeline.h"

namespace stretto::trace {

/// Destination of records. Thread: the recorder's.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(std::span<const TraceNote> notes) = 0;
  /// The last call: the number of dropped records, and the names known by then.
  virtual void end(std::uint64_t dropped, const std::map<std::uint32_t, std::string>& names) = 0;
};

/// The process's file in a folder, which is created. An error names the path; files of another job
/// or program are not replaced.
Result<std::unique_ptr<Sink>> folder_sink(const std::string& folder, const Node& who);
/// A range of rounds, inclusive.
struct Steps {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
/// Writes these rounds to `folder`/`local_rank`/comm.json in BytePS's format at the end; reports
/// that on stdout.
Result<std::unique_ptr<Sink>> byteps_sink(const std::string& folder, std::uint32_t local_rank,
                                          Steps steps);

/// Thread: any.
class Recorder {
 public:
  /// `ring` must outlive this, and have no other reader.
  Recorder(TraceRing& ring, std::unique_ptr<Sink> sink);
  /// Takes the remaining records, ends the sink, and joins.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void name(std::uint32_t tensor, const std::string& name);
  /// Ends the sink soon, without waiting: no records follow.
  void finish();

 private:
  void run();
  void drain();

  TraceRing& ring_;
  std::unique_ptr<Sink> sink_;
  Mutex mutex_;
  Condition changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::map<std::uint32_t, std::string> names_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the other members.
};

}  // namespace stretto::trace
