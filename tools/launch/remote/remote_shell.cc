// SPDX-License-Identifier: Apache-2.0
// A child process whose lines are kept.
#include "tools/launch/remote/remote_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>

#include "common/check.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kReplyBytes = 16 * 1024;

}  // namespace

RemoteShell::RemoteShell(Poller& poller, OnLine on_line, OnEnd on_end)
    : poller_(poller), on_line_(std::move(on_line)), on_end_(std::move(on_end)) {}

RemoteShell::~RemoteShell() {
  for (const Descriptor* watched : {&child_.output, &child_.errors, &child_.handle}) {
    if (watched->is_open()) poller_.unwatch(watched->get());
  }
  if (child_.process_id > 0) kill_and_reap(child_);
}

Status RemoteShell::start(const Command& command, const SignalState& signals, bool carries) {
  STRETTO_CHECK(!child_.handle.is_open());
  Result<ChildProcess> child = spawn(command, {-1, carries}, signals);
  if (!child.ok()) return child.status();
  child_ = std::move(*child);
  bool watched = poller_.watch(child_.handle.get(), EPOLLIN, [this] { take_end(); }) &&
                 poller_.watch(child_.errors.get(), EPOLLIN, [this] { read(errors_); });
  if (!carries) {
    watched = watched && poller_.watch(child_.output.get(), EPOLLIN, [this] { read(output_); });
  }
  if (watched) return {};
  return {Code::kResource, "no epoll for " + command.path};
}

void RemoteShell::read(Stream& stream) {
  std::array<char, kReplyBytes> bytes;
  while (stream.descriptor->is_open()) {
    const ssize_t got = ::read(stream.descriptor->get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    const auto emit = [this](std::string_view line) { take_line(line); };
    if (got > 0) {
      stream.lines.feed({bytes.data(), static_cast<std::size_t>(got)}, emit);
      continue;
    }
    stream.lines.finish(emit);
    poller_.unwatch(stream.descriptor->get());
    stream.descriptor->close();
  }
}

void RemoteShell::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);  // ssh ends its own lines so.
  if (line.empty()) return;
  last_words_ = line;
  on_line_(line);
}

// Its own child, such as a shared connection of ssh, may keep its stderr open for hours.
void RemoteShell::take_end() {
  exit_ = exit_of(child_);
  if (!exit_) return;
  poller_.unwatch(child_.handle.get());
  read(errors_);
  on_end_();
}

void RemoteShell::terminate() const {
  if (running()) send_signal(child_, SIGTERM, SignalOrder::Scope::kProcess);
}

}  // namespace stretto::launch
