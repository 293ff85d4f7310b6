// SPDX-License-Identifier: Apache-2.0
// Owners of what libzmq's C interface hands out: context, socket, message. Nothing here knows of
// frames or links; everything else in this folder goes through these and never frees by hand.
#pragma once

#include <zmq.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "common/buffer.h"
#include "common/check.h"
#include "stretto/status.h"

namespace stretto::zmq {

/// "wanted: what libzmq or the operating system said", with the code that fits `error`.
Status failure(const std::string& wanted, int error);

/// Ok if `count` more descriptors can be opened now, and some to spare. libzmq ends the process
/// where some of its own cannot be, so this is asked first.
Status need_descriptors(int count, const std::string& wanted);

/// libzmq reads in batches of this size. Smaller payloads share the memory of their batch, at any
/// alignment, and would keep all of it from being freed: they are copied.
inline constexpr std::size_t kLeastTaken = 8192;

struct TerminateContext {
  void operator()(void* context) const;
};
/// A libzmq context. Ends once all of its sockets are closed and what they had queued is released.
using Context = std::unique_ptr<void, TerminateContext>;
Result<Context> open_context(int io_threads, int max_sockets);

/// One part of a message. Thread: any (a value).
class LibzmqMessage {
 public:
  LibzmqMessage() { zmq_msg_init(&message_); }
  /// With room for so many bytes.
  explicit LibzmqMessage(std::size_t bytes) {
    STRETTO_CHECK(zmq_msg_init_size(&message_, bytes) == 0);
  }
  LibzmqMessage(LibzmqMessage&& other) noexcept : LibzmqMessage() { *this = std::move(other); }
  LibzmqMessage& operator=(LibzmqMessage&& other) noexcept {
    zmq_msg_move(&message_, &other.message_);
    return *this;
  }
  ~LibzmqMessage() { zmq_msg_close(&message_); }

  /// A message of these bytes: large ones by lease, without a copy; small ones copied.
  static LibzmqMessage lend(const Buffer& payload);
  /// The bytes as a Buffer of our own: large ones without a copy; small ones in aligned memory.
  static Buffer take(LibzmqMessage message);

  std::span<std::byte> bytes() {
    return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
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
class Socket {
 public:
  /// `type` is ZMQ_ROUTER, ZMQ_DEALER or ZMQ_PAIR.
  static Result<Socket> open(const Context& context, int type);

  /// Sets an option that only our own bug could make libzmq refuse.
  template <typename T>
  void set(int option, T value) {
    STRETTO_CHECK(zmq_setsockopt(socket_.get(), option, &value, sizeof value) == 0);
  }
  /// Lets its connections ask whether far ends are there (van/tcp_path.h). Before it is connected
  /// or bound.
  void keep_alive();
  /// True if there was a part. False: nothing has come, and all that libzmq had to tell this socket
  /// has been heard.
  bool receive(LibzmqMessage& message);
  /// 0, or the errno that says why nothing was sent: EAGAIN, EHOSTUNREACH. Never waits.
  int send(std::span<const std::byte> bytes, bool more);
  int send(LibzmqMessage message, bool more);
  /// True if a message could be sent now.
  bool writable() const;
  /// Readable when libzmq has something to tell this socket.
  int descriptor() const;
  void* get() const { return socket_.get(); }

 private:
  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  explicit Socket(void* socket) : socket_(socket) {}

  std::unique_ptr<void, Close> socket_;
};

}  // namespace stretto::zmq
