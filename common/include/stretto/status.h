// SPDX-License-Identifier: Apache-2.0
// How failure is reported: errors that a peer, user, file, device or the network can cause are a
// Status or a Result, never a crash or an exception. Public: installed with the worker API.
//
//   stretto::Result<stretto::Tensor> tensor = worker.declare("w", stretto::Dtype::kF32, 1000);
//   if (!tensor.ok()) return tensor.status();   // or: worker.declare(...).or_exit()
//   use(*tensor);
//
// Both are [[nodiscard]]: the compiler warns of an ignored outcome.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#pragma GCC visibility push(default)
namespace stretto {

/// Error codes. Scripts may rely on the names; the numbers are the wire's and never change. Whether
/// a failed operation has taken effect: not with kInvalidArgument, kRefused and kUnsupported; with
/// the others it is unknown, unless the text or the function documents it. In a job kPeerLost to
/// kLinkBroken are fatal: every later call fails with the same cause.
enum class Code : std::uint8_t {
  kOk = 0,
  /// The caller's value is invalid; nothing was changed. A bug of the program or its configuration;
  /// the cause describes valid values.
  kInvalidArgument = 1,
  /// Two workers disagree on a tensor: shape, dtype, options, root or round; or stored state
  /// belongs to another tensor. All affected workers get it, with both descriptions.
  kMismatch = 2,
  /// A deadline passed; the outcome is unknown unless the text states it. A peer is slow, or other
  /// workers have not made this call.
  kTimeout = 3,
  /// Some members did not join in time; the text names them.
  kRendezvousTimeout = 4,
  /// The peer rejects this process: wrong token, protocol, world size, rank or incarnation; the
  /// text contains wanted and found (never a token).
  kRefused = 5,
  /// A worker crashed, stopped responding or left too early; for RPC, the connection has ended.
  kPeerLost = 6,
  /// A server crashed, stopped responding or was asked to end. Its data is gone.
  kServerLost = 7,
  /// The scheduler failed likewise, or this process cannot reach it any more.
  kSchedulerLost = 8,
  /// A connection ended although both peers live; the scheduler decides what follows.
  kLinkBroken = 9,
  /// Data from outside (the network, a file) that is damaged or not Stretto's.
  kMalformed = 10,
  /// Not in this build, on this kernel or for this combination; for RPC, no such method.
  kUnsupported = 11,
  /// Memory, descriptors, ports or another limit: the text has the required and available amounts.
  kResource = 12,
  /// The operation was cancelled, or the job or this object ended first.
  kCancelled = 13,
  /// The operating system refused an address or a socket, such as a port that is taken.
  kNetwork = 14,
  /// A signal asked this process to end.
  kInterrupted = 15,
  /// The job continues, but without a worker that this call needed: a broadcast's root. Nothing was
  /// changed. All participating workers get it, so that all can retry.
  kMembersChanged = 16,
  /// A contribution had elements that are NaN or infinite, and its tensor rejects those
  /// (NonFinite). The text names worker, tensor and element.
  kNotFinite = 17,
};

/// "PeerLost" and so on, as in error lines; "Unknown" for a number that is no Code.
std::string_view name_of(Code code);

/// Outcome of a call: ok, or a code with a sentence about what was wanted, what was found and the
/// remedy. An ok status has no texts, takes one pointer, and costs no memory. Thread: any (a value:
/// several threads may call const members at once, one thread the others).
class [[nodiscard]] Status {
 public:
  Status() = default;  ///< Ok.
  /// `cause` is a sentence without code or operation, which text() and error_line() add.
  Status(Code code, std::string cause)
      : words_(std::make_unique<Words>(Words{code, std::move(cause), {}, {}})) {}
  Status(const Status& other) { *this = other; }
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) words_ = other.words_ ? std::make_unique<Words>(*other.words_) : nullptr;
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  /// True if there is no error. A moved-from status is ok too.
  bool ok() const { return !words_ || words_->code == Code::kOk; }
  Code code() const { return words_ ? words_->code : Code::kOk; }
  /// The texts; empty if not set. References are valid until this status is changed or destroyed.
  const std::string& cause() const { return words().cause; }
  const std::string& peer() const { return words().peer; }
  const std::string& operation() const { return words().operation; }

  /// The node that caused the error, such as "worker 3". Keeps an earlier value.
  Status with_peer(std::string_view peer) &&;
  /// The failed operation, such as "push_pull 'fc1.weight'". Keeps an earlier value.
  Status with_operation(std::string_view operation) &&;

  /// "PeerLost: cause", or "Ok"; in one line: control characters are escaped.
  std::string text() const;
  /// `ERROR <code> role=<r> rank=<r> peer=<p> op=<o> cause=<c>`: the last line of a failed process.
  /// `role` and `rank` identify the process; a rank below 0 is written as "-", as is every empty
  /// text.
  std::string error_line(std::string_view role, std::int64_t rank) const;

  /// Unless ok: flushes stdout, prints the error line on stderr, and calls std::exit(1), which runs
  /// no destructors of the callers' objects. For programs, not libraries.
  void or_exit() const;

  /// The same code and cause; peer and operation are not compared.
  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.cause() == b.cause();
  }

 private:
  struct Words {
    Code code = Code::kOk;
    std::string cause;
    std::string peer;
    std::string operation;
  };
  const Words& words() const;

  std::unique_ptr<Words> words_;  // None: ok, the common case without cost.
};

/// A T, or the Status of its failure. Thread: as a T.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;`
  Result(T value) : state_(std::move(value)) {}
  /// Only for an error: a Result of an ok status has no value and no cause.
  // NOLINTNEXTLINE(google-explicit-constructor): `return status;`
  Result(Status status) : state_(std::move(status)) {}

  /// True if there is a value.
  bool ok() const { return std::holds_alternative<T>(state_); }
  /// The error, as a copy; ok if there is a value.
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

  /// The value; calling it on an error is a bug of the caller's and ends the process (abort): check
  /// ok() first.
  T& operator*() & { return *require(); }
  const T& operator*() const& { return *const_cast<Result*>(this)->require(); }
  T&& operator*() && { return std::move(*require()); }
  T* operator->() { return require(); }
  const T* operator->() const { return const_cast<Result*>(this)->require(); }

  /// The value, moved out; on an error calls Status::or_exit(). For programs, not libraries.
  T or_exit() && {
    status().or_exit();
    return std::move(*require());
  }

 private:
  T* require() {
    if (!ok()) std::abort();
    return &std::get<T>(state_);
  }

  std::variant<T, Status> state_;
};

}  // namespace stretto
#pragma GCC visibility pop
