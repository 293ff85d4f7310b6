// SPDX-License-Identifier: Apache-2.0
// Passes the monitor's events to the book, and shuts down connections that exceed the limits.
#include "van/zmq/connection_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "common/log.h"
#include "van/transport/tcp_info.h"
#include "van/zmq/mechanism.h"

namespace stretto::zmq {
namespace {

// Events read per turn; later ones wait for the next turn.
constexpr int kMostEvents = 1 << 16;
constexpr Duration kAgeEvery = 1s;
constexpr Duration kCheckEvery = 1s;
constexpr Duration kLookEvery = 5ms;
constexpr Duration kConfirmed = 10ms;

}  // namespace

void ConnectionWatch::read_events() {
  for (int i = 0; i < kMostEvents; ++i) {
    const auto event = monitor_.next();
    if (!event) return;
    if (event->kind == ZMQ_EVENT_ACCEPTED) {
      book_.accepted(event->value);
    } else if (event->kind == ZMQ_EVENT_DISCONNECTED) {
      book_.disconnected(event->value);
    } else if ((event->kind & kHandshakeFailed) != 0) {
      refuse(fmt::format("a client of {}: {}", address(), fault_of_client(*event)));
    }
  }
}

// libzmq cannot end one connection of a ROUTER, so this shuts down the socket itself. libzmq may
// close the descriptor at any time, and the number may be reused. But libzmq notifies the monitor
// before it closes. So if no event arrived after the dup, the copy is of the right connection.
void ConnectionWatch::shut(int descriptor, std::optional<std::uint64_t> order) {
  const Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  read_events();
  if (!book_.is_open(descriptor) || (order && book_.order_of(descriptor) != *order)) return;
  ::shutdown(copy.is_open() ? copy.get() : descriptor, SHUT_RDWR);
  book_.note_shut(descriptor);
}

// Logs events 1, 2, 4, 8 and so on: a flood must not fill the log.
void ConnectionWatch::refuse(const std::string& what) {
  if (!refused_.add()) return;
  log(Level::kWarning, "zmq: hung up on {}; {} such so far", what, refused_.events());
}

void ConnectionWatch::note_empty() {
  ++reads_;
  wants_read_ = false;
  book_.drained();
}

void ConnectionWatch::look_around(Time now) {
  gate();
  check_descriptors(now);
  if (book_.strangers() == 0) suspects_.clear();
  if (book_.strangers() == 0 || now < next_look_) return;
  next_look_ = now + kLookEvery;
  read_events();
  if (now >= next_age_) {  // One step, also after a long pause of the loop.
    next_age_ = now + kAgeEvery;
    book_.grow_older();
  }
  hang_up_on_strangers(now);
  hang_up_on_talkers(now);
}

// libzmq allocates memory for each handshake and does not limit their number.
void ConnectionWatch::gate() {
  if (!port_.is_paused()) {
    if (book_.strangers() > options_.max_handshakes) port_.pause();
  } else if (book_.strangers() <= options_.max_handshakes / 2) {
    port_.resume();
  }
}

// Without descriptors libzmq cannot accept, and repeats its event as fast as its thread spins.
void ConnectionWatch::check_descriptors(Time now) {
  if (now < next_check_) return;
  next_check_ = now + kCheckEvery;
  const Status status = need_descriptors(1, "wanted to accept connections");
  if (status.ok() || !lack_.due(now)) return;
  log(Level::kWarning, "zmq: accept at {} may fail: {}", address(), status.cause());
}

void ConnectionWatch::hang_up(const ConnectionBook::Stranger& stranger, std::string_view why) {
  refuse(fmt::format("a client of {}: {}", address(), why));
  shut(stranger.descriptor, stranger.order);
}

void ConnectionWatch::hang_up_on_strangers(Time now) {
  const auto latest = static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(options_.handshake_timeout).count());
  const std::vector<ConnectionBook::Stranger> strangers = book_.list_strangers();
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    const auto& [descriptor, order, age, heard_out] = strangers[i];
    const std::uint64_t bytes = received_bytes_of(descriptor).value_or(0);
    const bool crowded = strangers.size() - i > options_.max_strangers;
    if (age > latest || (age > 1 && crowded)) {
      hang_up(strangers[i], "it did not say who it is");
    } else if (bytes > options_.stranger_bytes && is_confirmed(order, now, heard_out)) {
      hang_up(strangers[i], "it sent too much before it said who it is");
    }
  }
}

void ConnectionWatch::hang_up_on_talkers(Time now) {
  struct Held {
    ConnectionBook::Stranger stranger;
    std::uint64_t bytes;
  };
  forget_suspects();
  std::vector<Held> held;
  std::uint64_t sum = 0;
  for (const ConnectionBook::Stranger& stranger : book_.list_strangers()) {
    held.push_back({stranger, received_bytes_of(stranger.descriptor).value_or(0)});
    sum += held.back().bytes;
  }
  if (sum <= options_.strangers_bytes) {
    suspects_.erase(0);
    return;
  }
  if (!is_confirmed(0, now, false)) return;
  suspects_.erase(0);  // The next suspects get the same time.
  std::ranges::sort(held, std::greater(), &Held::bytes);
  for (const Held& one : held) {
    if (sum <= options_.strangers_bytes / 2) return;
    hang_up(one.stranger, "connections that did not say who they are have sent too much");
    sum -= one.bytes;
  }
}

// The kernel has received that many bytes, but libzmq's thread and this loop may lag behind.
bool ConnectionWatch::is_confirmed(std::uint64_t suspect, Time now, bool heard_out) {
  const auto [found, is_new] = suspects_.try_emplace(suspect, Suspicion{now, reads_});
  const bool read_since = heard_out || reads_ > found->second.reads;
  wants_read_ = wants_read_ || !read_since;
  return !is_new && read_since && now - found->second.since >= kConfirmed;
}

// Removes suspects that are admitted or gone.
void ConnectionWatch::forget_suspects() {
  const std::vector<ConnectionBook::Stranger> strangers = book_.list_strangers();
  std::erase_if(suspects_, [&strangers](const auto& suspect) {
    return suspect.first != 0 && !std::ranges::binary_search(strangers, suspect.first, {},
                                                             &ConnectionBook::Stranger::order);
  });
}

Duration ConnectionWatch::may_wait(Duration wait) const {
  constexpr Duration kWithStrangers = 10ms;
  if (book_.strangers() == 0) return wait;
  return std::min(wait, suspects_.empty() ? kWithStrangers : kLookEvery);
}

}  // namespace stretto::zmq
