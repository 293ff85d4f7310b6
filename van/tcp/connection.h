// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP connection, accepted or outgoing, and the messages on it. It delivers
// messages one at a time. It buffers only one partial message and the bytes of one read call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/descriptor.h"
#include "van/tcp/message_parser.h"
#include "van/tcp/output_buffer.h"
#include "van/transport/frame_batch.h"
#include "van/transport/tcp_info.h"
#include "van/transport/tcp_sockets.h"
#include "van/transport/transport.h"

namespace stretto::tcp {

/// Thread: loop.
class Connection {
 public:
  enum class Stage : std::uint8_t {
    kLookingUp,   ///< There is no socket yet.
    kConnecting,  ///< TCP's handshake.
    kGreeting,    ///< The peer's greeting has not arrived; messages wait.
    kOpen
  };

  /// An accepted connection.
  Connection(LinkId id, AcceptedSocket caller, Time now, std::size_t max_payload_bytes);
  /// An outgoing connection to host:port.
  Connection(LinkId id, std::string_view to, Time now, std::size_t max_payload_bytes);

  // ---- setup

  Stage stage() const { return stage_; }
  /// Sets the socket of an outgoing connection.
  void connect_by(Descriptor socket);
  /// Ends the connection before it is established.
  void fail(Status why);
  /// TCP's handshake is complete: sends our greeting.
  void greet(Time now);
  /// The peer's greeting has arrived: queued messages may leave.
  void open();

  // ---- receiving

  // A turn is begin(), next() until kNothing or the limit, then keep().
  // An exception before keep() ends the connection in its next turn.

  /// Received bytes lie in `scratch` until keep() returns it.
  void begin(std::span<std::byte> scratch);
  /// The next received message; a frame lies in the scratch until the next call. kNothing: the turn
  /// is over.
  MessageParser::Got next();
  void keep();
  /// All received bytes have been read; otherwise there may be more.
  bool drained() const { return drained_; }
  MessageParser& parser() { return parser_; }
  /// The peer has finished or the connection has failed, and all received messages were delivered.
  bool ended() const { return ended_; }

  /// Moves the batch to the output; false if the batch is empty.
  bool flush();
  /// Submits as much output as the kernel takes; false if some is left.
  bool write();
  /// Outgoing messages. They wait until the peer's greeting has arrived.
  OutputBuffer& output() { return output_; }

  /// The error for received bytes that are no valid message.
  Status why_refused() const;
  /// Why the connection has ended, if it has.
  Status why_ended() const;
  /// Closes the connection and drops unread bytes, so that sent bytes still arrive.
  void hang_up();
  int descriptor() const { return socket_.get(); }
  /// The bytes received in all, if the last message is partial and its rest has not arrived; 0: no
  /// message is partial, or there may be more to read.
  std::uint64_t begun_at() const {
    const bool begun = drained_ && (!kept_.empty() || parser_.has_begun());
    return begun ? received_bytes_ : 0;
  }
  std::size_t held_bytes() const { return kept_.capacity() + parser_.held_bytes(); }

  // Kept by TcpLinks.
  const LinkId link;
  const std::string address;  ///< The peer's; without the port if it was accepted.
  const bool ours;            ///< We connected it.
  Time since;                 ///< When it was accepted, or its stage began.
  const bool local;
  bool announced = false;     ///< The sink knows of it.
  bool admitted = false;      ///< Transport::admit.
  bool ready = false;         ///< There may be something to read.
  bool over = false;          ///< Closed here, or reported broken: nothing more is delivered.
  bool broken = false;        ///< It takes no frames; received ones are still delivered.
  bool full = false;          ///< It answered kFull.
  bool batched = false;       ///< Its batch has frames.
  bool writes = false;        ///< The watch reports when there is room.
  PathLiveness liveness;      ///< Of its path.
  std::size_t accounted = 0;  ///< Bytes charged to it until it is admitted.
  FrameBatch batch;

 private:
  MessageParser::Got receive();

  Stage stage_;
  Descriptor socket_;
  MessageParser parser_;
  OutputBuffer greeting_;
  OutputBuffer output_;
  Status why_;
  std::vector<std::byte> kept_;        // Unparsed bytes between turns.
  std::span<std::byte> scratch_;       // The buffer of this turn,
  std::span<const std::byte> unread_;  // and its unparsed bytes.
  std::uint64_t received_bytes_ = 0;
  int reads_left_ = 0;
  int near_large_ = 0;  // Messages until reads beside a payload may be large again.
  bool drained_ = false;
  bool finished_ = false;  // The peer sends nothing more.
  bool ended_ = false;
};

}  // namespace stretto::tcp
