// SPDX-License-Identifier: Apache-2.0
// A LocalHost whose orders arrive in frames and whose events leave in frames.
#include "tools/launch/remote/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>

#include "common/build_version.h"
#include "tools/launch/process/local_host.h"
#include "tools/launch/process/signals.h"
#include "tools/launch/process/slurm_signals.h"
#include "tools/launch/process/system.h"
#include "tools/launch/remote/admission.h"
#include "tools/launch/remote/agent_link.h"
#include "tools/launch/remote/agent_listener.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using Kind = AgentFrame::Kind;

constexpr int kRetryMilliseconds = 200;  // Between two attempts to reach node 0.
constexpr Duration kConnectPatience = 10s;
constexpr Duration kAdmissionPatience = 30s;  // For the launcher to prove that it knows the secret.
constexpr Duration kKillPatience = 5s;        // For the kernel, once the launcher is gone.

// True if the parent process is the daemon of a Slurm step. SLURM_STEP_ID is no proof: a rank of an
// mpirun inside srun inherits it.
bool is_task_of_slurm(const Variables& environment) {
  if (value_of(environment, "SLURM_STEP_ID").empty()) return false;
  std::ifstream file(fmt::format("/proc/{}/comm", ::getppid()));
  std::string name;
  return std::getline(file, name) && name.starts_with("slurmstepd");
}

/// Thread: loop.
class HostAgent final : public HostEvents {
 public:
  HostAgent(const Variables& environment, const Clock& clock)
      : environment_(environment), clock_(clock), host_(poller_, *this, signals_.before(), clock) {
    if (is_task_of_slurm(environment)) notices_.emplace();
    environment_.erase(kLaunchAddresses);
    environment_.erase(kLaunchSecret);
  }

  /// The launcher has finished this agent normally.
  bool was_let_go() const { return finished_; }
  /// Why the connection to the launcher ended; ok if the launcher closed it.
  const Status& link_error() const { return link_error_; }

  // A socket has passed admission and greeting already.
  int run(Descriptor in, Descriptor out, const AgentHello& hello) {
    const bool is_socket = !out.is_open();
    link_ = std::make_unique<AgentLink>(poller_, std::move(in), std::move(out), true);
    const bool watched = link_->start([this](const AgentFrame& frame) { take(frame); },
                                      [this](const Status& why) { link_error_ = why; }) &&
                         poller_.watch(signals_.descriptor(), EPOLLIN, [this] { take_signals(); });
    if (!watched) return 1;
    if (!is_socket) link_->send_bytes(kGreeting);
    link_->send(frame_of(hello));
    while (link_->is_open() && !(finished_ && link_->sent())) {
      poller_.turn(patience());
      show_life();
      if (notices_) {
        for (const SignalOrder& order : notices_->take_due(clock_.now())) host_.signal(order);
      }
      if (finishing_ && !finished_ && host_.drain()) {
        link_->send({Kind::kFinished, 0, 0, static_cast<std::int64_t>(left_), {}});
        finished_ = true;
      }
    }
    if (finished_) return failed_ ? 1 : 0;
    host_.finish(kKillPatience);
    return 1;
  }

  void on_refused(std::size_t member, Status why) override {
    send(Kind::kRefused, member, static_cast<std::int64_t>(why.code()), {why.cause()});
  }
  void on_ready(std::string_view text) override { send(Kind::kReady, 0, 0, {std::string(text)}); }
  void on_output(std::size_t member, std::size_t stream, std::string_view bytes) override {
    credit_ -= static_cast<std::int64_t>(bytes.size());
    send(Kind::kOutput, member, 0, {std::string(bytes)}, static_cast<std::uint8_t>(stream));
    balance();
  }
  void on_ended(std::size_t member, Exit exit) override {
    tell_orphans();
    send(Kind::kEnded, member, exit.number, {}, how(exit));
  }

 private:
  static std::uint8_t how(const Exit& exit) {
    if (!exit.by_signal) return kEndedByItself;
    return exit.for_memory ? kEndedForMemory : kEndedBySignal;
  }

  void send(Kind kind, std::size_t member, std::int64_t number, std::vector<std::string> texts,
            std::uint8_t detail = 0) {
    link_->send({kind, detail, static_cast<std::uint32_t>(member), number, std::move(texts)});
  }

  void take(const AgentFrame& frame) {
    switch (frame.kind) {
      case Kind::kStart:
        start(frame);
        return;
      case Kind::kSignal:
        pass_on({frame.member, static_cast<int>(frame.number),
                 static_cast<SignalOrder::Scope>(frame.detail)});
        return;
      case Kind::kCredit:
        credit_ += frame.number;
        balance();
        return;
      case Kind::kLook:
        look(frame);
        return;
      case Kind::kReach:
        send(Kind::kReached, 0, 0, try_to_reach(frame.texts, kReachPatience, clock_));
        return;
      case Kind::kTell:
        if (!frame.texts.empty()) host_.tell(frame.texts[0]);
        return;
      case Kind::kFinish:
        left_ = host_.finish(std::chrono::milliseconds(frame.number));
        failed_ = frame.detail != 0;
        finishing_ = true;
        return;
      default:  // Frames only agents send; only our launcher can write to us.
        return;
    }
  }

  void pass_on(const SignalOrder& order) {
    if (!notices_ || notices_->may_go(order, clock_.now())) host_.signal(order);
  }

  // Unsent frames serve the same purpose.
  void show_life() {
    const Time now = clock_.now();
    if (now < alive_due_) return;
    alive_due_ = now + kAliveEvery;
    if (link_->sent() && !finished_) send(Kind::kAlive, 0, 0, {});
  }

  Duration patience() const {
    const std::optional<Time> due = notices_ ? notices_->due() : std::nullopt;
    return std::max(std::min(due.value_or(alive_due_), alive_due_) - clock_.now(),
                    Duration::zero());
  }

  void start(const AgentFrame& frame) {
    constexpr std::size_t kBefore = 2;  // Directory and path.
    const auto count = static_cast<std::size_t>(frame.number);
    if (frame.number < 1 || frame.texts.size() < kBefore + count) return;
    if (Status status = enter(frame.texts[0]); !status.ok()) {
      on_refused(frame.member, std::move(status));
      return;
    }
    Command command;
    const auto arguments = frame.texts.begin() + kBefore;
    command.arguments.assign(arguments, arguments + frame.number);
    Variables given;
    for (auto text = arguments + frame.number; text != frame.texts.end(); ++text) {
      const std::size_t equals = text->find('=', 1);
      if (equals != std::string::npos) given[text->substr(0, equals)] = text->substr(equals + 1);
    }
    command.environment = merged(environment_, given);
    Result<std::string> path = find_program(frame.texts[1], value_of(command.environment, "PATH"));
    if (!path.ok()) {
      on_refused(frame.member, path.status());
      return;
    }
    command.path = *path;
    host_.start(frame.member, command, frame.detail != 0);
  }

  // Relative paths start at the caller's working directory. The launcher adds this host's name as
  // its caller typed it.
  static Status enter(const std::string& directory) {
    if (::chdir(directory.c_str()) == 0) return {};
    return {Code::kInvalidArgument,
            fmt::format("no folder {} ({}); share it with that host, or say with --chdir where to "
                        "run",
                        directory, ::strerror(errno))};
  }

  void look(const AgentFrame& frame) {
    if (frame.texts.size() < 2) return;
    const Status status = enter(frame.texts[0]);
    std::vector<std::string> problems{status.ok() ? "" : status.cause()};
    for (std::size_t i = 2; i < frame.texts.size(); ++i) {
      const Result<std::string> path = find_program(frame.texts[i], frame.texts[1]);
      problems.push_back(path.ok() ? "" : path.status().cause());
    }
    Result<OpenPort> opened = open_port_to_all(static_cast<std::uint16_t>(frame.number));
    if (opened.ok()) open_port_ = std::move(*opened);
    problems.push_back(opened.ok() ? "" : opened.status().cause());
    send(Kind::kFound, 0, open_port_.port, std::move(problems));
  }

  void take_signals() {
    while (const std::optional<int> signal = signals_.next()) {
      if (*signal == SIGCHLD) {
        tell_orphans();
        continue;
      }
      // A signal from the parent, the daemon of the step, goes to the whole step.
      if (notices_ && signals_.sender() == ::getppid()) notices_->came(*signal, clock_.now());
      send(Kind::kSignalled, 0, *signal, {});
    }
  }

  void tell_orphans() {
    if (host_.reap_orphans()) {
      send(Kind::kOrphans, 0, static_cast<std::int64_t>(host_.orphans()), {});
    }
  }

  void balance() {
    for (std::size_t stream = 0; stream < 2; ++stream) host_.pause(stream, credit_ <= 0);
  }

  Variables environment_;
  const Clock& clock_;
  Signals signals_;
  Poller poller_;
  LocalHost host_;
  std::unique_ptr<AgentLink> link_;
  OpenPort open_port_;                        // For connection tests of other hosts.
  std::optional<SlurmSignalFilter> notices_;  // Set in a Slurm step.
  Status link_error_;
  std::int64_t credit_ = kOutputWindow;
  Time alive_due_ = {};
  std::size_t left_ = 0;
  bool finishing_ = false;
  bool finished_ = false;
  bool failed_ = false;  // The job has failed.
};

// The word at `index` of those separated by spaces.
std::string word_of(const std::string& text, std::size_t index) {
  std::size_t start = 0;
  for (; index > 0; --index) {
    start = text.find(' ', start);
    if (start == std::string::npos) return {};
    ++start;
  }
  return text.substr(start, text.find(' ', start) - start);
}

}  // namespace

AgentHello hello_from(const Variables& environment, std::string host,
                      std::vector<std::string> interfaces) {
  AgentHello hello;
  hello.version = build_version();
  hello.host = std::move(host);
  const bool has_secret = !value_of(environment, kLaunchSecret).empty();
  hello.interfaces = std::move(interfaces);
  if (!has_secret && value_of(environment, "SLURM_STEP_ID").empty()) {
    // "client port server port" of the connection that sshd has accepted. Slurm and mpirun pass on
    // that of their user's login.
    const std::string connection = value_of(environment, "SSH_CONNECTION");
    hello.launcher_address = word_of(connection, 0);
    hello.own_address = word_of(connection, 2);
  } else if (!has_secret) {
    hello.launcher_address = value_of(environment, "SLURM_LAUNCH_NODE_IPADDR");
  }
  if (!has_secret) return hello;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const std::string rank = value_of(environment, name);
    const char* end = rank.data() + rank.size();
    if (!rank.empty() && std::from_chars(rank.data(), end, hello.rank).ptr == end) break;
  }
  return hello;
}

int run_agent(const Variables& environment, const Clock& clock) {
  AgentHello hello = hello_from(environment, host_name(), interface_addresses());
  const std::string addresses = value_of(environment, kLaunchAddresses);
  if (addresses.empty()) {
    // Library output must not mix with frames: stdin and stdout become /dev/null.
    Descriptor in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    Descriptor out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(nothing.get(), STDOUT_FILENO);
    return HostAgent(environment, clock).run(std::move(in), std::move(out), hello);
  }
  Result<Descriptor> socket = knock(addresses, clock);
  if (!socket.ok()) {
    ::dprintf(STDERR_FILENO, "%s\n",
              Status(socket.status()).with_operation("start").error_line("agent", -1).c_str());
    return 1;
  }
  const Status admitted =
      admit_launcher(*socket, value_of(environment, kLaunchSecret), kAdmissionPatience, clock);
  if (!admitted.ok()) {
    const Status why(admitted.code(),
                     fmt::format("no launcher is at {}: {}", addresses, admitted.cause()));
    ::dprintf(STDERR_FILENO, "%s\n",
              Status(why).with_operation("start").error_line("agent", -1).c_str());
    return 1;
  }
  hello.launcher_address = far_address(*socket);
  return HostAgent(environment, clock).run(std::move(*socket), {}, hello);
}

int run_node(const Variables& environment, const HostPort& meeting_point, const std::string& secret,
             std::int64_t rank, Duration patience, const Clock& clock) {
  const auto complain = [](Status why) {
    ::dprintf(STDERR_FILENO, "%s\n",
              std::move(why).with_operation("start").error_line("launcher", -1).c_str());
    return 1;
  };
  const std::string at = meeting_point.text();
  Result<Descriptor> socket = connect_to(meeting_point, kConnectPatience, clock);
  for (const Time until = clock.now() + patience; !socket.ok() && clock.now() < until;) {
    ::poll(nullptr, 0, kRetryMilliseconds);
    socket = connect_to(meeting_point, kConnectPatience, clock);
  }
  if (!socket.ok()) {
    return complain({Code::kRendezvousTimeout,
                     fmt::format("the launcher of node 0 did not listen at {} within {:.0f} s; "
                                 "start it there with --node-rank 0 ({})",
                                 at, seconds(patience), socket.status().cause())});
  }
  const Status admitted = admit_launcher(*socket, secret, kAdmissionPatience, clock);
  if (!admitted.ok()) {
    return complain(
        {admitted.code(), fmt::format("the program that listens at {} did not show that it is the "
                                      "launcher of node 0, and nothing was started for it: {}; "
                                      "STRETTO_JOB_TOKEN must be the same on all hosts",
                                      at, admitted.cause())});
  }
  Variables named = environment;
  named[kLaunchSecret] = secret;
  AgentHello hello = hello_from(named, host_name(), interface_addresses());
  hello.rank = rank;
  hello.launcher_address = far_address(*socket);
  HostAgent agent(environment, clock);
  const int status = agent.run(std::move(*socket), {}, hello);
  if (agent.was_let_go()) return status;
  const Status& why = agent.link_error();
  return complain({Code::kNetwork,
                   fmt::format("the launcher of node 0 at {} ended, or did not admit this node{}: "
                               "--nnodes must be the same on all hosts",
                               at, why.ok() ? "" : fmt::format(" ({})", why.cause()))});
}

}  // namespace stretto::launch
