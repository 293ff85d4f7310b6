// SPDX-License-Identifier: Apache-2.0
// Link: one end of a line, with what we have lent through it and what has come. Payloads in our
// arena are lent as they are, others are copied into it first; either way the far end reads them
// there, and says when it has done.
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

/// Thread: loop; but payloads that came by it may end on any thread.
class Link {
 public:
  /// What all links of a transport have together.
  struct Shared {
    Arena& arena;
    const ShmOptions& options;
    Transport::Copied& copied;
    Doorbells& bells;
  };
  /// `announced`: the sink knows of the link, since we connected it.
  Link(LinkId id, std::shared_ptr<Line> line, const Shared& shared, bool announced);

  Transport::Sent send(const wire::Header& header, const Buffer& payload);
  /// Delivers at most `limit` frames, and the end of the link once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  /// Reads what the socket has to say.
  /// Up to the next bell, after which there is mostly nothing, or past it. False: nothing is left.
  bool hear(bool past_bells = false);
  /// True if receive() would have something to tell.
  bool has_come();
  /// Before waiting: asks the far end to ring. False: there is something to do already.
  bool arm();
  void disarm() { line_->wish(0); }
  /// Nothing is delivered any more, and the far end hears that it has ended.
  void close();

  bool over() const { return state_ == State::kOver; }
  /// Waits for room in the socket, which does not tell when it has some.
  bool awaits_socket() const { return full_ && socket_full_; }
  /// True while the far end may still read memory of ours, so that it must not be used again.
  bool is_read();
  int descriptor() const { return line_->socket().get(); }

 private:
  enum class State : std::uint8_t {
    kOpen,
    kEnding,  ///< The far end has gone; what it sent is still delivered.
    kBad,     ///< It broke the rules: told next, and nothing that it sent is delivered any more.
    kOver     ///< Reported, or closed by us.
  };
  struct Lent {
    Buffer block;
    std::size_t copied = 0;  // Bytes that count against the limit.
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
  bool gone_ = false;  // The socket has ended: the far end reads nothing any more.

  // Out.
  std::uint64_t published_ = 0;
  std::uint64_t taken_there_ = 0;
  std::uint32_t chunks_told_ = 0;
  std::vector<Lent> lent_;  // By slot.
  std::vector<std::uint32_t> free_slots_;
  std::size_t copied_in_flight_ = 0;
  bool full_ = false;  // Answered kFull,
  bool socket_full_ = false;
  std::size_t refused_bytes_ = 0;  // for a frame with so many.

  // In.
  RemoteArena far_;
  std::uint64_t taken_ = 0;
};

}  // namespace stretto::shm
