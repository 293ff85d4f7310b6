// SPDX-License-Identifier: Apache-2.0
// The stages of a line: banner, introductions, silence, end.
#include "van/fabric/bootstrap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/log.h"
#include "van/transport/tcp_sockets.h"

namespace stretto::fabric {
namespace {

constexpr int kAcceptsAtOnce = 64;
constexpr Duration kListenAgain = 1s;

}  // namespace

Status Bootstrap::listen(Listener listener) {
  if (Status status = watch_.add(listener.socket.get(), kListenerToken); !status.ok()) {
    return status;
  }
  listener_ = std::move(listener);
  listening_ = true;
  return {};
}

Result<ConnectionId> Bootstrap::dial(Dialled dialled, const BootstrapMessage& own, Time now) {
  const ConnectionId id = ++last_;
  if (Status status = watch_.add(dialled.socket.get(), id); !status.ok()) return status;
  Line& line = lines_[id];
  line.socket = std::move(dialled.socket);
  keep_alive(line.socket.get());
  line.state = State::kAwaitsBanner;
  line.local = dialled.local;
  line.deadline = now + options_.connect_timeout;
  line.own = own;
  unsettled_.push_back(id);
  return id;
}

bool Bootstrap::answer(ConnectionId line, const BootstrapMessage& own) {
  const auto found = lines_.find(line);
  return found != lines_.end() && found->second.socket.send(encode(own));
}

void Bootstrap::finish(ConnectionId line) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return;
  found->second.finished = true;
  found->second.socket.finish();
}

// Words are few, and the peer reads them. A peer that does not read has its line ended, as would a
// send that stops halfway.
void Bootstrap::say(ConnectionId id, const ProbeMessage& word) {
  const auto found = lines_.find(id);
  if (found == lines_.end() || found->second.state != State::kOpen || found->second.finished)
    return;
  if (!found->second.socket.send(encode(word))) finish(id);
}

void Bootstrap::drop(ConnectionId line) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return;
  if (found->second.state == State::kSilent) --silent_;
  if (found->second.state != State::kEnded) watch_.remove(found->second.socket.get());
  std::erase(unsettled_, line);
  lines_.erase(found);
}

bool Bootstrap::look(std::uint64_t token, Time now, std::vector<ConnectionEvent>& news) {
  if (token == kListenerToken) {
    accept(now);
    return true;
  }
  const auto found = lines_.find(token);
  if (found == lines_.end()) return false;
  if (found->second.state != State::kEnded) read(token, found->second, news);
  return true;
}

void Bootstrap::accept(Time now) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    AcceptedSocket caller = accept_from(listener_.socket.descriptor());
    if (!caller.socket.is_open()) {
      if (caller.error == 0) return;
      // Probably out of descriptors: the listener would stay readable.
      log(Level::kWarning, "nobody can be accepted at {}: {}", listener_.address,
          ::strerror(caller.error));
      watch_.remove(listener_.socket.get());
      listening_ = false;
      listen_again_ = now + kListenAgain;
      return;
    }
    if (silent_ >= options_.max_silent) hang_up_on_oldest();
    const ConnectionId id = ++last_;
    TcpSocket socket(std::move(caller.socket));
    if (!socket.send(banner()) || !watch_.add(socket.get(), id).ok()) continue;
    Line& line = lines_[id];
    line.socket = std::move(socket);
    keep_alive(line.socket.get());
    line.local = caller.local;
    line.deadline = now + options_.handshake_timeout;
    unsettled_.push_back(id);
    ++silent_;
  }
}

void Bootstrap::hang_up_on_oldest() {
  const auto oldest = std::ranges::find_if(
      unsettled_, [this](ConnectionId id) { return lines_.at(id).state == State::kSilent; });
  if (oldest == unsettled_.end()) return;
  if (options_.counts != nullptr) ++options_.counts->strangers;
  drop(*oldest);
}

void Bootstrap::read(ConnectionId id, Line& line, std::vector<ConnectionEvent>& news) {
  if (line.state == State::kOpen) return read_word(id, line, news);
  const std::size_t wanted = line.state == State::kAwaitsBanner ? kBannerBytes : line.bytes.size();
  const std::size_t have = line.received;
  const int came = line.socket.receive(std::span(line.bytes).subspan(have, wanted - have));
  if (came == -1) return;
  if (came <= 0) {
    const bool refused = came < 0 && errno == ECONNREFUSED;
    return end(
        id, line,
        {refused ? Code::kRefused : Code::kLinkBroken,
         refused ? "nobody listens there any more" : "the connection to the far end has ended"},
        news);
  }
  line.received += static_cast<std::size_t>(came);
  if (line.received < wanted) return;
  if (Status status = take(line); !status.ok()) return end(id, line, std::move(status), news);
  if (line.state == State::kAwaitsAnswer && line.received == 0) return;
  Result<BootstrapMessage> introduced = decode(line.bytes);
  if (!introduced.ok()) return end(id, line, introduced.status(), news);
  const bool accepted = line.state == State::kSilent;
  if (accepted) --silent_;
  line.state = State::kOpen;
  std::erase(unsettled_, id);
  news.push_back({.line = id,
                  .introduced = *std::move(introduced),
                  .word = {},
                  .ended = {},
                  .accepted = accepted,
                  .local = line.local});
}

void Bootstrap::read_word(ConnectionId id, Line& line, std::vector<ConnectionEvent>& news) {
  std::array<std::byte, kWordBytes> room;
  const int came = line.socket.receive(std::span(room).first(kWordBytes - line.word.size()));
  if (came == -1) return;
  if (came <= 0) {
    return end(id, line, {Code::kLinkBroken, "the connection to the far end has ended"}, news);
  }
  line.word.insert(line.word.end(), room.begin(), room.begin() + came);
  if (line.word.size() < kWordHeadBytes) return;
  const Result<ProbeMessage> word = decode_word(std::span(line.word).first<kWordHeadBytes>());
  if (!word.ok()) return end(id, line, word.status(), news);
  if (line.word.size() < kWordBytes) return;
  line.word = {};
  news.push_back({.line = id, .introduced = {}, .word = *word, .ended = {}});
}

void Bootstrap::look_at_paths(Time now, Duration limit, std::vector<ConnectionEvent>& news) {
  for (auto& [id, line] : lines_) {
    if (line.state != State::kOpen) continue;
    const std::optional<PathSample> signs = path_signs(line.socket.get());
    if (!signs) continue;
    Status status = line.liveness.look(*signs, now, limit);
    if (status.ok()) continue;
    reset_when_closed(line.socket.get());
    end(id, line, std::move(status), news);
    news.back().dead = true;
  }
}

// After a banner sends our introduction. An introduction is left in place.
Status Bootstrap::take(Line& line) {
  if (line.state != State::kAwaitsBanner) return {};
  const Banner wanted = banner();
  if (!std::equal(wanted.begin(), wanted.end(), line.bytes.begin())) {
    return {Code::kMalformed, "who listens there is no libfabric endpoint of this version"};
  }
  line.state = State::kAwaitsAnswer;
  line.received = 0;
  if (line.socket.send(encode(line.own))) return {};
  return {Code::kLinkBroken, "the connection to the far end has ended"};
}

void Bootstrap::end(ConnectionId id, Line& line, Status why, std::vector<ConnectionEvent>& news) {
  if (line.state == State::kSilent) {
    if (options_.counts != nullptr) ++options_.counts->strangers;
    return drop(id);
  }
  watch_.remove(line.socket.get());
  std::erase(unsettled_, id);
  line.state = State::kEnded;
  news.push_back(
      {.line = id, .introduced = {}, .word = {}, .ended = std::move(why), .local = line.local});
}

void Bootstrap::tick(Time now, std::vector<ConnectionEvent>& news) {
  if (listener_.socket.open() && !listening_ && now >= listen_again_) {
    listening_ = watch_.add(listener_.socket.get(), kListenerToken).ok();
    listen_again_ = now + kListenAgain;
  }
  for (std::size_t i = 0; i < unsettled_.size();) {
    const ConnectionId id = unsettled_[i];
    Line& line = lines_.at(id);
    if (line.deadline > now) {
      ++i;
      continue;
    }
    end(id, line, {Code::kLinkBroken, "the far end did not answer in time"}, news);
  }
}

Time Bootstrap::next_deadline() const {
  Time next = Time::max();
  for (const ConnectionId id : unsettled_) next = std::min(next, lines_.at(id).deadline);
  if (listener_.socket.open() && !listening_) next = std::min(next, listen_again_);
  return next;
}

}  // namespace stretto::fabric
