// SPDX-License-Identifier: Apache-2.0
// Starts child processes, and reads their pipes and exits.
#include "tools/launch/process/local_host.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace stretto::launch {
namespace {

constexpr std::size_t kOutputBytes = 64 * 1024;
constexpr std::size_t kMaxReadyBytes = 256;
constexpr int kLastReads = 4;  // Reads of kOutputBytes: more than a pipe holds.

}  // namespace

void LocalHost::start(std::size_t member, const Command& command, bool tells_ready) {
  Descriptor told;
  if (tells_ready) {
    int ends[2] = {-1, -1};
    if (ready_.is_open()) poller_.unwatch(ready_.get());  // Of the previous process.
    ready_text_.clear();
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0) {
      ready_ = Descriptor(ends[0]);
      told = Descriptor(ends[1]);
    }
  }
  Result<ChildProcess> child = spawn(command, {told.get(), false}, signals_);
  if (!child.ok()) {
    events_.on_refused(member, child.status());
    return;
  }
  auto process = std::make_unique<Process>();
  process->child = std::move(*child);
  process->streams[0].descriptor = std::move(process->child.output);
  process->streams[1].descriptor = std::move(process->child.errors);
  orphans_.except(process->child.process_id);
  memory_kills_.look(clock_.now());
  const int handle = process->child.handle.get();
  bury(member);
  processes_[member] = std::move(process);
  if (tells_ready) poller_.watch(ready_.get(), EPOLLIN, [this] { take_ready(); });
  for (std::size_t stream = 0; stream < 2; ++stream) balance(member, stream);
  if (poller_.watch(handle, EPOLLIN, [this, member] { take_end(member); })) return;
  const Status why(Code::kResource, fmt::format("cannot be watched: {}", ::strerror(errno)));
  events_.on_refused(member, why);
}

// Cleans up after this member's previous process, which has ended.
void LocalHost::bury(std::size_t member) {
  const auto found = processes_.find(member);
  if (found == processes_.end()) return;
  for (Stream& stream : found->second->streams) {
    if (stream.watched) poller_.unwatch(stream.descriptor.get());
  }
  kill_and_reap(found->second->child);
  processes_.erase(found);
}

void LocalHost::signal(const SignalOrder& order) {
  const auto found = processes_.find(order.member);
  if (found == processes_.end()) return;
  send_signal(found->second->child, order.signal, order.scope);
  // A stopped process would not handle the signal.
  if (order.signal != SIGKILL) send_signal(found->second->child, SIGCONT, order.scope);
}

// Ignores errors: a scheduler that does not read has failed, or soon will.
void LocalHost::tell(std::string_view line) {
  if (!ready_.is_open()) return;
  (void)::send(ready_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void LocalHost::pause(std::size_t stream, bool paused) {
  if (paused_[stream] == paused) return;
  paused_[stream] = paused;
  for (const auto& [member, process] : processes_) balance(member, stream);
}

void LocalHost::balance(std::size_t member, std::size_t stream) {
  Stream& from = processes_.at(member)->streams[stream];
  const bool wanted = from.descriptor.is_open() && !paused_[stream];
  if (wanted == from.watched) return;
  from.watched = wanted;
  if (wanted) {
    poller_.watch(from.descriptor.get(), EPOLLIN,
                  [this, member, stream] { take_output(member, stream); });
  } else {
    poller_.unwatch(from.descriptor.get());
  }
}

void LocalHost::kill_stopped() {
  for (const auto& [member, process] : processes_) {
    if (!process->child.handle.is_open()) continue;  // The process has ended.
    const std::optional<int> signal = terminal_stop_of(process->child);
    if (!signal) continue;
    process->stopped_by = *signal;
    send_signal(process->child, SIGKILL, SignalOrder::Scope::kGroup);
  }
}

bool LocalHost::reap_orphans() {
  kill_stopped();
  const std::size_t before = orphan_count_;
  orphan_count_ = orphans_.reap();
  return orphan_count_ != before;
}

void LocalHost::take_ready() {
  std::array<char, kMaxReadyBytes> bytes{};
  const ssize_t got = ::read(ready_.get(), bytes.data(), bytes.size());
  if (got < 0) return;
  ready_text_.append(bytes.data(), static_cast<std::size_t>(got));
  for (std::size_t end = 0; (end = ready_text_.find('\n')) != std::string::npos;) {
    const std::string line = ready_text_.substr(0, end + 1);
    ready_text_.erase(0, end + 1);
    said_ready_ = true;
    events_.on_ready(line);
  }
  // Several lines may arrive at once; only text without a newline is not a scheduler's.
  const bool is_last = got == 0 || ready_text_.size() >= kMaxReadyBytes;
  if (is_last) {
    poller_.unwatch(ready_.get());  // tell() still writes to it.
  }
  if (is_last && !said_ready_) events_.on_ready(ready_text_);
}

void LocalHost::take_end(std::size_t member) {
  Process& process = *processes_.at(member);
  std::optional<Exit> exit = exit_of(process.child);
  if (!exit) return;
  const bool killed = exit->by_signal && exit->number == SIGKILL;
  if (killed && process.stopped_by != 0) {
    exit->stopped_by = process.stopped_by;
  } else if (killed) {
    exit->for_memory = memory_kills_.explain_one(clock_.now());
  } else {
    memory_kills_.look(clock_.now());
  }
  poller_.unwatch(process.child.handle.get());
  process.child.handle.close();  // The PID stays reserved until finish() reaps it.
  // Forwards the last output before the end, with a limit, since a grandchild may write for ever.
  for (std::size_t stream = 0; stream < 2; ++stream) {
    for (int i = 0; i < kLastReads && !paused_[stream] && take_output(member, stream); ++i) {
    }
  }
  events_.on_ended(member, *exit);
}

bool LocalHost::take_output(std::size_t member, std::size_t stream) {
  Stream& from = processes_.at(member)->streams[stream];
  if (!from.descriptor.is_open()) return false;
  std::array<char, kOutputBytes> bytes;
  const ssize_t got = ::read(from.descriptor.get(), bytes.data(), bytes.size());
  if (got < 0) return false;
  if (got == 0) {
    if (from.watched) poller_.unwatch(from.descriptor.get());
    from.watched = false;
    from.descriptor.close();
    return false;
  }
  events_.on_output(member, stream, {bytes.data(), static_cast<std::size_t>(got)});
  return true;
}

std::size_t LocalHost::finish(Duration patience) {
  for (const auto& [member, process] : processes_) kill_and_reap(process->child);
  return orphans_.kill_all(clock_, patience);
}

// All processes are dead now, so an empty pipe stays empty.
bool LocalHost::drain() {
  for (const auto& [member, process] : processes_) {
    for (std::size_t stream = 0; stream < 2; ++stream) {
      while (!paused_[stream] && take_output(member, stream)) {
      }
      if (paused_[stream] && process->streams[stream].descriptor.is_open()) return false;
    }
  }
  return true;
}

}  // namespace stretto::launch
