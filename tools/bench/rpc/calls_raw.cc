// SPDX-License-Identifier: Apache-2.0
// The lower bounds of a call: shared memory of two processes with futex wake-ups; a TCP connection;
// libzmq as a server uses it, with an I/O thread at each end. Idle processes sleep in the kernel.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

#include "tools/bench/rpc/calls.h"
#include "tools/bench/support/sockets.h"
#include "tools/bench/support/system.h"
#include "tools/bench/support/zmq_handles.h"

namespace stretto::bench {
namespace {

// ---- a futex in shared memory

/// A count of messages: one process increments it, another one waits for it.
class Count {
 public:
  void add() {
    const std::uint32_t value = value_.fetch_add(1) + 1;
    if (waits_.load() != 0) futex(FUTEX_WAKE, value);
  }
  void wait_for_more_than(std::uint32_t seen) {
    while (value_.load() == seen) {
      waits_.store(1);
      if (value_.load() == seen) futex(FUTEX_WAIT, seen);
      waits_.store(0);
    }
  }

 private:
  void futex(int operation, std::uint32_t value) {
    static_assert(sizeof value_ == sizeof value);
    ::syscall(SYS_futex, &value_, operation, operation == FUTEX_WAKE ? 1U : value, nullptr, nullptr,
              0);
  }

  alignas(64) std::atomic<std::uint32_t> value_{0};
  alignas(64) std::atomic<std::uint32_t> waits_{0};
};

/// Memory shared with forked processes. A slot for each call in flight.
class SharedSlots {
 public:
  explicit SharedSlots(const CallShape& shape)
      : shape_(shape),
        size_(sizeof(Counts) + 2 * shape.inflight * shape.bytes),
        start_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (is_there()) new (start_) Counts;
  }
  ~SharedSlots() {
    if (is_there()) ::munmap(start_, size_);
  }
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;
  bool is_there() const { return start_ != MAP_FAILED; }

  Count& calls() { return counts().calls; }
  Count& answers() { return counts().answers; }
  std::byte* call(std::uint32_t number) { return slot(number % shape_.inflight); }
  std::byte* answer(std::uint32_t number) {
    return slot(shape_.inflight + number % shape_.inflight);
  }

 private:
  struct Counts {
    Count calls;
    Count answers;
  };
  Counts& counts() { return *static_cast<Counts*>(start_); }
  std::byte* slot(std::size_t index) {
    return static_cast<std::byte*>(start_) + sizeof(Counts) + index * shape_.bytes;
  }

  CallShape shape_;
  std::size_t size_;
  void* start_;
};

// Each message is copied once, into shared memory, and used there. The counters wrap after 2^32
// calls, which takes hours.
Result<Report> call_by_futex(const CallShape& shape) {
  SharedSlots slots(shape);
  if (!slots.is_there()) return refused(Code::kResource, "no shared memory");
  const Result<Answerer> answerer = Answerer::start([&](const TellAddress& tell) -> Status {
    if (Status status = tell("here"); !status.ok()) return status;
    for (std::uint32_t number = 0;; ++number) {
      slots.calls().wait_for_more_than(number);
      std::memcpy(slots.answer(number), slots.call(number), shape.bytes);
      slots.answers().add();
    }
  });
  if (!answerer.ok()) return answerer.status();
  const std::vector<std::byte> message(shape.bytes, std::byte{1});
  std::uint32_t begun = 0;
  std::uint32_t finished = 0;
  return keep_calling(
      shape, answerer->process_id(),
      [&](std::size_t) {
        std::memcpy(slots.call(begun++), message.data(), message.size());
        slots.calls().add();
        return Status();
      },
      [&](std::size_t) -> Status {
        slots.answers().wait_for_more_than(finished);
        if (*slots.answer(finished++) == std::byte{1}) return {};
        return {Code::kMalformed, "another message came back"};
      });
}

// ---- TCP

// Calls in flight must fit into the kernel's buffers, since neither end reads while it writes.
bool fits_buffers(const CallShape& shape) {
  return shape.inflight == 1 || shape.inflight * shape.bytes <= 64 << 10;
}

Result<Report> call_by_tcp(const CallShape& shape) {
  const std::string host = "127.0.0.1";
  const auto listening = listen_at(host);
  if (!listening.ok()) return listening.status();
  std::vector<std::byte> message(shape.bytes, std::byte{1});
  const Result<Answerer> answerer = Answerer::start([&](const TellAddress& tell) -> Status {
    if (Status status = tell(fmt::format("{}:{}", host, listening->second)); !status.ok())
      return status;
    const Result<Descriptor> caller = accept_one(listening->first);
    if (!caller.ok()) return caller.status();
    while (read_all(caller->get(), message) && write_all(caller->get(), message)) {
    }
    return {};  // The caller has ended.
  });
  if (!answerer.ok()) return answerer.status();
  const Result<Descriptor> socket = connect_to(answerer->address());
  if (!socket.ok()) return socket.status();
  const auto done = [](bool fine) {
    return fine ? Status() : refused(Code::kNetwork, "cannot exchange over loopback");
  };
  return keep_calling(
      shape, answerer->process_id(),
      [&](std::size_t) { return done(write_all(socket->get(), message)); },
      [&](std::size_t) { return done(read_all(socket->get(), message)); });
}

// ---- libzmq

constexpr int kCallQueueFrames = 4096;  // More than the calls in flight.

Status echo_by_zmq(const TellAddress& tell) {
  const ZmqContext context = open_context();
  const ZmqSocket socket = open_socket(context, ZMQ_ROUTER, kCallQueueFrames);
  const int for_ever = -1;
  zmq_setsockopt(socket.get(), ZMQ_RCVTIMEO, &for_ever, sizeof for_ever);
  const std::string endpoint = bind_to_loopback(socket);
  if (endpoint.empty()) return zmq_refused("listen");
  if (Status status = tell(endpoint); !status.ok()) return status;
  ZmqMessage id;
  ZmqMessage message;
  while (id.receive(socket, 0) && message.receive(socket, 0)) {
    if (!id.send(socket, ZMQ_SNDMORE) || !message.send(socket, 0)) break;
  }
  return zmq_refused("answer");
}

Result<Report> call_by_zmq(const CallShape& shape) {
  const Result<Answerer> answerer = Answerer::start(echo_by_zmq);
  if (!answerer.ok()) return answerer.status();
  const std::vector<std::byte> message(shape.bytes);  // libzmq reads it until its context ends.
  const ZmqContext context = open_context();
  const ZmqSocket socket = open_socket(context, ZMQ_DEALER, kCallQueueFrames);
  if (zmq_connect(socket.get(), answerer->address().c_str()) != 0) return zmq_refused("connect");
  ZmqMessage answer;
  const auto done = [](bool fine) { return fine ? Status() : zmq_refused("exchange"); };
  return keep_calling(
      shape, answerer->process_id(),
      [&](std::size_t) { return done(send_in_place(socket, message, 0)); },
      [&](std::size_t) { return done(answer.receive(socket, 0) && answer.size() == shape.bytes); });
}

CallWay raw_way(const std::string& name, Result<Report> (*call)(const CallShape&)) {
  return {name, [name, call](const CallShape& shape, int report_descriptor) {
            return reported(call(shape), name, report_descriptor);
          }};
}

}  // namespace

std::vector<CallWay> raw_call_ways() {
  CallWay tcp = raw_way("raw_tcp", call_by_tcp);
  tcp.takes = fits_buffers;
  return {raw_way("futex", call_by_futex), raw_way("raw_zmq", call_by_zmq), std::move(tcp)};
}

}  // namespace stretto::bench
