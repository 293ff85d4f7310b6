// SPDX-License-Identifier: Apache-2.0
// The loop, and the hands of the supervisor.
#include "tools/launch/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tools/launch/system.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMaxReadyBytes = 256;
constexpr std::size_t kMaxSignalsATurn = 64;
constexpr std::string_view kOwnPrefix = "[launcher] ";

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
      clock_(clock),
      members_(members_of(plan)),
      supervisor_(members_, plan.limits, clock.now()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      processes_(members_.size()) {
  sinks_.reserve(2);
  sinks_.emplace_back(STDOUT_FILENO);
  // One queue for one file, or the end of a line could meet the start of another.
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) sinks_.emplace_back(STDERR_FILENO);
  sink_watched_.resize(sinks_.size());
}

int Runner::run() {
  Status status = prepare();
  if (!status.ok()) {
    sink_of(1).line({}, std::move(status).with_operation("start").error_line("launcher", -1));
    flush();
    return 1;
  }
  if (const std::string note = allocation_note(ingredients_.inherited); !note.empty()) say(note);
  start(0);
  while (!supervisor_.over()) turn();
  finish();
  const Verdict verdict = supervisor_.verdict();
  if (!verdict.error.ok()) {
    const std::string role(name_of(verdict.who.role));
    sink_of(1).line({}, verdict.error.error_line(role, verdict.who.rank));
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
  if (!epoll_.open() || !watch(signals_.descriptor(), EPOLLIN, Source::kSignals, 0)) {
    return {Code::kResource, fmt::format("no epoll or signalfd: {}", ::strerror(errno))};
  }
  return {};
}

void Runner::turn() {
  const std::vector<epoll_event> events = wait();
  std::vector<Ended> ended;
  for (const epoll_event& event : events) {
    handle(static_cast<Source>(event.data.u64 >> 32),
           static_cast<std::size_t>(event.data.u64 & 0xffffffff), ended);
  }
  if (!ended.empty() || children_changed_) {
    children_changed_ = false;
    react(supervisor_.on_ended(ended, orphans_.reap(), clock_.now()));
  }
  react(supervisor_.on_time(clock_.now()));
  balance();
}

// All that is ready now: the supervisor compares ends that are seen together.
std::vector<epoll_event> Runner::wait() const {
  std::int64_t milliseconds = -1;
  if (const std::optional<Time> deadline = supervisor_.deadline()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - clock_.now());
    milliseconds = std::clamp<std::int64_t>(left.count(), 0, 86'400'000);
  }
  std::vector<epoll_event> events(4 * members_.size() + 4);
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(milliseconds));
  events.resize(static_cast<std::size_t>(std::max(count, 0)));
  return events;
}

void Runner::handle(Source source, std::size_t index, std::vector<Ended>& ended) {
  switch (source) {
    case Source::kSignals:
      take_signals();
      return;
    case Source::kReady:
      take_ready();
      return;
    case Source::kEnd:
      take_end(index, ended);
      return;
    case Source::kOutput:
      take_output(index, 0);
      return;
    case Source::kErrors:
      take_output(index, 1);
      return;
    case Source::kSink:  // Written to at the end of each turn.
      return;
  }
}

void Runner::take_signals() {
  for (std::size_t i = 0; i < kMaxSignalsATurn; ++i) {
    const std::optional<int> signal = signals_.next();
    if (!signal) return;
    if (*signal == SIGCHLD) {
      children_changed_ = true;
    } else {
      react(supervisor_.on_signal(*signal, clock_.now()));
    }
  }
}

void Runner::take_ready() {
  std::array<char, kMaxReadyBytes> bytes{};
  const ssize_t got = ::read(ready_.get(), bytes.data(), bytes.size());
  if (got < 0) return;
  ready_text_.append(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t end = ready_text_.find('\n');
  if (end == std::string::npos && got > 0 && ready_text_.size() < kMaxReadyBytes) return;
  unwatch(ready_.get());
  ready_.close();
  // If it has ended, its status says more than its silence; if not, the deadline will come.
  if (ready_text_.empty()) return;
  const Result<HostPort> address = parse_host_port(ready_text_.substr(0, end));
  if (!address.ok() || end == std::string::npos || address->port == 0) {
    react(supervisor_.on_never_ready(
        {Code::kMalformed,
         fmt::format("said '{}' where host:port and a line's end was wanted", ready_text_)},
        clock_.now()));
    return;
  }
  scheduler_ = *address;
  supervisor_.on_ready();
  if (supervisor_.may_start_others()) start_others();
}

void Runner::take_end(std::size_t index, std::vector<Ended>& ended) {
  Process& process = *processes_[index];
  const std::optional<Exit> exit = exit_of(process.child);
  if (!exit) return;
  unwatch(process.child.handle.get());
  ended.push_back({index, *exit});
}

bool Runner::take_output(std::size_t index, std::size_t stream) {
  Process& process = *processes_[index];
  Stream& from = process.streams[stream];
  if (!from.descriptor.open()) return false;
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::read(from.descriptor.get(), bytes.data(), bytes.size());
  if (got < 0) return false;
  if (got == 0) {
    if (from.watched) unwatch(from.descriptor.get());
    from.watched = false;
    from.descriptor.close();
    return false;
  }
  from.lines.feed({bytes.data(), static_cast<std::size_t>(got)},
                  [&](std::string_view line) { pass_on(process, stream, line); });
  process.log.flush();
  return true;
}

void Runner::pass_on(Process& process, std::size_t stream, std::string_view line) {
  sink_of(stream).line(process.prefix, line);
  if (!process.log.is_open()) return;
  process.log << line << '\n';
  if (process.log.good()) return;
  process.log.close();
  say(fmt::format("warning: cannot write the log of {} any more", label_of(process.member)));
}

bool Runner::start(std::size_t member) {
  auto process = std::make_unique<Process>();
  process->member = members_[member];
  process->prefix = fmt::format("[{}] ", label_of(members_[member]));
  open_log(*process);
  Descriptor told;
  if (member == 0) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
      ready_ = Descriptor(ends[0]);
      told = Descriptor(ends[1]);
    }
  }
  const Command command = command_of(plan_, members_[member], ingredients_.programs,
                                     {scheduler_, ingredients_.token}, ingredients_.inherited);
  Result<Child> child = spawn(command, told.get(), signals_.before());
  if (!child.ok()) {
    const Status why = child.status();
    const int exit_status = why.code() == Code::kInvalidArgument ? 127 : 1;
    react(supervisor_.on_refused(member, exit_status, why, clock_.now()));
    return false;
  }
  process->child = std::move(*child);
  process->streams[0].descriptor = std::move(process->child.output);
  process->streams[1].descriptor = std::move(process->child.errors);
  orphans_.except(process->child.process_id);
  supervisor_.on_spawned(member);
  const int handle = process->child.handle.get();
  processes_[member] = std::move(process);
  if (member == 0) watch(ready_.get(), EPOLLIN, Source::kReady, 0);
  if (watch(handle, EPOLLIN, Source::kEnd, member)) return true;
  const Status why(Code::kResource, fmt::format("cannot be watched: {}", ::strerror(errno)));
  react(supervisor_.on_refused(member, 1, why, clock_.now()));
  return false;
}

void Runner::start_others() {
  for (std::size_t member = 1; member < members_.size(); ++member) {
    if (!start(member)) return;
  }
}

void Runner::open_log(Process& process) {
  if (plan_.log_directory.empty()) return;
  const std::string path = fmt::format("{}/{}-{}.log", plan_.log_directory,
                                       name_of(process.member.role), process.member.rank);
  process.log.open(path, std::ios::binary | std::ios::trunc);
  if (!process.log.is_open()) {
    say(fmt::format("warning: cannot write '{}': {}", path, ::strerror(errno)));
  }
}

void Runner::react(const Reaction& reaction) {
  for (const std::string& note : reaction.notes) say(note);
  for (const Order& order : reaction.orders) {
    send_signal(processes_[order.member]->child, order.signal, order.scope);
  }
}

void Runner::say(std::string_view text) { sink_of(1).line(kOwnPrefix, text); }

bool Runner::watch(int descriptor, std::uint32_t events, Source source, std::size_t index) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{static_cast<std::uint32_t>(source)} << 32) | index;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Runner::unwatch(int descriptor) const {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

// Writes what goes, and leaves output in the pipes of processes while its reader does not keep up:
// they wait then, and the launcher does not.
void Runner::balance() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    sinks_[i].write();
    const bool wanted = !sinks_[i].drained();
    if (wanted == sink_watched_[i]) continue;
    if (wanted) watch(sinks_[i].descriptor(), EPOLLOUT, Source::kSink, i);
    if (!wanted) unwatch(sinks_[i].descriptor());
    sink_watched_[i] = wanted;
  }
  for (std::size_t member = 0; member < processes_.size(); ++member) {
    if (!processes_[member]) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      Stream& stream = processes_[member]->streams[i];
      const bool wanted = stream.descriptor.open() && !sink_of(i).full();
      if (wanted == stream.watched) continue;
      const Source source = i == 0 ? Source::kOutput : Source::kErrors;
      if (wanted) watch(stream.descriptor.get(), EPOLLIN, source, member);
      if (!wanted) unwatch(stream.descriptor.get());
      stream.watched = wanted;
    }
  }
}

void Runner::finish() {
  for (const std::unique_ptr<Process>& process : processes_) {
    if (process) kill_and_reap(process->child);
  }
  const std::size_t left = orphans_.kill_all(clock_, plan_.limits.reap);
  drain_outputs();
  if (left > 0) say(fmt::format("warning: the kernel does not end {} orphaned processes", left));
}

// Everybody is dead now, so an empty pipe stays empty.
void Runner::drain_outputs() {
  for (std::size_t member = 0; member < processes_.size(); ++member) {
    if (!processes_[member]) continue;
    Process& process = *processes_[member];
    for (std::size_t i = 0; i < 2; ++i) {
      while (take_output(member, i)) {
        if (sink_of(i).full()) flush();
      }
      process.streams[i].lines.finish([&](std::string_view line) { pass_on(process, i, line); });
    }
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
