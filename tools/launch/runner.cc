// SPDX-License-Identifier: Apache-2.0
// The loop, and the hands of the supervisor.
#include "tools/launch/runner.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "tools/launch/agent.h"
#include "tools/launch/system.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kMaxSignalsATurn = 64;
constexpr std::string_view kOwnPrefix = "[launcher] ";
constexpr Duration kFarPatience = 5s;  // For an agent to be heard, besides what the kernel takes.
constexpr Duration kKeepEvery = 30s;   // For the job file.
constexpr int kCannotExecuteStatus = 127;

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Runner::Runner(const Plan& plan, const Ingredients& ingredients, const Clock& clock)
    : plan_(plan),
      ingredients_(ingredients),
      placement_(ingredients.placement),
      clock_(clock),
      members_(members_of(plan)),
      supervisor_(members_, plan.limits, clock.now()),
      here_(poller_, *this, signals_.before()),
      outputs_(members_.size()) {
  sinks_.reserve(2);
  sinks_.emplace_back(STDOUT_FILENO);
  // One queue for one file, or the end of a line could meet the start of another.
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) sinks_.emplace_back(STDERR_FILENO);
  sink_watched_.resize(sinks_.size());
}

int Runner::run() {
  Status status = prepare();
  if (status.ok()) status = gather();
  if (!status.ok()) {
    sink_of(1).line({}, std::move(status).with_operation("start").error_line("launcher", -1));
    flush();
    return 1;
  }
  begin_if_all_are_here();
  while (!supervisor_.over()) turn();
  finish();
  const Verdict verdict = supervisor_.verdict();
  if (!verdict.error.ok()) {
    const std::string_view role = verdict.who ? name_of(verdict.who->role) : "launcher";
    const std::int64_t rank = verdict.who ? std::int64_t{verdict.who->rank} : -1;
    sink_of(1).line({}, verdict.error.error_line(role, rank));
  }
  flush();
  return verdict.exit_status;
}

Status Runner::prepare() {
  if (Status status = require_descriptors(plan_, raise_descriptor_limit()); !status.ok()) {
    return status;
  }
  if (!plan_.log_directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(plan_.log_directory, error);
    if (error) {
      return {Code::kInvalidArgument, fmt::format("cannot create the log directory '{}': {}",
                                                  plan_.log_directory, error.message())};
    }
  }
  if (!poller_.is_open() ||
      !poller_.watch(signals_.descriptor(), EPOLLIN, [this] { take_signals(); })) {
    return {Code::kResource, fmt::format("no epoll or signalfd: {}", ::strerror(errno))};
  }
  if (placement_.via == Via::kLocal) {
    if (const std::string note = allocation_note(ingredients_.inherited); !note.empty()) say(note);
  }
  return {};
}

// Has agents started on all hosts that take part. Before any process is: a host that cannot be
// reached is then a sentence, and not a job that waits.
Status Runner::gather() {
  FarEvents& events = *this;
  for (std::size_t site = 0; site < placement_.sites.size(); ++site) {
    const bool wanted = site > 0 && !placement_.members_at(site).empty();
    far_.push_back(wanted ? std::make_unique<FarHost>(poller_, events, clock_,
                                                      placement_.sites[site].name,
                                                      ingredients_.directory)
                          : nullptr);
  }
  if (placement_.via == Via::kMpi) return gather_by_mpirun(signals_.before());
  if (placement_.via == Via::kSlurm) {
    say(fmt::format("{} nodes of Slurm's allocation take part", placement_.sites.size() - 1));
  }
  for (std::size_t site = 1; site < far_.size(); ++site) {
    if (!far_[site]) continue;
    const Result<Command> carrier =
        carrier_of(plan_, placement_, site, ingredients_.programs, ingredients_.inherited);
    if (!carrier.ok()) return carrier.status();
    if (Status status = far_[site]->open(*carrier, signals_.before()); !status.ok()) return status;
    here_.except(far_[site]->carrier_id());
  }
  return {};
}

Status Runner::gather_by_mpirun(const SignalState& signals) {
  Result<Command> mpirun =
      mpirun_of(plan_, placement_, ingredients_.programs, ingredients_.inherited);
  if (!mpirun.ok()) return mpirun.status();
  const Result<std::string> secret = job_token({});
  if (!secret.ok()) return secret.status();
  const bool one_host = mpirun_stays_here(plan_, ingredients_.inherited, is_this_host);
  gate_ = std::make_unique<Gate>(poller_, *secret);
  if (Status status = gate_->open(one_host); !status.ok()) return status;
  mpirun->environment[kLaunchSecret] = *secret;
  mpirun->environment[kLaunchAddresses] =
      addresses_to_come_to(plan_.interface, interface_addresses(), one_host, gate_->port());
  starter_ = std::make_unique<Carrier>(
      poller_, [this](std::string_view line) { sink_of(1).line("[mpirun] ", line); },
      [this] { take_starter_end(); });
  if (Status status = starter_->start(*mpirun, signals, false); !status.ok()) return status;
  here_.except(starter_->process_id());
  return {};
}

void Runner::take_arrivals() {
  if (!gate_) return;
  for (Gate::Arrival& arrival : gate_->take_arrivals()) {
    const std::int64_t site = arrival.hello.rank + 1;
    const bool expected = site > 0 && site < static_cast<std::int64_t>(far_.size()) &&
                          far_[static_cast<std::size_t>(site)]->coming();
    if (expected) {
      far_[static_cast<std::size_t>(site)]->adopt(std::move(arrival.link), arrival.hello);
    } else {
      say(fmt::format("warning: an agent came as rank {}, which is not waited for",
                      arrival.hello.rank));
    }
  }
}

// Ranks that have come would go on without it; they are not left to.
void Runner::take_starter_end() {
  if (finishing_) return;
  const std::string words =
      starter_->last_words().empty() ? "" : fmt::format(": {}", starter_->last_words());
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (!host) continue;
    host->give_up({Code::kNetwork, fmt::format("mpirun {}{}", starter_->exit()->text(), words)});
  }
}

void Runner::begin_if_all_are_here() {
  if (!gathering_ || finishing_) return;
  std::vector<Hello> hellos(1);
  hellos[0].host = host_name();
  hellos[0].interfaces = interface_addresses();
  for (std::size_t site = 1; site < far_.size(); ++site) {
    if (far_[site] && !far_[site]->here()) return;
    hellos.push_back(far_[site] ? far_[site]->hello() : Hello{});
  }
  gathering_ = false;
  gate_.reset();
  Result<Meeting> meeting = meet(plan_, placement_, hellos);
  if (!meeting.ok()) {
    react(supervisor_.on_never_ready(meeting.status(), clock_.now()));
    return;
  }
  meeting_ = std::move(*meeting);
  local_ranks_ = local_ranks(members_, placement_, meeting_.machines);
  scheduler_.host = meeting_.scheduler_host;
  start(0);
}

void Runner::turn() {
  poller_.turn(patience());
  take_arrivals();
  look_at_time();
  if (!ended_.empty() || children_changed_) {
    children_changed_ = false;
    here_.reap_orphans();
    std::size_t orphans = here_.orphans();
    for (const std::unique_ptr<FarHost>& host : far_) orphans += host ? host->orphans() : 0;
    // All that is seen in one look: the supervisor compares ends.
    react(supervisor_.on_ended(std::exchange(ended_, {}), orphans, clock_.now()));
  }
  react(supervisor_.on_time(clock_.now()));
  balance();
}

std::optional<Duration> Runner::patience() const {
  Time next = supervisor_.over() ? Time::max() : supervisor_.deadline().value_or(Time::max());
  next = std::min(next, next_keep_);
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (!host) continue;
    next = std::min(next, host->deadline().value_or(Time::max()));
    next = std::min(next, host->next_look(supervisor_.silence_limit()).value_or(Time::max()));
  }
  if (next == Time::max()) return std::nullopt;
  return next - clock_.now();
}

// A host that does not answer is named, where the supervisor would only miss the scheduler.
void Runner::look_at_time() {
  const Time now = clock_.now();
  if (now >= next_keep_) {
    job_file_.keep();
    next_keep_ = now + kKeepEvery;
  }
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (host) host->on_time(now);
    if (host) host->give_up_if_silent(now, supervisor_.silence_limit());
  }
  const bool late = gathering_ && supervisor_.deadline() && now >= *supervisor_.deadline();
  if (!late || finishing_) return;
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (!host || !host->coming()) continue;
    host->give_up({Code::kRendezvousTimeout,
                   fmt::format("{} did not answer within {} s", host->name(),
                               std::chrono::duration<double>(plan_.limits.start).count())});
    return;
  }
}

void Runner::take_signals() {
  for (std::size_t i = 0; i < kMaxSignalsATurn; ++i) {
    const std::optional<int> signal = signals_.next();
    if (!signal) return;
    if (*signal == SIGCHLD) {
      children_changed_ = true;
    } else if (finishing_) {
      for (Sink& sink : sinks_) sink.discard();  // Nobody wants to wait for it any more.
    } else {
      react(supervisor_.on_signal(*signal, clock_.now()));
    }
  }
}

void Runner::on_refused(std::size_t member, Status why) {
  const int exit_status = why.code() == Code::kInvalidArgument ? kCannotExecuteStatus : 1;
  react(supervisor_.on_refused(member, exit_status, std::move(why), clock_.now()));
}

void Runner::on_ready(std::string_view text) {
  // If it has ended, its status says more than its silence; if not, the deadline will come.
  if (text.empty() || finishing_) return;
  const std::size_t end = text.find('\n');
  if (scheduler_.port != 0) {  // It has said where it listens.
    const std::optional<Gathering> gathering = gathering_named(text.substr(0, end));
    if (gathering) react(supervisor_.on_gathering(*gathering, clock_.now()));
    return;
  }
  const Result<HostPort> address = parse_host_port(text.substr(0, end));
  if (!address.ok() || end == std::string_view::npos || address->port == 0) {
    react(supervisor_.on_never_ready(
        {Code::kMalformed,
         fmt::format("said '{}' where host:port and a line's end was wanted", text)},
        clock_.now()));
    return;
  }
  scheduler_ = *address;
  write_job_file();
  supervisor_.on_ready();
  if (supervisor_.may_start_others()) start_others();
}

void Runner::on_output(std::size_t member, std::size_t stream, std::string_view bytes) {
  if (member >= outputs_.size() || !outputs_[member]) return;
  outputs_[member]->lines[stream].feed(
      bytes, [&](std::string_view line) { pass_on(member, stream, line); });
  outputs_[member]->log.flush();
}

void Runner::on_ended(std::size_t member, Exit exit) {
  if (member < members_.size() && outputs_[member] && !finishing_) {
    ended_.push_back({member, exit});
  }
}

void Runner::on_here(FarHost&) { begin_if_all_are_here(); }

void Runner::on_lost(FarHost& host, Status why) {
  if (finishing_) {
    say(fmt::format("warning: {}", why.cause()));
    return;
  }
  // Whoever is told twice to have ended is not here any more.
  const std::vector<std::size_t> lost = placement_.members_at(site_of(host));
  std::vector<Ended> known;
  for (const Ended& one : std::exchange(ended_, {})) known.push_back(one);
  if (!known.empty()) react(supervisor_.on_ended(known, here_.orphans(), clock_.now()));
  react(supervisor_.on_host_lost(lost, std::move(why), host.lost_since(), clock_.now()));
}

void Runner::on_signalled(FarHost& host, int signal) {
  if (finishing_) return;
  say(fmt::format("{} was sent {}", host.name(), signal_name(signal)));
  react(supervisor_.on_notice(signal, clock_.now()));
}

void Runner::on_note(const FarHost& host, std::string_view line) {
  sink_of(1).line(fmt::format("[{}] ", host.name()), line);
}

void Runner::pass_on(std::size_t member, std::size_t stream, std::string_view line) {
  Output& output = *outputs_[member];
  sink_of(stream).line(output.prefix, line);
  if (std::optional<Statement> said = statement_of(line, members_[member])) {
    react(supervisor_.on_statement(member, std::move(*said), clock_.now()));
  }
  if (!output.log.is_open()) return;
  output.log << line << '\n';
  if (output.log.good()) return;
  output.log.close();
  say(fmt::format("warning: cannot write the log of {} any more", label_of(members_[member])));
}

void Runner::start(std::size_t member) {
  const std::size_t site = placement_.site_of[member];
  outputs_[member] = std::make_unique<Output>();
  outputs_[member]->prefix = fmt::format("[{}] ", label_of(members_[member]));
  open_log(member);
  const bool alone = placement_.only_here();
  const std::string bind_host = member == 0 ? meeting_.scheduler_host : meeting_.bind_hosts[site];
  const Seat seat{alone ? "" : bind_host, local_ranks_[member].rank, local_ranks_[member].size};
  const Rendezvous rendezvous{scheduler_, ingredients_.token, meeting_.master_host};
  const Command command =
      command_of(plan_, members_[member], ingredients_.programs, rendezvous, seat,
                 site == 0 ? ingredients_.inherited : portable(ingredients_.inherited));
  supervisor_.on_spawned(member);
  host_of(member).start(member, command, member == 0);
}

void Runner::start_others() {
  for (std::size_t member = 1; member < members_.size() && supervisor_.may_start_others();
       ++member) {
    start(member);
  }
}

// A job that stretto-top does not find by itself is as good as any.
void Runner::write_job_file() {
  const Environment environment = [this](const std::string& name) -> std::optional<std::string> {
    const std::string value = value_of(ingredients_.inherited, name);
    return value.empty() ? std::nullopt : std::optional(value);
  };
  const KnownJob job = known_job(plan_, scheduler_, ingredients_.token, std::time(nullptr));
  const Status status = job_file_.write(job, job_folders(environment));
  next_keep_ = clock_.now() + kKeepEvery;
  if (!status.ok()) {
    say(fmt::format("warning: stretto-top will want the address and token of this job: {}",
                    status.cause()));
  }
}

void Runner::open_log(std::size_t member) {
  if (plan_.log_directory.empty()) return;
  const std::string path = fmt::format("{}/{}-{}.log", plan_.log_directory,
                                       name_of(members_[member].role), members_[member].rank);
  outputs_[member]->log.open(path, std::ios::binary | std::ios::trunc);
  if (!outputs_[member]->log.is_open()) {
    say(fmt::format("warning: cannot write '{}': {}", path, ::strerror(errno)));
  }
}

void Runner::react(const Reaction& reaction) {
  for (const std::string& note : reaction.notes) say(note);
  for (const Order& order : reaction.orders) host_of(order.member).signal(order);
}

void Runner::say(std::string_view text) { sink_of(1).line(kOwnPrefix, text); }

Host& Runner::host_of(std::size_t member) {
  const std::size_t site = placement_.site_of[member];
  if (site == 0) return here_;
  return *far_[site];
}

std::size_t Runner::site_of(const FarHost& host) const {
  std::size_t site = 0;
  while (far_[site].get() != &host) ++site;
  return site;
}

// Writes what goes, and leaves output in the pipes of processes while its reader does not keep up:
// they wait then, and the launcher does not.
void Runner::balance() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    sinks_[i].write();
    const bool wanted = !sinks_[i].drained();
    if (wanted == sink_watched_[i]) continue;
    if (wanted) poller_.watch(sinks_[i].descriptor(), EPOLLOUT, [] {});  // Written each turn.
    if (!wanted) poller_.unwatch(sinks_[i].descriptor());
    sink_watched_[i] = wanted;
  }
  for (std::size_t stream = 0; stream < 2; ++stream) {
    const bool full = sink_of(stream).full();
    here_.pause(stream, full);
    for (const std::unique_ptr<FarHost>& host : far_) {
      if (host) host->pause(stream, full);
    }
  }
}

void Runner::finish() {
  finishing_ = true;
  job_file_.remove();
  next_keep_ = Time::max();
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (!host) continue;
    if (starter_ && !host->here()) starter_->terminate();  // It would wait for that rank.
    host->finish(plan_.limits.reap);
  }
  std::size_t left = here_.finish(clock_, plan_.limits.reap);
  while (!here_.drain()) {
    flush();
    balance();
  }
  wait_for_far_hosts();
  for (const std::unique_ptr<FarHost>& host : far_) left += host ? host->left() : 0;
  for (std::size_t member = 0; member < outputs_.size(); ++member) {
    if (!outputs_[member]) continue;
    for (std::size_t stream = 0; stream < 2; ++stream) {
      outputs_[member]->lines[stream].finish(
          [&](std::string_view line) { pass_on(member, stream, line); });
    }
    outputs_[member]->log.flush();
  }
  if (left > 0) say(fmt::format("warning: the kernel does not end {} orphaned processes", left));
}

// Their output may be more than its reader takes at once; only silence has a limit.
void Runner::wait_for_far_hosts() {
  const auto over = [this] {
    return std::all_of(far_.begin(), far_.end(),
                       [](const auto& host) { return !host || host->over(); }) &&
           !(starter_ && starter_->running());
  };
  Time until = clock_.now() + plan_.limits.reap + kFarPatience;
  while (!over()) {
    const bool blocked =
        std::any_of(sinks_.begin(), sinks_.end(), [](const Sink& sink) { return sink.full(); });
    if (blocked) until = clock_.now() + plan_.limits.reap + kFarPatience;
    const Time now = clock_.now();
    if (now >= until) break;
    const Duration left = std::min(until - now, patience().value_or(until - now));
    poller_.turn(blocked ? std::nullopt : std::optional<Duration>(left));
    for (const std::unique_ptr<FarHost>& host : far_) {
      if (host) host->on_time(clock_.now());
    }
    balance();
  }
  for (const std::unique_ptr<FarHost>& host : far_) {
    if (!host || host->over()) continue;
    host->give_up({Code::kTimeout,
                   fmt::format("{} does not say that its processes have ended", host->name())});
  }
}

// Waits for the readers as long as they take; a signal ends the wait, and the exit status is kept.
void Runner::flush() {
  while (true) {
    std::vector<pollfd> looks{{signals_.descriptor(), POLLIN, 0}};
    for (Sink& sink : sinks_) {
      sink.write();
      if (!sink.drained()) looks.push_back({sink.descriptor(), POLLOUT, 0});
    }
    if (looks.size() == 1) return;
    ::poll(looks.data(), looks.size(), -1);
    const std::optional<int> signal = signals_.next();
    if (!signal || *signal == SIGCHLD) continue;
    for (Sink& sink : sinks_) sink.discard();
  }
}

}  // namespace stretto::launch
