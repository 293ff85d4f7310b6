// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP connection, which was accepted or is ours, and the messages on it. It
// delivers them one by one, and holds no more than one that has begun and what one call read.
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
    kGreeting,    ///< The far end has not greeted; messages wait.
    kOpen
  };

  /// That was accepted.
  Connection(LinkId id, AcceptedSocket caller, Time now, std::size_t max_payload_bytes);
  /// That we begin, to host:port.
  Connection(LinkId id, std::string_view to, Time now, std::size_t max_payload_bytes);

  // ---- how it begins

  Stage stage() const { return stage_; }
  /// The socket of a connection that we begin.
  void connect_by(Descriptor socket);
  /// Its end is known before it began.
  void fail(Status why);
  /// TCP's handshake is done, so it begins to greet.
  void greet(Time now);
  /// The far end has greeted: what waits may leave.
  void open();

  // ---- what comes

  // A turn: begin(), next() until it is kNothing or enough, keep().
  // One that was left before keep(), by an exception, ends the connection in the next.

  /// `scratch` is where bytes are put until keep(), which gives it back.
  void begin(std::span<std::byte> scratch);
  /// The next message of what has come; a frame lies in the scratch until the next call. kNothing:
  /// the turn is over.
  MessageParser::Got next();
  void keep();
  /// All that had come has been read; else there may be more.
  bool drained() const { return drained_; }
  MessageParser& parser() { return parser_; }
  /// The far end has finished, or the connection has failed, and all that came has been handed
  /// over.
  bool ended() const { return ended_; }

  /// Puts what waits to leave together into the output; false if there is nothing.
  bool flush();
  /// Of what may leave, submits what the kernel takes; false if some is left.
  bool write();
  /// Messages. They wait until the far end has greeted.
  OutputBuffer& output() { return output_; }

  /// Why nothing more is to be made of what the far end says, which is no frame.
  Status why_refused() const;
  /// Why it has ended, where that is so.
  Status why_ended() const;
  /// Hangs up; what came and was not read is dropped, so that what has left still arrives.
  void hang_up();
  int descriptor() const { return socket_.get(); }
  /// Of a message that has come in part, and whose rest has not come: so many bytes of all that the
  /// far end sent; 0: there is none, or there may be more to read.
  std::uint64_t begun_at() const {
    const bool begun = drained_ && (!kept_.empty() || parser_.has_begun());
    return begun ? received_bytes_ : 0;
  }
  std::size_t held_bytes() const { return kept_.capacity() + parser_.held_bytes(); }

  // For TcpLinks to keep.
  const LinkId link;
  const std::string address;  ///< Of the far end; without its port if it was accepted.
  const bool ours;            ///< We connected it.
  Time since;                 ///< When it was accepted, or its stage began.
  const bool local;
  bool announced = false;     ///< The sink knows of it.
  bool admitted = false;      ///< Transport::admit.
  bool ready = false;         ///< There may be something to read.
  bool over = false;          ///< Closed here, or reported: nothing more is delivered.
  bool broken = false;        ///< It takes nothing more; what came before is still delivered.
  bool full = false;          ///< It answered kFull.
  bool batched = false;       ///< Its batch has something.
  bool writes = false;        ///< The watch tells when there is room.
  PathLiveness liveness;      ///< Of its path.
  std::size_t accounted = 0;  ///< Bytes that it counts for while it is not admitted.
  FrameBatch batch;

 private:
  MessageParser::Got receive();

  Stage stage_;
  Descriptor socket_;
  MessageParser parser_;
  OutputBuffer greeting_;
  OutputBuffer output_;
  Status why_;
  std::vector<std::byte> kept_;        // What was read and not taken, between turns.
  std::span<std::byte> scratch_;       // In a turn, and
  std::span<const std::byte> unread_;  // what was read into it and not taken.
  std::uint64_t received_bytes_ = 0;
  int reads_left_ = 0;
  int near_large_ = 0;  // So many more messages are read with little beside them.
  bool drained_ = false;
  bool finished_ = false;  // Nothing more will come.
  bool ended_ = false;
};

}  // namespace stretto::tcp
