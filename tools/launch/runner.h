// SPDX-License-Identifier: Apache-2.0
// Runner: one launch from its first process to its last. One thread and one epoll loop turn what
// the kernel says into the Supervisor's events, and its orders into signals; output passes through
// on the way. Nothing here decides what a failure means.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "tools/launch/command.h"
#include "tools/launch/lines.h"
#include "tools/launch/orphans.h"
#include "tools/launch/signals.h"
#include "tools/launch/sink.h"
#include "tools/launch/spawn.h"
#include "tools/launch/supervisor.h"

namespace stretto::launch {

/// What a launch is made of besides its plan.
struct Ingredients {
  Variables inherited;  ///< The caller's environment.
  Programs programs;
  std::string token;
};

/// Thread: loop. Descriptors 0 to 2 must be open.
class Runner {
 public:
  Runner(const Plan& plan, const Ingredients& ingredients, const Clock& clock);

  /// Runs everything to its end; leaves no process behind. The launcher's exit status; what there
  /// is to say has been said, with the error line last.
  int run();

 private:
  enum class Source : std::uint32_t { kSignals, kReady, kEnd, kOutput, kErrors, kSink };

  struct Stream {
    Descriptor descriptor;
    LineSplitter lines;
    bool watched = false;
  };
  struct Process {
    Member member;
    std::string prefix;
    Child child;
    std::array<Stream, 2> streams{};  // stdout, stderr.
    std::ofstream log;
  };

  Status prepare();
  void turn();
  std::vector<epoll_event> wait() const;
  void handle(Source source, std::size_t index, std::vector<Ended>& ended);
  void take_signals();
  void take_ready();
  void take_end(std::size_t index, std::vector<Ended>& ended);
  /// Reads once; false if there was nothing to read.
  bool take_output(std::size_t index, std::size_t stream);
  void pass_on(Process& process, std::size_t stream, std::string_view line);

  bool start(std::size_t member);
  void start_others();
  void open_log(Process& process);
  void react(const Reaction& reaction);
  void say(std::string_view text);

  bool watch(int descriptor, std::uint32_t events, Source source, std::size_t index) const;
  void unwatch(int descriptor) const;
  void balance();
  void finish();
  void drain_outputs();
  void flush();
  Sink& sink_of(std::size_t stream) { return sinks_[sinks_.size() == 1 ? 0 : stream]; }

  const Plan& plan_;
  const Ingredients& ingredients_;
  const Clock& clock_;
  const std::vector<Member> members_;
  Supervisor supervisor_;
  Signals signals_;
  Orphans orphans_;
  Descriptor epoll_;
  std::vector<Sink> sinks_;  // stdout and stderr, or one if both are the same file.
  std::vector<bool> sink_watched_;
  std::vector<std::unique_ptr<Process>> processes_;  // By member; those that were started.
  Descriptor ready_;                                 // Where the scheduler says where it listens.
  std::string ready_text_;
  HostPort scheduler_{"127.0.0.1", 0};
  bool children_changed_ = false;
};

}  // namespace stretto::launch
