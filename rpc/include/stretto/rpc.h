// SPDX-License-Identifier: Apache-2.0
// RPC: messages of your own between processes, sent as tensors are: a call and its answer leave in
// slices, so that a more urgent one overtakes them; the priority of both may be changed, and both
// may be paused and cancelled while they are in flight.
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
// Nothing waits for ever: each call ends within its timeout, with a Status that names the method,
// the peer and the cause. Delivery: a handler is called at most once for each call; of a call that
// ends with kTimeout or kPeerLost the caller does not know whether it was. Calls of one peer may be
// handled in another order than they were made in: by priority, then deadline.
//
// Each endpoint has a loop, on which handlers and callbacks run: on a thread of its own, or on one
// that waits for the loop just then (connect, listen, Call::wait); never on two at once. Calls that
// wait answer kInvalidArgument in handlers and callbacks. Who waits must hold no lock that one of
// these takes: not even with a limit, which ends none of them. What is a thread's own (CUDA device,
// rounding mode, locale, signal mask) is in them that of the thread that they run on; they put back
// what they change. pthread_cancel of a thread that waits takes effect after the call.
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
/// Longest name of a method, in bytes; it has one byte at least.
inline constexpr std::size_t kMaxMethodBytes = 256;
/// Longest cause of an error that reaches the caller; what is longer is cut off.
inline constexpr std::size_t kMaxErrorBytes = 4096;
/// Longest timeout of a call.
inline constexpr Duration kMaxTimeout = std::chrono::hours(24);

namespace detail {
class CallState;
class EndpointImpl;
class ReplyState;
}  // namespace detail

/// Bytes of a call or an answer, which never change. A copy shares them, so copies are cheap; the
/// last one frees them. At most kMaxMessageBytes can be sent. Thread: any (a value).
class Message {
 public:
  Message() = default;  ///< No bytes.
  /// Owns these bytes; none are copied.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(bytes)`
  Message(std::vector<std::byte> bytes);
  /// Owns this text; none of it is copied.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(text)`
  Message(std::string text);
  /// Copies the text.
  // NOLINTNEXTLINE(google-explicit-constructor): `call(peer, "shout", "hello")`
  Message(const char* text) : Message(std::string(text)) {}
  /// Copies the bytes.
  static Message copy_of(std::span<const std::byte> bytes);
  /// Refers to memory of the caller's, without a copy: it must neither change nor go while a copy
  /// of `owner` exists. The last copy may end on any thread, and its deleter must not block.
  static Message lent(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// The bytes; valid as long as this message or a copy of it exists.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The same bytes as text; not zero-terminated.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::size_t size() const { return bytes_.size(); }
  /// What keeps the bytes; null if there are none.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

/// An endpoint at the far end of a link. Only the Endpoint that gave it can use it, and it never
/// means another peer, also after the link has ended: calls of it end with kPeerLost then.
/// Thread: any (a value).
class Peer {
 public:
  Peer() = default;  ///< Nobody.
  explicit Peer(std::uint32_t id) : id_(id) {}
  /// Not given twice by one Endpoint; 0: nobody.
  std::uint32_t id() const { return id_; }
  friend bool operator==(const Peer&, const Peer&) = default;

 private:
  std::uint32_t id_ = 0;
};

/// How a call is scheduled, and how long it may take.
struct CallOptions {
  int priority = 0;             ///< Higher goes first, over all calls and peers of the endpoint.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first. Passing is no error.
  /// Above 0, at most kMaxTimeout; then the call ends with kTimeout. It runs from call() on, also
  /// while the call is paused.
  Duration timeout = std::chrono::seconds(60);
};

/// The caller's handle on a call in flight, as a future is; the call ends exactly once. Copies are
/// handles on the same call. Dropping them does not cancel it. Thread: any.
class [[nodiscard]] Call {
 public:
  Call() = default;  ///< Ended, with an empty answer.
  explicit Call(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  /// Blocks until the answer is here, or an error in its place: kPeerLost (the link has ended),
  /// kTimeout, kCancelled, kUnsupported (the far end has no such method), kResource (a limit of
  /// either end), or the error that the handler answered with. kInvalidArgument, at once, in a
  /// handler or on_done(): the loop that would bring the answer is the one that would wait.
  Result<Message> wait() const;
  /// Blocks at most `limit`. kTimeout while done() is false means that the call goes on.
  Result<Message> wait_for(Duration limit) const;
  /// True once it has ended; wait() then returns at once.
  bool done() const;
  /// Calls `then` once with the outcome: on the endpoint's thread or in a call that waits for the
  /// endpoint, or here before returning if the call has ended. It must not block, throw or destroy
  /// the endpoint; it may make calls.
  void on_done(std::function<void(const Result<Message>&)> then) const;

  // How the call is scheduled may change while it is in flight. That applies to what has not left
  // yet of the call, and then of its answer. Asynchronous: these return at once. Without effect
  // once the call has ended.

  /// Higher goes first.
  void set_priority(int priority) const;
  /// Among equal priorities earlier goes first.
  void set_deadline(Time deadline) const;
  /// Holds back what has not left; the timeout still runs.
  void pause() const;
  void resume() const;  ///< Lets it go on, from where it was.
  /// Ends it at once with kCancelled. The far end stops sending the answer, and its handler can see
  /// that nobody wants one (Reply::wanted).
  void cancel() const;

 private:
  std::shared_ptr<detail::CallState> state_;
};

/// A call that has come, as its handler gets it. Thread: any (a value).
struct Request {
  Message message;              ///< May be kept, and sent on or back without a copy.
  Peer from;                    ///< Who calls; may be called in turn.
  int priority = 0;             ///< As the caller said; the answer has them too.
  Time deadline = Time::max();  ///< On this host's clock; for the handler to decide by.
};

/// What a handler answers with: now, or later and from any thread, once. Dropping it unused answers
/// with an error. It may outlive the endpoint, and does nothing then. Thread: any, one at a time.
class Reply {
 public:
  explicit Reply(std::shared_ptr<detail::ReplyState> state) : state_(std::move(state)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  /// Sends the answer; returns at once. One of more than kMaxMessageBytes reaches the caller as
  /// kInvalidArgument. After the first answer nothing happens.
  void send(Message answer);
  /// Sends an error instead: its code and cause reach the caller. An ok status is sent as
  /// kCancelled.
  void fail(const Status& why);
  /// False once it has been used, or the caller has cancelled, timed out or is gone.
  bool wanted() const;

 private:
  std::shared_ptr<detail::ReplyState> state_;
};

/// Answers calls of one method. Runs on the endpoint's loop and must not block: for long work
/// move `reply` to a thread of your own. A std::exception that it throws is logged; the reply that
/// it had is dropped then, unless it was moved away.
using Handler = std::function<void(Request request, Reply reply)>;

/// Configuration of an endpoint. The limits are 1 at least.
struct Options {
  std::string token = {};               ///< Shared secret: 16 bytes at least if not on loopback.
  std::string bind_host = "127.0.0.1";  ///< Address that it listens at.
  std::string node_host = {};           ///< Address that others are told; empty: bind_host.
  std::string transport = "auto";       ///< auto, tcp, zmq, shm or fabric.
  std::uint32_t max_calls = 1024;       ///< In flight for each peer, in each direction.
  std::uint32_t max_peers = 1024;       ///< That may have connected to us.
  /// Limit of memory for each peer: messages that handlers have not answered yet and answers that
  /// the peer has not taken may hold so much together; and as much, or one message, those that are
  /// partially received. Calls beyond that end with kResource.
  std::uint64_t max_held_bytes = std::uint64_t{1} << 30;

  /// From STRETTO_JOB_TOKEN, _BIND_HOST, _NODE_HOST and _TRANSPORT (docs/CONFIGURATION.md).
  /// kInvalidArgument names the variable that cannot be used.
  static Result<Options> from_environment();
};

/// One end of calls: makes them, and answers those of others. Has a thread of its own. A process
/// may have several. In a child made by fork calls end at once with kInvalidArgument, and
/// destroying it does nothing. Thread: any, but for moving and destroying it. Movable; what is
/// moved from can only be destroyed.
class Endpoint {
 public:
  static Result<Endpoint> open();  ///< With Options::from_environment().
  /// Starts the endpoint's thread. Nobody can connect before listen(). kInvalidArgument for options
  /// that cannot be; kUnsupported for a transport that is not in this build.
  static Result<Endpoint> open(const Options& options);

  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  ~Endpoint();  ///< close(). Not in handlers or callbacks: its thread would wait for itself.

  /// From now on calls of `method` go to `handler`. kInvalidArgument if the name is empty or too
  /// long, or if a method of this name (or hash) has a handler.
  Status on(std::string_view method, Handler handler);
  /// Lets others connect, at `port` of Options::bind_host; 0: at a free one. Returns the address
  /// that they connect to, host:port. Blocks for the endpoint's thread. kNetwork if the port is
  /// taken; kInvalidArgument for a second listen(), and for 0.0.0.0 or :: without a node_host.
  Result<std::string> listen(std::uint16_t port = 0);
  /// The same again; empty before listen().
  std::string address() const;
  /// Connects to host:port, and blocks until the far end has accepted. While nobody answers it
  /// tries again until `timeout` has passed (kTimeout). kRefused: the far end has another token, or
  /// is no endpoint; kResource: it has max_peers already. Not in handlers: kInvalidArgument.
  Result<Peer> connect(std::string_view address, Duration timeout = std::chrono::seconds(10));
  /// Ends the link; calls in flight on it end with kPeerLost, at both ends. Returns at once.
  void disconnect(Peer peer);

  /// Calls `method` at the far end; returns at once. What cannot be done ends the call at once: a
  /// message or a name that is too long or a timeout out of range (kInvalidArgument), more than
  /// max_calls in flight (kResource), an unknown peer (kPeerLost), a closed endpoint (kCancelled).
  Call call(Peer peer, std::string_view method, Message message, const CallOptions& options = {});

  /// Ends every call in flight with kCancelled, and answers those of others so; blocks until
  /// answers that wait have left, five seconds at most. Its port is free when the endpoint is
  /// destroyed. Does nothing in handlers and callbacks, and when called again.
  void close();

 private:
  explicit Endpoint(std::unique_ptr<detail::EndpointImpl> impl);
  std::unique_ptr<detail::EndpointImpl> impl_;
};

}  // namespace stretto::rpc
#pragma GCC visibility pop
