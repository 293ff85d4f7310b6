// SPDX-License-Identifier: Apache-2.0
// The calls into libzmq that need more than one line: errors put into words, interrupted calls
// repeated, payloads moved between Buffer and zmq_msg_t.
#include "van/zmq/handles.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/failure.h"
#include "van/tcp_path.h"

namespace stretto::zmq {
namespace {

// Below this a copy is cheaper than a lease: libzmq would copy the bytes into its own batch anyway.
constexpr std::size_t kLeastLent = 512;
constexpr std::uintptr_t kAlignment = alignof(std::max_align_t) / 2;  // What an lmsg has.

// A payload that libzmq holds, until it says that it needs it no more, on a thread of its own.
struct Lent {
  explicit Lent(Buffer buffer) : payload(std::move(buffer)) {
    ready.store(true, std::memory_order_release);
  }
  static void end(void*, void* self) {
    auto* lent = static_cast<Lent*>(self);
    // libzmq orders the threads already, but a sanitizer cannot see that.
    STRETTO_CHECK(lent->ready.load(std::memory_order_acquire));
    delete lent;
  }

  Buffer payload;
  std::atomic<bool> ready{false};
};

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
}

// A libzmq call until no signal interrupts it: 0, or its errno.
template <typename Call>
int uninterrupted(Call call) {
  while (call() < 0) {
    if (zmq_errno() != EINTR) return zmq_errno();
  }
  return 0;
}

}  // namespace

Status failure(const std::string& wanted, int error) {
  if (error > ZMQ_HAUSNUMERO) {
    return {Code::kNetwork, fmt::format("{}: {}", wanted, zmq_strerror(error))};
  }
  Status status = stretto::failure(wanted, error);
  if (error != EINVAL) return status;
  return {Code::kInvalidArgument,
          status.cause() + "; give an IPv4 address, or to connect a host name, and a port"};
}

Status need_descriptors(int count, const std::string& wanted) {
  // More than are needed: other threads, libzmq's too, open some at any time.
  constexpr int kMargin = 16;
  std::vector<int> opened;
  int error = 0;
  for (int i = 0; i < count + kMargin && error == 0; ++i) {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC);
    if (descriptor < 0) {
      error = errno;
    } else {
      opened.push_back(descriptor);
    }
  }
  for (const int descriptor : opened) ::close(descriptor);
  if (error == 0) return {};
  return failure(fmt::format("{}, for which {} descriptors should be free, and {} are", wanted,
                             count + kMargin, opened.size()),
                 error);
}

void TerminateContext::operator()(void* context) const {
  uninterrupted([context] { return zmq_ctx_term(context); });
}

Result<Context> open_context(int io_threads, int max_sockets) {
  // Two for each thread, the reaper's being one of them, and a socket to start them with.
  Status status = need_descriptors(2 * (io_threads + 1) + 4, "wanted a libzmq context");
  if (!status.ok()) return status;
  Context context(zmq_ctx_new());
  if (context == nullptr) return failure("wanted a libzmq context", zmq_errno());
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_IO_THREADS, io_threads) == 0);
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, max_sockets) == 0);
  // What is queued when a socket closes is dropped: with LINGER 0 nothing waits for the network.
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_BLOCKY, 0) == 0);
  // Its threads start with its first socket.
  const Result<Socket> first = Socket::open(context, ZMQ_PAIR);
  if (!first.ok()) return first.status();
  return context;
}

LibzmqMessage LibzmqMessage::lend(const Buffer& payload) {
  LibzmqMessage message;
  if (payload.size() < kLeastLent) {
    STRETTO_CHECK(zmq_msg_init_size(&message.message_, payload.size()) == 0);
    if (!payload.empty()) {
      std::memcpy(zmq_msg_data(&message.message_), payload.data(), payload.size());
    }
    return message;
  }
  auto* lent = new Lent(payload);
  auto* data = const_cast<std::byte*>(payload.data());  // libzmq only reads what it sends.
  STRETTO_CHECK(zmq_msg_init_data(&message.message_, data, payload.size(), Lent::end, lent) == 0);
  return message;
}

Buffer LibzmqMessage::take(LibzmqMessage message) {
  const std::span<std::byte> bytes = message.bytes();
  if (bytes.empty()) return {};
  if (bytes.size() < kLeastTaken || !is_aligned(bytes.data())) return Buffer::copy_of(bytes);
  return Buffer::adopt(bytes, [owner = std::move(message)] {});
}

std::string LibzmqMessage::peer_address() const {
  const char* address = zmq_msg_gets(&message_, "Peer-Address");
  return address == nullptr ? "an unknown address" : address;
}

Result<Socket> Socket::open(const Context& context, int type) {
  void* socket = zmq_socket(context.get(), type);
  if (socket == nullptr) return failure("wanted a libzmq socket", zmq_errno());
  return Socket(socket);
}

void Socket::keep_alive() {
  set(ZMQ_TCP_KEEPALIVE, 1);
  set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepAliveIdle);
  set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepAliveInterval);
  set(ZMQ_TCP_KEEPALIVE_CNT, kKeepAliveTries);
}

bool Socket::receive(LibzmqMessage& message) {
  return uninterrupted([&] { return zmq_msg_recv(message.get(), socket_.get(), ZMQ_DONTWAIT); }) ==
         0;
}

int Socket::send(std::span<const std::byte> bytes, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  return uninterrupted([&] { return zmq_send(socket_.get(), bytes.data(), bytes.size(), flags); });
}

int Socket::send(LibzmqMessage message, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  return uninterrupted([&] { return zmq_msg_send(message.get(), socket_.get(), flags); });
}

bool Socket::writable() const {
  int events = 0;
  std::size_t size = sizeof events;
  return zmq_getsockopt(socket_.get(), ZMQ_EVENTS, &events, &size) == 0 &&
         (events & ZMQ_POLLOUT) != 0;
}

int Socket::descriptor() const {
  int descriptor = -1;
  std::size_t size = sizeof descriptor;
  STRETTO_CHECK(zmq_getsockopt(socket_.get(), ZMQ_FD, &descriptor, &size) == 0);
  return descriptor;
}

}  // namespace stretto::zmq
