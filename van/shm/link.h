// SPDX-License-Identifier: Apache-2.0
// Link: one end of a Line, with the payloads lent through it and the frames received. Payloads in
// our arena are lent without a copy; others are copied into it first. The peer reads them there and
// reports when it has finished.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <string>
#include <vector>

#include "van/shm/arena.h"
#include "van/shm/doorbells.h"
#include "van/shm/options.h"
#include "van/shm/remote_arena.h"
#include "van/shm/shared_rings.h"
#include "van/transport/poll_turns.h"

namespace stretto::shm {

/// Thread: loop; but received payloads may end on any thread.
class Link {
 public:
  /// What all links of a transport share.
  struct Shared {
    Arena& arena;
    const ShmOptions& options;
    Transport::Copied& copied;
    Doorbells& bells;
  };
  /// `announced`: the sink knows the link, since we connected it.
  Link(LinkId id, std::shared_ptr<Line> line, const Shared& shared, bool announced);

  Transport::Sent send(const wire::Header& header, const Buffer& payload);
  /// Delivers at most `limit` frames, and the end of the link after all of its earlier frames.
  Turn receive(Transport::Sink& sink, int limit);
  /// Reads the socket's messages,
  /// up to the next doorbell, after which it is usually empty, or past it. False: none is left.
  bool hear(bool past_bells = false);
  /// True if receive() would call the sink.
  bool has_come();
  /// Before a wait: asks the peer to ring. False: there is work already.
  bool arm();
  void disarm() { line_->wish(0); }
  /// Stops delivery and tells the peer that the link has ended.
  void close();

  bool over() const { return state_ == State::kOver; }
  /// Waits for room in the socket, which does not signal it.
  bool awaits_socket() const { return full_ && socket_full_; }
  /// True while the peer may still read memory of ours, which must not be reused.
  bool is_read();
  int descriptor() const { return line_->socket().get(); }

 private:
  enum class State : std::uint8_t {
    kOpen,
    kEnding,  ///< The peer has ended; frames that it sent are still delivered.
    kBad,     ///< The peer broke the protocol: reported next; nothing more is delivered.
    kOver     ///< Reported, or closed by us.
  };
  struct Lent {
    Buffer block;
    std::size_t copied = 0;  // Bytes charged to the limit on copies.
  };

  bool delivers() const { return state_ == State::kOpen || state_ == State::kEnding; }
  Transport::Sent refuse_for_now(std::size_t bytes);
  bool announce_chunks(std::uint32_t last);
  bool ring_is_full();
  void hear_taken();
  bool lend(const Buffer& payload, Entry& entry);
  void collect();
  bool has_room();
  void end(State state, Status why);
  void report(Transport::Sink& sink, Turn& turn);
  Status check_entry(const Entry& entry);
  Buffer take(const Entry& entry, const RemoteArena::View& view);
  bool deliver_one(Transport::Sink& sink);

  const LinkId id_;
  const std::shared_ptr<Line> line_;
  Arena& arena_;
  const ShmOptions& options_;
  Transport::Copied& copied_;
  Doorbells& bells_;
  State state_ = State::kOpen;
  Status why_;
  bool announced_;
  bool gone_ = false;  // The socket has ended: the peer no longer reads our memory.

  // Out.
  std::uint64_t published_ = 0;
  std::uint64_t taken_there_ = 0;
  std::uint32_t chunks_told_ = 0;
  std::vector<Lent> lent_;  // By slot.
  std::vector<std::uint32_t> free_slots_;
  std::size_t copied_in_flight_ = 0;
  bool full_ = false;  // We returned kFull
  bool socket_full_ = false;
  std::size_t refused_bytes_ = 0;  // for a frame of this size.

  // In.
  RemoteArena far_;
  std::uint64_t taken_ = 0;
};

}  // namespace stretto::shm
