// SPDX-License-Identifier: Apache-2.0
// Recorder: takes a loop's records from its ring to where they are kept, on a thread of its own, so
// that the loop never waits for a disk. For traces from the start; on demand the loop sends them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "observe/trace/timeline.h"

namespace stretto::trace {

/// Where records go. Thread: the recorder's.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(std::span<const TraceNote> notes) = 0;
  /// The last call: what has been dropped, and the names that are known by then.
  virtual void end(std::uint64_t dropped, const std::map<std::uint32_t, std::string>& names) = 0;
};

/// The process's file in a folder, which is made. An error names the path; a file of another job,
/// or of none, is not replaced.
Result<std::unique_ptr<Sink>> folder_sink(const std::string& folder, const Node& who);
/// Rounds from one to another, both among them.
struct Steps {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
/// `folder`/`local_rank`/comm.json as BytePS writes it, of these rounds, at the end; says so on
/// stdout.
Result<std::unique_ptr<Sink>> byteps_sink(const std::string& folder, std::uint32_t local_rank,
                                          Steps steps);

/// Thread: any.
class Recorder {
 public:
  /// `ring` outlives this, and nobody else takes from it.
  Recorder(TraceRing& ring, std::unique_ptr<Sink> sink);
  /// Takes what is left, ends the sink, and joins.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void name(std::uint32_t tensor, const std::string& name);
  /// No more will come: the sink ends soon. Does not wait.
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
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace stretto::trace
