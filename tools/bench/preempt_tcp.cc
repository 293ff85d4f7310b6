// SPDX-License-Identifier: Apache-2.0
// Plain sockets: a stream with nothing else on it, and chunks with credit from end to end.
#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tools/bench/now.h"
#include "tools/bench/preempt_baselines.h"
#include "tools/bench/preempt_load.h"
#include "tools/bench/sockets.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kWriteBytes = 256 << 10;
constexpr Duration kWarmUp = 250ms;
constexpr std::uint64_t kChunkBytes = 64 << 10;
constexpr std::uint64_t kUnacknowledged = 2;

Status tcp_peer_refused(std::string_view what) {
  return {Code::kNetwork, fmt::format("cannot {}: {}", what, ::strerror(errno))};
}

/// The one connection that comes to `host`.
Result<Descriptor> await_sender(const std::string& host, const TellAddress& tell) {
  const auto listening = listen_at(host);
  if (!listening.ok()) return listening.status();
  const auto& [listener, port] = *listening;
  if (Status status = tell(fmt::format("{}:{}", host, port)); !status.ok()) return status;
  return accept_one(listener);
}

// ---- a stream

Status receive_stream(const std::string& host, double seconds, const TellAddress& tell,
                      const TellReport& report) {
  const Result<Descriptor> socket = await_sender(host, tell);
  if (!socket.ok()) return socket.status();
  std::vector<std::byte> memory(kWriteBytes);
  const Time start = now() + kWarmUp;
  const Time end =
      start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  Meter meter;
  std::uint64_t received = 0;
  Time when;
  do {
    const ssize_t got = ::recv(socket->get(), memory.data(), memory.size(), 0);
    if (got <= 0) return tcp_peer_refused("receive the stream");
    received += static_cast<std::uint64_t>(got);
    when = now();
    if (when < start) {
      meter.start(received);
    } else {
      meter.note(when, received);
    }
  } while (when < end || meter.arrivals() < 3);
  return report({.seconds = 1, .gigabytes = meter.gb_per_s()});
}

Status send_stream(std::span<const std::string> addresses) {
  const Result<Descriptor> socket = connect_to(addresses.front());
  if (!socket.ok()) return socket.status();
  const std::string control = congestion_control_of(*socket);
  if (control != "cubic") {
    return {Code::kUnsupported, fmt::format("wanted TCP with cubic, found {}; without it figures "
                                            "of different machines cannot be compared",
                                            control)};
  }
  const std::vector<std::byte> memory(kWriteBytes);
  while (write_all(socket->get(), memory)) {
  }
  return {};  // The receiver has seen enough.
}

// ---- chunks with credit

enum class Kind : std::uint32_t { kChunk, kUrgent };
/// Before every message; that of an answer is the same, without the bytes if it was a chunk.
struct Head {
  Kind kind;
  std::uint32_t bytes;
};

std::vector<std::byte> message_of(Kind kind, std::uint64_t bytes) {
  const Head head{kind, static_cast<std::uint32_t>(bytes)};
  std::vector<std::byte> message(sizeof head + bytes);
  std::memcpy(message.data(), &head, sizeof head);
  return message;
}

Status receive_chunks(const PreemptSettings& settings, const std::string& host,
                      const TellAddress& tell) {
  const Result<Descriptor> socket = await_sender(host, tell);
  if (!socket.ok()) return socket.status();
  std::vector<std::byte> memory(std::max(kChunkBytes, settings.urgent_bytes));
  const std::vector<std::byte> answer = message_of(Kind::kUrgent, settings.urgent_bytes);
  const std::vector<std::byte> taken = message_of(Kind::kChunk, 0);
  Head head{};
  const std::span<std::byte> head_bytes = std::as_writable_bytes(std::span(&head, 1));
  while (read_all(socket->get(), head_bytes)) {
    if (head.bytes > memory.size()) return {Code::kMalformed, "a chunk is too large"};
    if (!read_all(socket->get(), std::span(memory).first(head.bytes))) break;
    if (!write_all(socket->get(), head.kind == Kind::kUrgent ? answer : taken)) break;
  }
  return {};  // The sender has ended; if too early, it says why.
}

/// The sender's end of one connection; never blocks.
class ChunkLink {
 public:
  ChunkLink(Descriptor socket, std::uint64_t urgent_bytes)
      : socket_(std::move(socket)),
        chunk_(message_of(Kind::kChunk, kChunkBytes)),
        urgent_(message_of(Kind::kUrgent, urgent_bytes)),
        input_(urgent_.size()) {}

  int descriptor() const { return socket_.get(); }
  bool sending() const { return !leaving_.empty(); }
  void start_background() { background_ = true; }
  void send_urgent() { ++urgent_waiting_; }
  std::uint64_t answers() const { return answers_; }
  std::uint64_t chunks() const { return chunks_; }

  /// Writes what may go and can, urgent messages first.
  Status write() {
    while (sending() || choose()) {
      const ssize_t done =
          ::send(descriptor(), leaving_.data(), leaving_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (done < 0) return errno == EAGAIN ? Status() : tcp_peer_refused("send");
      leaving_ = leaving_.subspan(static_cast<std::size_t>(done));
    }
    return {};
  }

  /// Reads the answers that have come.
  Status read() {
    while (true) {
      const ssize_t got = ::recv(descriptor(), &input_[have_], wanted() - have_, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return {};
      if (got <= 0) return tcp_peer_refused("receive");
      have_ += static_cast<std::size_t>(got);
      if (have_ < wanted()) continue;
      const bool urgent = head().kind == Kind::kUrgent;
      (urgent ? answers_ : chunks_) += 1;
      have_ = 0;
    }
  }

 private:
  bool choose() {
    if (urgent_waiting_ > 0) {
      --urgent_waiting_;
      leaving_ = urgent_;
    } else if (background_ && sent_ - chunks_ < kUnacknowledged) {
      ++sent_;
      leaving_ = chunk_;
    }
    return sending();
  }
  Head head() const {
    Head head{};
    std::memcpy(&head, input_.data(), sizeof head);
    return head;
  }
  std::size_t wanted() const {
    const bool urgent = have_ >= sizeof(Head) && head().kind == Kind::kUrgent;
    return urgent ? input_.size() : sizeof(Head);
  }

  Descriptor socket_;
  std::vector<std::byte> chunk_;
  std::vector<std::byte> urgent_;
  std::span<const std::byte> leaving_;  // Of chunk_ or urgent_.
  std::vector<std::byte> input_;
  std::size_t have_ = 0;
  bool background_ = false;
  std::uint64_t urgent_waiting_ = 0;
  std::uint64_t sent_ = 0;    // Chunks,
  std::uint64_t chunks_ = 0;  // and those that are acknowledged.
  std::uint64_t answers_ = 0;
};

/// Thread: loop.
class ChunkCarrier final : public Carrier {
 public:
  Status connect(const PreemptSettings& settings, std::span<const std::string> addresses) {
    for (const std::string& address : addresses) {
      Result<Descriptor> socket = connect_to(address);
      if (!socket.ok()) return socket.status();
      links_.emplace_back(*std::move(socket), settings.urgent_bytes);
    }
    return {};
  }

  Status start_background() override {
    for (ChunkLink& link : links_) link.start_background();
    return {};
  }
  Status send_urgent() override {
    links_.front().send_urgent();
    return {};
  }
  Status step(Time until) override {
    std::vector<pollfd> looks;
    for (ChunkLink& link : links_) {
      if (Status status = link.write(); !status.ok()) return status;
      const int events = POLLIN | (link.sending() ? POLLOUT : 0);
      looks.push_back({link.descriptor(), static_cast<short>(events), 0});
    }
    const auto wait = std::clamp<Duration>(until - now(), 0s, 1s);
    const timespec time{wait / 1s, static_cast<long>((wait % 1s).count())};
    ::ppoll(looks.data(), looks.size(), &time, nullptr);
    answered_ = 0;
    delivered_bytes_ = 0;
    for (ChunkLink& link : links_) {
      if (Status status = link.read(); !status.ok()) return status;
      if (Status status = link.write(); !status.ok()) return status;
      answered_ += link.answers();
      delivered_bytes_ += link.chunks() * kChunkBytes;
    }
    return {};
  }

 private:
  std::vector<ChunkLink> links_;
};

}  // namespace

Exchange raw_stream(double seconds) {
  return {"raw_tcp",
          [seconds](const std::string& host, const TellAddress& tell, const TellReport& report) {
            return receive_stream(host, seconds, tell, report);
          },
          [](std::span<const std::string> addresses, const TellReport&) {
            return send_stream(addresses);
          }};
}

Exchange tcp_credit(const PreemptSettings& settings, double seconds) {
  return {"tcp_credit_2x64k",
          [&settings](const std::string& host, const TellAddress& tell, const TellReport&) {
            return receive_chunks(settings, host, tell);
          },
          [&settings, seconds](std::span<const std::string> addresses, const TellReport& report) {
            ChunkCarrier carrier;
            if (Status status = carrier.connect(settings, addresses); !status.ok()) return status;
            const Result<Report> found = drive(carrier, seconds);
            return found.ok() ? report(*found) : found.status();
          }};
}

}  // namespace stretto::bench
