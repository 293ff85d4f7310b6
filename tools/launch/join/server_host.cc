// SPDX-License-Identifier: Apache-2.0
// Connects to the scheduler while requests are open; processes and connection share one epoll loop.
#include "tools/launch/join/server_host.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/config/job_variables.h"
#include "tools/launch/join/external_server_tracker.h"
#include "tools/launch/process/local_host.h"
#include "tools/launch/process/output_relay.h"
#include "tools/launch/process/signals.h"
#include "tools/launch/process/system.h"

namespace stretto::launch {
namespace {

constexpr Rank kMostNumbers = 4 * kMaxNodes;  // Of servers.
constexpr Duration kTurn = 20ms;              // Loop iteration while a request is open.
constexpr Duration kAgain = 200ms;            // Between two attempts to reach it.
constexpr Duration kLastWord = 1s;            // For the scheduler's reaction to an exit.
constexpr Duration kMissed = 15s;             // Longer than a scheduler restart takes.
constexpr Duration kFirstTry = 5s;            // The same, before any server has started.
constexpr int kMostSignals = 3;               // Requests to end; the next signal kills.
constexpr Duration kServerKillPatience = 5s;

std::vector<JobMember> all_servers() {
  std::vector<JobMember> members;
  for (Rank number = 0; number < kMostNumbers; ++number) members.push_back({Role::kServer, number});
  return members;
}

// A checkpoint folder must exist on each host.
Status check_folder(const Variables& given) {
  const std::string folder = value_of(given, "STRETTO_CHECKPOINT");
  if (folder.empty()) return {};
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return {Code::kInvalidArgument,
            fmt::format("the job keeps checkpoints in '{}', and here that cannot be written to: "
                        "{}; share it with this host",
                        folder, ::strerror(errno))};
  }
  // The job's scheduler holds a lock file there while it runs.
  if (::access((folder + "/.stretto-held").c_str(), F_OK) == 0) return {};
  return {Code::kInvalidArgument,
          fmt::format("the job keeps checkpoints in '{}', and here that is another folder, which "
                      "no job uses; share the job's with this host",
                      folder)};
}

/// Thread: loop.
class JoiningHost final : private HostEvents {
 public:
  JoiningHost(const ServerJoin& wish, const observe::Target& job, const Variables& inherited,
              std::uint64_t machine, const Clock& clock)
      : wish_(wish),
        job_(job),
        inherited_(inherited),
        machine_(machine),
        members_(all_servers()),
        relay_(poller_, members_, {},
               [this](std::size_t member, std::string_view line) { hear(member, line); }),
        clock_(clock),
        host_(poller_, *this, signals_.before(), clock),
        servers_(wish.count, wish.places) {}

  Status run() {
    if (!poller_.is_open() ||
        !poller_.watch(signals_.descriptor(), EPOLLIN, [this] { take_signals(); })) {
      return {Code::kResource, fmt::format("no epoll or signalfd: {}", ::strerror(errno))};
    }
    Plan plan;
    plan.program_directory = wish_.program_directory;
    const Result<std::string> folder = program_directory(plan, inherited_);
    if (!folder.ok()) return folder.status();
    const Result<std::string> program = find_program(*folder + "/stretto-server", {});
    if (!program.ok()) return program.status();
    program_ = *program;
    if (const Status status = ask(); !status.ok()) miss_scheduler(status);
    while (!servers_.over()) turn();
    host_.finish(kServerKillPatience);
    while (!host_.drain()) relay_.flush(signals_);
    relay_.finish_lines();
    relay_.flush(signals_);
    return servers_.status();
  }

 private:
  // Requests all ranks without a decision.
  Status ask() {
    auto observer = observe::ObserverClient::connect(job_, [this] {
      go_on(Duration::zero());
      return servers_.waits();
    });
    if (!observer.ok()) return observer.status();
    observer_ = std::move(*observer);
    for (observe::ServerJoinRequest wish : servers_.wishes()) {
      wish.machine = machine_;
      observer_->ask_to_join(wish);
    }
    return {};
  }

  void turn() {
    if (servers_.waits()) listen(kTurn);
    const bool waits = servers_.waits();
    if (!waits && !servers_.ends()) observer_.reset();
    // The connection has no descriptor to poll; connect() has waited for it already.
    const Duration pause = observer_ == nullptr ? kAgain : Duration::zero();
    go_on(waits ? std::optional<Duration>(pause) : std::nullopt);
  }

  // Also handles output of processes, and signals.
  void go_on(std::optional<Duration> pause) {
    relay_.write();
    if (!servers_.over()) poller_.turn(pause);
    for (std::size_t stream = 0; stream < 2; ++stream) host_.pause(stream, relay_.full(stream));
  }

  void listen(Duration patience) {
    if (observer_ == nullptr) {
      if (const Status status = ask(); !status.ok()) return miss_scheduler(status);
    }
    Result<std::vector<observe::ServerJoinStatus>> news = observer_->join_news(patience);
    if (!news.ok()) {
      observer_.reset();
      if (!servers_.waits()) return;  // At most until the scheduler has received an exit.
      return miss_scheduler(news.status());
    }
    missed_since_.reset();
    for (const observe::ServerJoinStatus& one : *news) {
      if (one.server < kMostNumbers) react(servers_.take(one));
    }
  }

  // A scheduler may restart, and servers without its `Welcome` keep trying for longer than kMissed.
  void miss_scheduler(const Status& why) {
    const bool none_runs = servers_.running().empty();
    const Duration patience = none_runs ? kFirstTry : kMissed;
    const bool may_come = !none_runs || why.code() == Code::kSchedulerLost;
    if (may_come && !missed_since_) {
      missed_since_ = clock_.now();
      say(fmt::format("no scheduler answers ({}): another is awaited for {:.0f} s", why.cause(),
                      seconds(patience)));
    }
    if (may_come && clock_.now() - *missed_since_ < patience) return;
    servers_.give_up(why);
    for (const observe::ServerJoinRequest& wish : servers_.wishes()) {
      if (wish.server) react(servers_.refuse(*wish.server, why));
    }
  }

  void react(const ExternalServerTracker::Reaction& reaction) {
    for (const std::string& note : reaction.notes) say(note);
    for (const ExternalServerTracker::Start& start : reaction.starts) this->start(start);
    for (const Rank server : reaction.kills) {
      host_.signal({server, SIGKILL, SignalOrder::Scope::kGroup});
    }
  }

  void start(const ExternalServerTracker::Start& start) {
    const auto told = variables_in(start.settings);
    if (!told.ok()) return do_without(start.server, told.status());
    const auto given = variables_of_guest(wish_, start.server, *told, job_, inherited_);
    Status status = given.status();
    if (status.ok()) status = check_folder(*given);
    if (!status.ok()) return do_without(start.server, std::move(status));
    servers_.stand_by(value_of(*given, "STRETTO_REPLICAS") != "1");
    const Command command{.path = program_,
                          .arguments = {program_},
                          .given = *given,
                          .environment = merged(inherited_, *given)};
    said_.erase(start.server);
    if (!relay_.has(start.server)) relay_.open(start.server);
    host_.start(start.server, command, false);
  }

  void take_signals() {
    while (const std::optional<int> signal = signals_.next()) {
      if (*signal == SIGCHLD) {
        host_.reap_orphans();
        continue;
      }
      // SIGHUP after an earlier signal adds nothing; any other repeated signal counts.
      if (asked_ != 0 && *signal == SIGHUP) continue;
      const std::vector<Rank> running = servers_.running();
      if (++asked_ > kMostSignals) {
        for (const Rank server : running) {
          host_.signal({server, SIGKILL, SignalOrder::Scope::kGroup});
        }
        continue;
      }
      say(fmt::format("was sent {}{}", signal_name(*signal),
                      running.empty() ? "" : ": servers are asked to give their places away"));
      servers_.interrupt();
      for (const Rank server : running) {
        host_.signal({server, SIGTERM, SignalOrder::Scope::kProcess});
      }
    }
  }

  void hear(std::size_t member, std::string_view line) {
    if (auto said = statement_of(line, members_[member])) said_[member] = *std::move(said);
  }

  void say(std::string_view text) { relay_.line("[join] ", text); }

  void on_refused(std::size_t member, Status why) override {
    do_without(static_cast<Rank>(member), std::move(why));
  }
  void on_ready(std::string_view) override {}
  void on_output(std::size_t member, std::size_t stream, std::string_view bytes) override {
    relay_.take(member, stream, bytes);
  }
  void on_ended(std::size_t member, Exit exit) override {
    const auto server = static_cast<Rank>(member);
    const auto said = said_.find(member);
    react(servers_.end(server, exit,
                       said == said_.end() ? std::nullopt : std::optional(said->second)));
    tell_end(server);
  }

  // Rejects a server that was not started.
  void do_without(Rank server, Status why) {
    react(servers_.refuse(server, std::move(why), false));
    tell_end(server);
  }
  // Reports the exit, so that the scheduler frees the rank immediately.
  void tell_end(Rank server) {
    if (observer_ == nullptr) return;
    observer_->tell_end(server);
    listen(kLastWord);
  }

  const ServerJoin& wish_;
  const observe::Target& job_;
  const Variables& inherited_;
  const std::uint64_t machine_;
  const std::vector<JobMember> members_;  // By member id.
  Signals signals_;
  Poller poller_;
  OutputRelay relay_;
  const Clock& clock_;
  LocalHost host_;
  ExternalServerTracker servers_;
  std::optional<Time> missed_since_;  // The scheduler is unreachable since then.
  int asked_ = 0;                     // Signals received that ask the servers to leave.
  std::unique_ptr<observe::ObserverClient> observer_;
  std::string program_;
  std::map<std::size_t, ErrorLine> said_;  // Last error lines, by member.
};

}  // namespace

Status run_servers(const ServerJoin& wish, const observe::Target& job, const Variables& inherited,
                   std::uint64_t machine, const Clock& clock) {
  JoiningHost host(wish, job, inherited, machine, clock);
  return host.run();
}

}  // namespace stretto::launch
