// SPDX-License-Identifier: Apache-2.0
// The calls into libzmq that need more than one line: errors as text, interrupted calls repeated,
// payloads moved between Buffer and zmq_msg_t.
#include "van/zmq/handles.h"

#include <fmt/core.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/descriptor.h"
#include "common/system_error.h"
#include "van/transport/tcp_info.h"

namespace stretto::zmq {
namespace {

// Below this size a copy is cheaper than a lease: libzmq copies the bytes into its batch.
constexpr std::size_t kLeastLent = 4096;
constexpr std::uintptr_t kAlignment = alignof(std::max_align_t) / 2;  // Of libzmq's large messages.

// A payload that libzmq holds; libzmq releases it on a thread of its own.
struct LentPayload {
  explicit LentPayload(Buffer buffer) : payload(std::move(buffer)) {
    ready.store(true, std::memory_order_release);
  }
  static void end(void*, void* self) {
    auto* lent = static_cast<LentPayload*>(self);
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

// Repeats a libzmq call while signals interrupt it. Returns 0 or its errno.
template <typename Call>
int uninterrupted(Call call) {
  while (call() < 0) {
    if (zmq_errno() != EINTR) return zmq_errno();
  }
  return 0;
}

}  // namespace

Status zmq_failure(const std::string& wanted, int error) {
  if (error > ZMQ_HAUSNUMERO) {
    return {Code::kNetwork, fmt::format("{}: {}", wanted, zmq_strerror(error))};
  }
  return failure(wanted, error);
}

Status need_descriptors(int count, const std::string& wanted) {
  // A margin: other threads, including libzmq's, open descriptors at any time.
  constexpr int kMargin = 16;
  std::vector<Descriptor> opened;
  for (int i = 0; i < count + kMargin; ++i) {
    opened.emplace_back(::eventfd(0, EFD_CLOEXEC));
    if (opened.back().is_open()) continue;
    return failure(fmt::format("{}, for which {} descriptors should be free, and {} are", wanted,
                               count + kMargin, i),
                   errno);
  }
  return {};
}

void TerminateContext::operator()(void* context) const {
  if (!home_.is_here()) return;
  uninterrupted([context] { return zmq_ctx_term(context); });
}

Result<ZmqContext> open_context(int io_threads, int max_sockets) {
  // Two for each thread, including the reaper, and a socket to start them with.
  Status status = need_descriptors(2 * (io_threads + 1) + 4, "wanted a libzmq context");
  if (!status.ok()) return status;
  ZmqContext context(zmq_ctx_new());
  if (context == nullptr) return zmq_failure("wanted a libzmq context", zmq_errno());
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_IO_THREADS, io_threads) == 0);
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, max_sockets) == 0);
  // Messages queued when a socket closes are dropped: with LINGER 0 closing does not wait.
  STRETTO_CHECK(zmq_ctx_set(context.get(), ZMQ_BLOCKY, 0) == 0);
  // libzmq starts its threads with the first socket.
  const Result<ZmqSocket> first = ZmqSocket::open(context, ZMQ_PAIR);
  if (!first.ok()) return first.status();
  return context;
}

MessagePart MessagePart::lend(const Buffer& payload) {
  if (payload.size() < kLeastLent) {
    MessagePart part(payload.size());
    if (!payload.empty()) std::memcpy(part.bytes().data(), payload.data(), payload.size());
    return part;
  }
  MessagePart part;
  auto* lent = new LentPayload(payload);
  auto* data = const_cast<std::byte*>(payload.data());  // libzmq only reads what it sends.
  STRETTO_CHECK(zmq_msg_init_data(&part.message_, data, payload.size(), LentPayload::end, lent) ==
                0);
  return part;
}

Buffer MessagePart::take(MessagePart part) {
  const std::span<std::byte> bytes = part.bytes();
  if (bytes.empty()) return {};
  if (bytes.size() < kLeastTaken || !is_aligned(bytes.data())) return Buffer::copy_of(bytes);
  return Buffer::adopt(bytes, [owner = std::move(part)] {});
}

std::string MessagePart::peer_address() const {
  const char* address = zmq_msg_gets(&message_, "Peer-Address");
  return address == nullptr ? "an unknown address" : address;
}

Result<ZmqSocket> ZmqSocket::open(const ZmqContext& context, int type) {
  void* socket = zmq_socket(context.get(), type);
  if (socket == nullptr) return zmq_failure("wanted a libzmq socket", zmq_errno());
  return ZmqSocket(socket);
}

void ZmqSocket::keep_alive() {
  set(ZMQ_TCP_KEEPALIVE, 1);
  set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepAliveIdle);
  set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepAliveInterval);
  set(ZMQ_TCP_KEEPALIVE_CNT, kKeepAliveTries);
}

bool ZmqSocket::receive(MessagePart& part) {
  return uninterrupted([&] { return zmq_msg_recv(part.get(), socket_.get(), ZMQ_DONTWAIT); }) == 0;
}

int ZmqSocket::send(std::span<const std::byte> bytes, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  return uninterrupted([&] { return zmq_send(socket_.get(), bytes.data(), bytes.size(), flags); });
}

int ZmqSocket::send(MessagePart part, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  return uninterrupted([&] { return zmq_msg_send(part.get(), socket_.get(), flags); });
}

int ZmqSocket::events() const {
  int events = 0;
  std::size_t size = sizeof events;
  return zmq_getsockopt(socket_.get(), ZMQ_EVENTS, &events, &size) == 0 ? events : 0;
}

int ZmqSocket::descriptor() const {
  int descriptor = -1;
  std::size_t size = sizeof descriptor;
  STRETTO_CHECK(zmq_getsockopt(socket_.get(), ZMQ_FD, &descriptor, &size) == 0);
  return descriptor;
}

}  // namespace stretto::zmq
