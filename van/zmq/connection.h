// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP connection that was accepted, and the ZMTP over it. It delivers messages
// one by one, and holds no more than one that has begun and what one call read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/descriptor.h"
#include "van/tcp_path.h"
#include "van/zmq/batch.h"
#include "van/zmq/intake.h"
#include "van/zmq/listener.h"
#include "van/zmq/outlet.h"

namespace stretto::zmq {

/// Thread: loop.
class Connection {
 public:
  Connection(LinkId id, AcceptedDescriptor caller, Time now, std::size_t max_payload_bytes)
      : link(id),
        address(std::move(caller.host)),
        since(now),
        local(caller.local),
        batch(caller.local),
        socket_(std::move(caller.socket)),
        intake_(max_payload_bytes) {}

  // A turn: begin(), next() until it is kNothing or enough, keep().
  // One that was left before keep(), by an exception, ends the connection in the next.

  /// `scratch` is where bytes are put until keep(), which gives it back.
  void begin(std::span<std::byte> scratch);
  /// The next message of what has come; a frame lies in the scratch until the next call. kNothing:
  /// the turn is over.
  Intake::Got next();
  void keep();
  /// All that had come has been read; else there may be more.
  bool drained() const { return drained_; }
  Intake& intake() { return intake_; }
  /// The far end has finished, or the connection has failed, and all that came has been handed
  /// over.
  bool ended() const { return ended_; }

  /// Puts what waits to leave together into the outlet; false if there is nothing.
  bool flush();
  /// Of what is in the outlet, submits what the kernel takes; false if some is left.
  bool write();
  Outlet& outlet() { return outlet_; }

  /// Hangs up; what came and was not read is dropped, so that what has left still arrives.
  void hang_up();
  int descriptor() const { return socket_.get(); }
  std::size_t held_bytes() const { return kept_.capacity() + intake_.held_bytes(); }

  // For AcceptedLinks to keep.
  const LinkId link;
  const std::string address;  ///< Without its port.
  const Time since;           ///< When it was accepted.
  const bool local;
  bool announced = false;     ///< The sink knows of it.
  bool admitted = false;      ///< Transport::admit.
  bool ready = false;         ///< There may be something to read.
  bool over = false;          ///< Closed here, or reported: nothing more is delivered.
  bool broken = false;        ///< It takes nothing more; what came before is still delivered.
  bool full = false;          ///< It answered kFull.
  bool batched = false;       ///< Its batch has something.
  bool writes = false;        ///< The watch tells when there is room.
  LinkLiveness liveness;      ///< Of its path.
  std::size_t accounted = 0;  ///< Bytes that it counts for while it is not admitted.
  MessageBatch batch;

 private:
  Intake::Got receive();

  Descriptor socket_;
  Intake intake_;
  Outlet outlet_;
  std::vector<std::byte> kept_;        // What was read and not taken, between turns.
  std::span<std::byte> scratch_;       // In a turn, and
  std::span<const std::byte> unread_;  // what was read into it and not taken.
  int reads_left_ = 0;
  bool drained_ = false;
  bool finished_ = false;  // Nothing more will come.
  bool ended_ = false;
};

}  // namespace stretto::zmq
