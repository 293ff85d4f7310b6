// SPDX-License-Identifier: Apache-2.0
// RPC: messages of your own between processes, by the way that tensors go: a call and its answer
// leave in slices, so that what is urgent goes in between; both may be made more or less urgent,
// paused and cancelled while they are under way.
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
// the peer and the cause.
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
/// Longest name of a method; it has one byte at least.
inline constexpr std::size_t kMaxMethodBytes = 256;
/// What is longer of the text of an error is cut off.
inline constexpr std::size_t kMaxErrorBytes = 4096;
/// Longest timeout of a call.
inline constexpr Duration kMaxTimeout = std::chrono::hours(24);

namespace detail {
class CallState;
class EndpointImpl;
class ReplyState;
}  // namespace detail

/// Bytes that travel, and never change. A copy shares them. Thread: any (a value).
class Message {
 public:
  Message() = default;  ///< No bytes.
  /// Takes the bytes over.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(bytes)`
  Message(std::vector<std::byte> bytes);
  /// Takes the text over.
  // NOLINTNEXTLINE(google-explicit-constructor): `reply.send(text)`
  Message(std::string text);
  /// Copies the text.
  // NOLINTNEXTLINE(google-explicit-constructor): `call(peer, "shout", "hello")`
  Message(const char* text) : Message(std::string(text)) {}
  /// Copies the bytes.
  static Message copy_of(std::span<const std::byte> bytes);
  /// Shares memory that must not change while a copy of `owner` is held. The last copy may end on
  /// any thread, and its deleter must not block.
  static Message lent(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// The bytes, as long as this message or a copy of it is there.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The same bytes as text.
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

/// An endpoint at the far end of a link. Only the Endpoint that gave it can use it, and never for
/// another peer. Thread: any (a value).
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

/// What is wanted of a call.
struct CallOptions {
  int priority = 0;             ///< Higher goes first, over all calls and peers of the endpoint.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first. Passing is no error.
  Duration timeout = std::chrono::seconds(60);  ///< Then the call ends with kTimeout.
};

/// The caller's handle on a call under way, which ends exactly once. Dropping it does not cancel
/// the call. Thread: any.
class [[nodiscard]] Call {
 public:
  Call() = default;  ///< Ended, with an empty answer.
  explicit Call(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  /// Waits for the answer, or for why there is none: kPeerLost, kTimeout, kCancelled, or the error
  /// that the far end answered with. kInvalidArgument, at once, in a handler or on_done(): the loop
  /// that would bring the answer is the one that would wait.
  Result<Message> wait() const;
  /// Waits at most `limit`. kTimeout while done() is false means that the call goes on.
  Result<Message> wait_for(Duration limit) const;
  /// True once it has ended; wait() then returns at once.
  bool done() const;
  /// Calls `then` once with the outcome: on the endpoint's thread, or at once if it has ended. It
  /// must not block, throw or destroy the endpoint; it may make calls.
  void on_done(std::function<void(const Result<Message>&)> then) const;

  // A change of mind while the call goes on. It holds for what has not left yet of the call, and
  // then of its answer. Without effect once the call has ended.

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

/// A call that has come.
struct Request {
  Message message;              ///< May be kept, and sent on or back without a copy.
  Peer from;                    ///< Who calls; may be called in turn.
  int priority = 0;             ///< As the caller said; the answer has them too.
  Time deadline = Time::max();  ///< On this host's clock.
};

/// What a handler answers with: now, or later and from any thread, once. Dropping it unused answers
/// with an error. It may outlive the endpoint, and does nothing then. Thread: any, one at a time.
class Reply {
 public:
  explicit Reply(std::shared_ptr<detail::ReplyState> state) : state_(std::move(state)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  /// The answer. One that is too large reaches the caller as an error. After the first answer
  /// nothing happens.
  void send(Message answer);
  /// An error instead: its code and cause reach the caller. An ok status is sent as kCancelled.
  void fail(const Status& why);
  /// False once it has been used, or the caller has cancelled, timed out or is gone.
  bool wanted() const;

 private:
  std::shared_ptr<detail::ReplyState> state_;
};

/// What answers calls of one method. Runs on the endpoint's thread and must not block: whoever has
/// much to do hands `reply` to a thread of its own. A std::exception that it throws is logged; the
/// reply that it had is dropped then, unless it was given away.
using Handler = std::function<void(Request request, Reply reply)>;

/// What an endpoint is told.
struct Options {
  std::string token = {};               ///< Shared secret; needed when not on loopback.
  std::string bind_host = "127.0.0.1";  ///< Address that it listens at.
  std::string node_host = {};           ///< Address that others are told; empty: bind_host.
  std::string transport = "auto";       ///< auto, zmq, shm or fabric.
  std::uint32_t max_calls = 1024;       ///< Under way for each peer, of ours and of theirs.
  std::uint32_t max_peers = 1024;       ///< That may have connected to us.
  /// Messages of one peer that handlers have not answered yet, and answers that it has not taken,
  /// may hold so much together; and as much, or one message, those of which a part has come. What
  /// goes beyond ends with kResource.
  std::uint64_t max_held_bytes = std::uint64_t{1} << 30;

  /// From STRETTO_JOB_TOKEN, _BIND_HOST, _NODE_HOST and _TRANSPORT (docs/CONFIGURATION.md).
  static Result<Options> from_environment();
};

/// One end of calls: makes them, and answers those of others. Has a thread of its own. Thread: any,
/// but for moving and destroying it. Movable; what is moved from can only be destroyed.
class Endpoint {
 public:
  static Result<Endpoint> open();  ///< With Options::from_environment().
  /// Starts the endpoint's thread. Nobody can connect before listen().
  static Result<Endpoint> open(const Options& options);

  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  ~Endpoint();  ///< close(). Not in handlers or callbacks: its thread would wait for itself.

  /// From now on calls of `method` go to `handler`. kInvalidArgument if the name is empty or too
  /// long, or if a method of this name (or hash) has a handler.
  Status on(std::string_view method, Handler handler);
  /// Lets others connect, at a port that is free if 0 is asked for; once. What they connect to.
  Result<std::string> listen(std::uint16_t port = 0);
  /// The same again; empty before listen().
  std::string address() const;
  /// Connects, and waits until the far end lets us in. While nobody answers it tries again until
  /// `timeout` has passed (kTimeout); kRefused says that the far end would not have us. Not in
  /// handlers: kInvalidArgument.
  Result<Peer> connect(std::string_view address, Duration timeout = std::chrono::seconds(10));
  /// Ends the link; calls under way on it end with kPeerLost, here and there.
  void disconnect(Peer peer);

  /// Calls `method` at the far end. What cannot be done ends the call at once: a message or a name
  /// that is too long or a timeout that is none (kInvalidArgument), too many calls under way
  /// (kResource), an unknown peer (kPeerLost), a closed endpoint (kCancelled).
  Call call(Peer peer, std::string_view method, Message message, const CallOptions& options = {});

  /// Ends every call under way with kCancelled, and answers those of others so; answers that wait
  /// have five seconds to leave. Its port is free when it is destroyed. Not in handlers, where it
  /// does nothing. Again: nothing.
  void close();

 private:
  explicit Endpoint(std::unique_ptr<detail::EndpointImpl> impl);
  std::unique_ptr<detail::EndpointImpl> impl_;
};

}  // namespace stretto::rpc
#pragma GCC visibility pop
