// SPDX-License-Identifier: Apache-2.0
// Owners of what libzmq's C interface gives: context, socket, message. Nothing here knows of frames
// or links. A child made by fork leaves all of them alone: their threads are the parent's.
#pragma once

#include <zmq.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/memory/buffer.h"
#include "common/process/fork_guard.h"
#include "stretto/status.h"

namespace stretto::zmq {

/// "wanted: what libzmq or the operating system said", with the code that fits `error`.
Status zmq_failure(const std::string& wanted, int error);

/// Ok if `count` more descriptors can be opened now, and some to spare. libzmq ends the process
/// where some of its own cannot be opened, so this is asked first.
Status need_descriptors(int count, const std::string& wanted);

/// libzmq reads in batches of this size. Smaller payloads share the memory of their batch, at any
/// alignment, and would keep all of it from being freed: they are copied.
inline constexpr std::size_t kLeastTaken = 8192;

/// Thread: loop.
class TerminateContext {
 public:
  void operator()(void* context) const;

 private:
  ForkGuard home_;
};
/// A libzmq context. Ends once all of its sockets are closed and what they had queued is released.
using ZmqContext = std::unique_ptr<void, TerminateContext>;
/// `io_threads` of libzmq.
Result<ZmqContext> open_context(int io_threads, int max_sockets);

/// One part of a message. Thread: any (a value).
class MessagePart {
 public:
  MessagePart() { zmq_msg_init(&message_); }
  /// With room for so many bytes.
  explicit MessagePart(std::size_t bytes) {
    STRETTO_CHECK(zmq_msg_init_size(&message_, bytes) == 0);
  }
  MessagePart(MessagePart&& other) noexcept : MessagePart() { *this = std::move(other); }
  MessagePart& operator=(MessagePart&& other) noexcept {
    zmq_msg_move(&message_, &other.message_);
    return *this;
  }
  ~MessagePart() { zmq_msg_close(&message_); }

  /// A part of these bytes: large ones by lease, without a copy; small ones copied.
  static MessagePart lend(const Buffer& payload);
  /// The bytes as a Buffer of our own: large ones without a copy; small ones in aligned memory.
  static Buffer take(MessagePart part);

  std::span<std::byte> bytes() {
    return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  std::string_view text() {
    return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  bool more() const { return zmq_msg_more(&message_) != 0; }
  /// The descriptor of the connection that it came by; -1 if libzmq does not know.
  int descriptor() const { return zmq_msg_get(&message_, ZMQ_SRCFD); }
  /// The IP address that it came from, or "an unknown address".
  std::string peer_address() const;
  zmq_msg_t* get() { return &message_; }

 private:
  zmq_msg_t message_;
};

/// Thread: loop.
class ZmqSocket {
 public:
  static Result<ZmqSocket> open(const ZmqContext& context, int type);

  /// Sets an option that only our own bug could make libzmq refuse.
  template <typename T>
  void set(int option, T value) {
    STRETTO_CHECK(zmq_setsockopt(socket_.get(), option, &value, sizeof value) == 0);
  }
  void set_bytes(int option, const void* bytes, std::size_t size) {
    STRETTO_CHECK(zmq_setsockopt(socket_.get(), option, bytes, size) == 0);
  }
  void keep_alive();
  /// True if there was a part. False: nothing has come, and all that libzmq had to tell this socket
  /// has been heard.
  bool receive(MessagePart& part);
  /// 0, or the errno that says why nothing was sent: EAGAIN, EHOSTUNREACH. Never waits.
  int send(std::span<const std::byte> bytes, bool more);
  int send(std::string_view bytes, bool more) {
    return send(std::as_bytes(std::span(bytes.data(), bytes.size())), more);
  }
  int send(MessagePart part, bool more);
  /// ZMQ_POLLIN and ZMQ_POLLOUT, as they are now. libzmq hears what it has been told.
  int events() const;
  /// Readable when libzmq has something to tell this socket: by its edge, that is until the socket
  /// has heard it, which any call may do.
  int descriptor() const;
  void* get() const { return socket_.get(); }

 private:
  class Close {
   public:
    void operator()(void* socket) const {
      if (home_.is_here()) zmq_close(socket);
    }

   private:
    ForkGuard home_;
  };
  explicit ZmqSocket(void* socket) : socket_(socket) {}

  std::unique_ptr<void, Close> socket_;
};

}  // namespace stretto::zmq
