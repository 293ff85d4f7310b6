// SPDX-License-Identifier: Apache-2.0
// RPC: user-defined messages between processes, with the scheduling of tensors. A call and its
// answer are sent in slices, so a more urgent one overtakes them. Both can be reprioritised, paused
// and cancelled in flight.
//
//   stretto::rpc::Endpoint server = stretto::rpc::Endpoint::open().or_exit();
//   server.on("shout", [](stretto::rpc::Request request, stretto::rpc::Reply reply) {
//     reply.send(std::string(request.message.text()) + "!");
//   }).or_exit();
//   std::string address = server.listen().or_exit();
//
//   stretto::rpc::Endpoint client = stretto::rpc::Endpoint::open().or_exit();
//   stretto::rpc::Peer peer = client.connect(address).or_exit();
//   stretto::rpc::Call call = client.call(peer, "shout", "hello", {.priority = 5});
//   std::puts(std::string(call.wait().or_exit().text()).c_str());   // hello!
//
// No call waits for ever: each ends within its timeout, with a Status that names the method, the
// peer and the cause. A handler is called at most once for each call. After kTimeout or kPeerLost
// the caller does not know whether the handler was called. A peer's calls may be handled in another
// order than they were made in: by priority, then deadline.
//
// Handlers and callbacks run on the endpoint's loop: on its own thread, or on a thread that
// currently waits for the loop (connect, listen, Call::wait); never on two at once. Blocking calls
// return kInvalidArgument in handlers and callbacks. A waiting thread must hold no lock that a
// handler or callback takes, not even with a limit on the wait. Handlers and callbacks see the
// state of the thread that they run on (CUDA device, rounding mode, locale, signal mask), and must
// restore it. pthread_cancel of a waiting thread takes effect after the call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto::rpc {

/// Largest message, in a call or an answer.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;
/// Longest name of a method, in bytes; the shortest has one.
inline constexpr std::size_t kMaxMethodBytes = 256;
/// Longest cause of an error that reaches the caller, in bytes; the rest is cut off.
inline constexpr std::size_t kMaxErrorBytes = 4096;
/// Longest timeout of a call.
inline constexpr Duration kMaxTimeout = std::chrono::hours(24);

namespace detail {
class CallState;
class EndpointImpl;
class ReplyState;
}  // namespace detail

/// Immutable bytes of a call or an answer. Copies are cheap: they share the bytes, and the last
/// copy frees them. At most kMaxMessageBytes can be sent. Thread: any (a value).
class Message {
 public:
  Message() = default;  ///< No bytes.
  /// Takes ownership of the bytes, without a copy.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(bytes)`
  Message(std::vector<std::byte> bytes);
  /// Takes ownership of the text, without a copy.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(text)`
  Message(std::string text);
  /// Copies the text.
  // NOLINTNEXTLINE(google-explicit-constructor): `call(peer, "shout", "hello")`
  Message(const char* text) : Message(std::string(text)) {}
  /// Copies the bytes.
  static Message copy_of(std::span<const std::byte> bytes);
  /// Refers to the caller's memory, without a copy: it must stay unchanged and valid while a copy
  /// of `owner` exists. The last copy may end on any thread, and its deleter must not block.
  static Message lent(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// The bytes; valid as long as this message or a copy of it exists.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The same bytes as text; not zero-terminated.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::size_t size() const { return bytes_.size(); }
  /// The owner of the bytes; null if there are none.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

/// The endpoint at the other end of a link. Only the Endpoint that returned it can use it. It never
/// means another peer: after the link has ended, calls end with kPeerLost. Thread: any (a value).
class Peer {
 public:
  Peer() = default;  ///< No peer.
  explicit Peer(std::uint32_t id) : id_(id) {}
  /// Unique within one Endpoint; 0: no peer.
  std::uint32_t id() const { return id_; }
  friend bool operator==(const Peer&, const Peer&) = default;

 private:
  std::uint32_t id_ = 0;
};

/// The priority, deadline and timeout of a call.
struct CallOptions {
  int priority = 0;             ///< Higher goes first, over all calls and peers of the endpoint.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first. Passing is no error.
  /// Above 0, at most kMaxTimeout; afterwards the call ends with kTimeout. It runs from call() on,
  /// also while the call is paused.
  Duration timeout = std::chrono::seconds(60);
};

/// The caller's handle on a call in flight, like a future; the call ends exactly once. Copies are
/// handles on the same call. Dropping them does not cancel it. Thread: any.
class [[nodiscard]] Call {
 public:
  Call() = default;  ///< Ended, with an empty answer.
  explicit Call(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  /// Blocks until the answer has arrived, or an error: kPeerLost (the link has ended), kTimeout,
  /// kCancelled, kUnsupported (the peer has no such method), kResource (a limit of either end), or
  /// the handler's error. kInvalidArgument, at once, in a handler or on_done(): the loop that would
  /// receive the answer is the one that would wait.
  Result<Message> wait() const;
  /// Blocks at most `limit`. kTimeout while done() is false means that the call is still in flight.
  Result<Message> wait_for(Duration limit) const;
  /// True once the call has ended; wait() then returns at once.
  bool done() const;
  /// Calls `then` once with the outcome: on the endpoint's thread, in a call that waits for the
  /// endpoint, or before returning if the call has ended. `then` must not block, throw or destroy
  /// the endpoint; it may make calls.
  void on_done(std::function<void(const Result<Message>&)> then) const;

  // A call can be rescheduled in flight. Changes apply to the unsent bytes of the call, and then of
  // its answer. Asynchronous: these return at once, without effect once the call has ended.

  /// Higher goes first.
  void set_priority(int priority) const;
  /// Among equal priorities earlier goes first.
  void set_deadline(Time deadline) const;
  /// Holds back unsent bytes; the timeout still runs.
  void pause() const;
  void resume() const;  ///< Continues from where it was.
  /// Ends the call at once with kCancelled. The peer stops sending the answer, and its handler can
  /// see the cancellation (Reply::wanted).
  void cancel() const;

 private:
  std::shared_ptr<detail::CallState> state_;
};

/// An incoming call, as its handler gets it. Thread: any (a value).
struct Request {
  Message message;              ///< May be kept, and sent on or back without a copy.
  Peer from;                    ///< The caller; can be called in turn.
  int priority = 0;             ///< Set by the caller; the answer has it too.
  Time deadline = Time::max();  ///< On this host's clock; for the handler to decide by.
};

/// Answers a call: now, or later and from any thread, once. Dropping it unused answers with an
/// error. After the endpoint has ended it does nothing. Thread: any, one at a time.
class Reply {
 public:
  explicit Reply(std::shared_ptr<detail::ReplyState> state) : state_(std::move(state)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  /// Sends the answer; returns at once. An answer above kMaxMessageBytes reaches the caller as
  /// kInvalidArgument. Only the first answer is sent.
  void send(Message answer);
  /// Sends an error: its code and cause reach the caller. An ok status is sent as kCancelled.
  void fail(const Status& why);
  /// False once an answer was given, or the caller has cancelled, timed out or disconnected.
  bool wanted() const;

 private:
  std::shared_ptr<detail::ReplyState> state_;
};

/// Answers calls of one method. Runs on the endpoint's loop and must not block: for long work move
/// `reply` to another thread. A std::exception that it throws is logged; its reply is then dropped,
/// unless it was moved away.
using Handler = std::function<void(Request request, Reply reply)>;

/// Configuration of an endpoint. Each limit is at least 1.
struct Options {
  std::string token = {};               ///< Shared secret: 16 bytes at least if not on loopback.
  std::string bind_host = "127.0.0.1";  ///< Address that it listens at.
  std::string node_host = {};           ///< Address for peers; empty: bind_host.
  std::string transport = "auto";       ///< auto, tcp, zmq, shm or fabric.
  std::uint32_t max_calls = 1024;       ///< In flight for each peer, in each direction.
  std::uint32_t max_peers = 1024;       ///< That may have connected to us.
  /// Memory limit for each peer, for the sum of messages that handlers have not answered yet and
  /// answers that the peer has not read. Partially received messages have a limit of the same size,
  /// or of one message. Calls beyond that end with kResource.
  std::uint64_t max_held_bytes = std::uint64_t{1} << 30;

  /// Reads STRETTO_JOB_TOKEN, _BIND_HOST, _NODE_HOST and _TRANSPORT (docs/CONFIGURATION.md).
  /// kInvalidArgument names the invalid variable.
  static Result<Options> from_environment();
};

/// Makes calls, and answers those of peers, on a thread of its own. A process may have several
/// endpoints. In a child made by fork, calls end at once with kInvalidArgument, and the destructor
/// does nothing. Thread: any, but for moving and destroying it. Movable; a moved-from endpoint can
/// only be destroyed.
class Endpoint {
 public:
  static Result<Endpoint> open();  ///< With Options::from_environment().
  /// Starts the endpoint's thread. Peers can connect after listen(). kInvalidArgument for invalid
  /// options; kUnsupported for a transport that is not in this build.
  static Result<Endpoint> open(const Options& options);

  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  ~Endpoint();  ///< close(). Not in handlers or callbacks: its thread would wait for itself.

  /// Registers the handler of `method`. kInvalidArgument if the name is empty or too long, or if a
  /// method of this name (or hash) has a handler.
  Status on(std::string_view method, Handler handler);
  /// Accepts connections at `port` of Options::bind_host; 0: at a free one. Returns the address for
  /// peers, host:port. Blocks for the endpoint's thread. kNetwork if the port is taken;
  /// kInvalidArgument for a second listen(), and for 0.0.0.0 or :: without a node_host.
  Result<std::string> listen(std::uint16_t port = 0);
  /// The address that listen() returned; empty before.
  std::string address() const;
  /// Connects to host:port, and blocks until the peer has accepted; retries until then. kTimeout:
  /// no answer within `timeout`. kRefused: the peer has another token, or is no endpoint;
  /// kResource: it has max_peers already. Not in handlers: kInvalidArgument.
  Result<Peer> connect(std::string_view address, Duration timeout = std::chrono::seconds(10));
  /// Ends the link; calls in flight on it end with kPeerLost, at both ends. Returns at once.
  void disconnect(Peer peer);

  /// Calls `method` of the peer; returns at once. Invalid calls end at once. kInvalidArgument: the
  /// message or name is too long, or the timeout out of range. kResource: more than max_calls in
  /// flight. kPeerLost: unknown peer. kCancelled: closed endpoint.
  Call call(Peer peer, std::string_view method, Message message, const CallOptions& options = {});

  /// Ends every call in flight, outgoing or incoming, with kCancelled; blocks until queued answers
  /// have been sent, for at most five seconds. The port is free once the endpoint is destroyed.
  /// Does nothing in handlers and callbacks, and when called again.
  void close();

 private:
  explicit Endpoint(std::unique_ptr<detail::EndpointImpl> impl);
  std::unique_ptr<detail::EndpointImpl> impl_;
};

}  // namespace stretto::rpc
#pragma GCC visibility pop
