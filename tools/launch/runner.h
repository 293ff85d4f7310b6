// SPDX-License-Identifier: Apache-2.0
// Runner: one launch from its first process to its last. One thread and one epoll loop turn what
// the kernel says into the Supervisor's events, and its orders into signals; output passes through
// on the way. Nothing here decides what a failure means.
#pragma once

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/job_file.h"
#include "tools/launch/command.h"
#include "tools/launch/far_host.h"
#include "tools/launch/gate.h"
#include "tools/launch/lines.h"
#include "tools/launch/local_host.h"
#include "tools/launch/meeting.h"
#include "tools/launch/poller.h"
#include "tools/launch/signals.h"
#include "tools/launch/sink.h"
#include "tools/launch/supervisor.h"

namespace stretto::launch {

/// What a launch is made of besides its plan.
struct Ingredients {
  Variables inherited;  ///< The caller's environment.
  Programs programs;
  std::string token;
  Placement placement;
  std::string directory;  ///< Where processes run, on every host.
};

/// Thread: loop. Descriptors 0 to 2 must be open.
class Runner final : private FarEvents {
 public:
  Runner(const Plan& plan, const Ingredients& ingredients, const Clock& clock);

  /// Runs everything to its end; leaves no process behind. The launcher's exit status; what there
  /// is to say has been said, with the error line last.
  int run();

 private:
  struct Output {
    std::string prefix;
    std::array<LineSplitter, 2> lines;  // stdout, stderr.
    std::ofstream log;
  };

  void on_refused(std::size_t member, Status why) override;
  void on_ready(std::string_view text) override;
  void on_output(std::size_t member, std::size_t stream, std::string_view bytes) override;
  void on_ended(std::size_t member, Exit exit) override;
  void on_here(FarHost& host) override;
  void on_lost(FarHost& host, Status why) override;
  void on_signalled(FarHost& host, int signal) override;
  void on_note(const FarHost& host, std::string_view line) override;
  void on_found(FarHost&, const std::vector<std::string>&) override {}

  Status prepare();
  Status gather();
  Status gather_by_mpirun(const SignalState& signals);
  void begin_if_all_are_here();
  void turn();
  std::optional<Duration> patience() const;
  void take_signals();
  void take_arrivals();
  void take_starter_end();
  void look_at_time();

  void start(std::size_t member);
  void start_others();
  void write_job_file();
  void open_log(std::size_t member);
  void pass_on(std::size_t member, std::size_t stream, std::string_view line);
  void react(const Reaction& reaction);
  void say(std::string_view text);

  void balance();
  void finish();
  void wait_for_far_hosts();
  void flush();
  Sink& sink_of(std::size_t stream) { return sinks_[sinks_.size() == 1 ? 0 : stream]; }
  Host& host_of(std::size_t member);
  std::size_t site_of(const FarHost& host) const;

  const Plan& plan_;
  const Ingredients& ingredients_;
  const Placement& placement_;
  const Clock& clock_;
  const std::vector<Member> members_;
  Supervisor supervisor_;
  Signals signals_;
  Poller poller_;
  LocalHost here_;
  std::unique_ptr<Gate> gate_;
  std::vector<std::unique_ptr<FarHost>>
      far_;                           // By site; none for this host, or one without members.
  std::unique_ptr<Carrier> starter_;  // mpirun.
  std::vector<Sink> sinks_;           // stdout and stderr, or one if both are the same file.
  std::vector<bool> sink_watched_;
  std::vector<std::unique_ptr<Output>> outputs_;  // By member; those that were started.
  std::vector<Ended> ended_;                      // In this turn.
  Meeting meeting_;
  std::vector<LocalRank> local_ranks_;
  HostPort scheduler_{"127.0.0.1", 0};
  JobFile job_file_;
  Time next_keep_ = Time::max();  // Of the job file.
  bool gathering_ = true;
  bool finishing_ = false;
  bool children_changed_ = false;
};

}  // namespace stretto::launch
