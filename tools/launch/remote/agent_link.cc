// SPDX-License-Identifier: Apache-2.0
// Reads and writes all that is possible without blocking.
#include "tools/launch/remote/agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>

#include "common/check.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

void stop_waiting(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

AgentLink::AgentLink(Poller& poller, Descriptor in, Descriptor out, bool greeted, std::size_t most)
    : poller_(poller), in_(std::move(in)), out_(std::move(out)), reader_(greeted, most) {
  stop_waiting(in_.get());
  if (out_.is_open()) stop_waiting(out_.get());
  out_watch_ = Descriptor(::fcntl(this->out(), F_DUPFD_CLOEXEC, 3));
}

AgentLink::~AgentLink() { close(); }

bool AgentLink::start(OnFrame on_frame, OnClosed on_closed) {
  STRETTO_CHECK(is_open());
  on_frame_ = std::move(on_frame);
  on_closed_ = std::move(on_closed);
  return poller_.watch(in_.get(), EPOLLIN, [this] { read(); });
}

void AgentLink::read() {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::read(in_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) reader_.feed({bytes.data(), static_cast<std::size_t>(got)});
  while (is_open()) {
    Result<std::optional<AgentFrame>> frame = reader_.next();
    if (!frame.ok()) {
      end(frame.status());
      return;
    }
    if (!frame->has_value()) break;
    on_frame_(**frame);
  }
  if (got <= 0 && is_open()) end({});
}

void AgentLink::send_bytes(std::string_view bytes) {
  if (!is_open()) return;
  queue_.append(bytes);
  write();
}

// An error here means that the peer has closed, which reading also detects.
void AgentLink::write() {
  while (!queue_.empty()) {
    const ssize_t done = ::write(out(), queue_.data(), queue_.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno != EAGAIN) queue_.clear();
    if (done < 0) break;
    queue_.erase(0, static_cast<std::size_t>(done));
  }
  watch_for_room(!queue_.empty());
}

void AgentLink::watch_for_room(bool wanted) {
  if (wanted == waiting_for_room_) return;
  waiting_for_room_ = wanted;
  if (wanted) poller_.watch(out_watch_.get(), EPOLLOUT, [this] { write(); });
  if (!wanted) poller_.unwatch(out_watch_.get());
}

void AgentLink::end(const Status& why) {
  close();
  on_closed_(why);
}

void AgentLink::close() {
  if (!is_open()) return;
  watch_for_room(false);
  poller_.unwatch(in_.get());
  in_.close();
  out_.close();
  out_watch_.close();
  queue_.clear();
}

}  // namespace stretto::launch
