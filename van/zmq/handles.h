// SPDX-License-Identifier: Apache-2.0
// Owners of libzmq's C objects: context, socket, message. They do not know frames or links. A
// forked child does not release them: their threads belong to the parent.
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

/// "wanted: the text of libzmq or the operating system", with the code that fits `error`.
Status zmq_failure(const std::string& wanted, int error);

/// Ok if `count` more descriptors can be opened now, and a margin. Call this first: libzmq aborts
/// the process if it cannot open some of its own.
Status need_descriptors(int count, const std::string& wanted);

/// libzmq reads in batches of this size. Smaller payloads share the memory of their batch at any
/// alignment and would keep all of it allocated, so they are copied.
inline constexpr std::size_t kLeastTaken = 8192;

/// Thread: loop.
class TerminateContext {
 public:
  void operator()(void* context) const;

 private:
  ForkGuard home_;
};
/// A libzmq context. It ends once all of its sockets are closed and their queues are released.
using ZmqContext = std::unique_ptr<void, TerminateContext>;
/// `io_threads`: the number of libzmq's I/O threads.
Result<ZmqContext> open_context(int io_threads, int max_sockets);

/// One part of a message. Thread: any (a value).
class MessagePart {
 public:
  MessagePart() { zmq_msg_init(&message_); }
  /// A part of `bytes` uninitialised bytes.
  explicit MessagePart(std::size_t bytes) {
    STRETTO_CHECK(zmq_msg_init_size(&message_, bytes) == 0);
  }
  MessagePart(MessagePart&& other) noexcept : MessagePart() { *this = std::move(other); }
  MessagePart& operator=(MessagePart&& other) noexcept {
    zmq_msg_move(&message_, &other.message_);
    return *this;
  }
  ~MessagePart() { zmq_msg_close(&message_); }

  /// A part of these bytes: large payloads are lent without a copy, small ones are copied.
  static MessagePart lend(const Buffer& payload);
  /// The bytes as a Buffer: large parts without a copy, small ones in aligned memory.
  static Buffer take(MessagePart part);

  std::span<std::byte> bytes() {
    return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  std::string_view text() {
    return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  bool more() const { return zmq_msg_more(&message_) != 0; }
  /// The descriptor of the connection that the part came from; -1 if libzmq does not know.
  int descriptor() const { return zmq_msg_get(&message_, ZMQ_SRCFD); }
  /// The IP address of the sender, or "an unknown address".
  std::string peer_address() const;
  zmq_msg_t* get() { return &message_; }

 private:
  zmq_msg_t message_;
};

/// Thread: loop.
class ZmqSocket {
 public:
  static Result<ZmqSocket> open(const ZmqContext& context, int type);

  /// Sets an option; a refusal by libzmq is a bug of ours.
  template <typename T>
  void set(int option, T value) {
    STRETTO_CHECK(zmq_setsockopt(socket_.get(), option, &value, sizeof value) == 0);
  }
  void set_bytes(int option, const void* bytes, std::size_t size) {
    STRETTO_CHECK(zmq_setsockopt(socket_.get(), option, bytes, size) == 0);
  }
  void keep_alive();
  /// True if there was a part. False: nothing has arrived, and libzmq has processed all commands
  /// for this socket.
  bool receive(MessagePart& part);
  /// 0, or the errno of the failure: EAGAIN, EHOSTUNREACH. Never waits.
  int send(std::span<const std::byte> bytes, bool more);
  int send(std::string_view bytes, bool more) {
    return send(std::as_bytes(std::span(bytes.data(), bytes.size())), more);
  }
  int send(MessagePart part, bool more);
  /// The current ZMQ_POLLIN and ZMQ_POLLOUT. The call lets libzmq process its pending commands.
  int events() const;
  /// Readable when libzmq has commands for this socket. Edge-triggered: any call on the socket may
  /// process them.
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
