// SPDX-License-Identifier: Apache-2.0
// OutputRelay: forwards output of processes and of the launcher to its stdout and stderr, and to
// log files, as whole lines with the process's name. It never waits for a reader; it reports a full
// stream, so that output stays in the processes' pipes. An incomplete line, such as a progress bar,
// is shown about once a second, and again when it is complete.
#pragma once

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/process/line_splitter.h"
#include "tools/launch/process/output_queue.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/process/signals.h"

namespace stretto::launch {

/// Thread: loop. Descriptors 1 and 2 must be open.
class OutputRelay {
 public:
  /// Receives each forwarded line of a member.
  using OnLine = std::function<void(std::size_t member, std::string_view line)>;
  /// False: the line goes only to the log file. Empty: all lines are shown.
  using Shows = std::function<bool(std::size_t member, std::string_view line)>;

  /// Limit for a stalled reader once the launcher was asked to end.
  static constexpr Duration kUnreadPatience = std::chrono::seconds(5);

  /// Each member's output is also appended to a file in `log_directory`, if that is not empty.
  OutputRelay(Poller& poller, const std::vector<JobMember>& members, std::string log_directory,
              OnLine on_line, Shows shows = {});
  ~OutputRelay();

  /// Creates the folder for logs, if one is configured.
  Status prepare();
  /// Before the first output of a member.
  void open(std::size_t member);
  bool has(std::size_t member) const { return outputs_.at(member) != nullptr; }
  /// Closes the log file of an exited member until more output arrives.
  void close_log(std::size_t member);
  /// Bytes of its stdout (0) or stderr (1), split anywhere.
  void take(std::size_t member, std::size_t stream, std::string_view bytes);
  /// Forwards incomplete lines.
  void finish_lines();

  /// A line of the launcher's own, with its name.
  void say(std::string_view text) { line("[launcher] ", text); }
  /// A line for stderr.
  void line(std::string_view prefix, std::string_view text) { sink_of(1).line(prefix, text); }

  /// Writes without blocking now, and the rest when possible. Call it in each iteration.
  void write();
  bool full(std::size_t stream) const { return sinks_[index_of(stream)].full(); }
  /// Drops what is queued.
  void discard();
  /// Writes all that is queued while its readers take it; a signal but SIGCHLD ends that. So does a
  /// reader that takes nothing for kUnreadPatience, if the launcher was asked to end.
  void flush(Signals& signals);

 private:
  struct Closes {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Output {
    std::string prefix;
    std::array<LineSplitter, 2> lines;       // stdout, stderr.
    std::unique_ptr<std::FILE, Closes> log;  // Null: none, or closed.
    bool has_no_log = false;                 // The log cannot be written.
  };

  void show_progress();
  void time_looks();
  void pass_on(std::size_t member, std::size_t stream, std::string_view line);
  void write_sink(std::size_t index);
  void open_log(std::size_t member);
  void flush_log(std::size_t member);
  std::size_t index_of(std::size_t stream) const { return sinks_.size() == 1 ? 0 : stream; }
  OutputQueue& sink_of(std::size_t stream) { return sinks_[index_of(stream)]; }

  Poller& poller_;
  const std::vector<JobMember> members_;
  const std::string log_directory_;
  const OnLine on_line_;
  const Shows shows_;
  std::vector<OutputQueue> sinks_;  // stdout and stderr, or one if both are the same file.
  std::vector<bool> watched_;
  bool unread_ = false;  // No reader took anything for kUnreadPatience.
  Descriptor timer_;     // Period for showing incomplete lines.
  bool timer_runs_ = false;
  std::vector<std::unique_ptr<Output>> outputs_;  // By member; only opened ones.
};

}  // namespace stretto::launch
