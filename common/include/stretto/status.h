// SPDX-License-Identifier: Apache-2.0
// How failure is told: whatever a peer, a user, a file, a device or the network can cause is a
// Status or a Result, never a crash and never an exception. Public: installed with the worker API.
//
//   stretto::Result<stretto::Tensor> tensor = worker.declare("w", stretto::Dtype::kF32, 1000);
//   if (!tensor.ok()) return tensor.status();   // or: worker.declare(...).or_exit()
//   use(*tensor);
//
// Both are [[nodiscard]]: an outcome that nobody looks at is a warning of the compiler.
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

/// What went wrong, in the words that scripts may rely on. The numbers are the wire's; they never
/// change. Whether an operation that failed has taken effect: kInvalidArgument, kRefused and
/// kUnsupported say no; of the others that is not known, unless the text or the function says so.
/// In a job kPeerLost to kLinkBroken are its end: every later call fails with the same cause.
enum class Code : std::uint8_t {
  kOk = 0,
  /// The caller's value cannot be used; nothing was changed. A bug of the program or its
  /// configuration; the cause says what is wanted.
  kInvalidArgument = 1,
  /// Two workers disagree on a tensor: shape, dtype, options, root or round; or stored state is of
  /// something else. All who are concerned get it, with both descriptions.
  kMismatch = 2,
  /// A deadline passed; the outcome is unknown unless the text says so. Somebody is slow, or the
  /// others are not where this call is.
  kTimeout = 3,
  /// Not everybody joined in time; the text names who is missing.
  kRendezvousTimeout = 4,
  /// The far end does not accept this process: wrong token, protocol, world size, rank or
  /// incarnation; the text says what was wanted and found (never a token).
  kRefused = 5,
  /// A worker crashed, fell silent or left too early; of RPC, the link to the peer has ended.
  kPeerLost = 6,
  /// A server crashed, fell silent or was asked to end. What it held is gone.
  kServerLost = 7,
  /// The scheduler did, or this process cannot reach it any more.
  kSchedulerLost = 8,
  /// A connection ended although both ends live; the scheduler decides what that means.
  kLinkBroken = 9,
  /// Bytes from outside (the network, a file) that are damaged or not Stretto's.
  kMalformed = 10,
  /// Not in this build, on this kernel or for this combination; of RPC, no such method.
  kUnsupported = 11,
  /// Memory, descriptors, ports or another limit: the text says how much is needed and there is.
  kResource = 12,
  /// The operation was cancelled, or the job or this object ended first.
  kCancelled = 13,
  /// The operating system refused an address or a socket, such as a port that is taken.
  kNetwork = 14,
  /// A signal asked this process to end.
  kInterrupted = 15,
  /// The job goes on, but without a worker that this call needed: a broadcast's root. Nothing was
  /// changed. All workers that take part get it, so that all can begin again.
  kMembersChanged = 16,
  /// A contribution had elements that are NaN or infinite, and its tensor is told not to take those
  /// (NonFinite). The text names worker, tensor and element.
  kNotFinite = 17,
};

/// "PeerLost" and so on, as error lines have it; "Unknown" for a number that is no Code.
std::string_view name_of(Code code);

/// Outcome of a call: ok, or a code with a sentence that says what was wanted, what was found and
/// what to do. An ok status has no texts, takes one pointer, and costs no memory. Thread: any (a
/// value: const members may be called by several threads at once, the others by one).
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

  /// True if nothing went wrong. What was moved from is ok too.
  bool ok() const { return !words_ || words_->code == Code::kOk; }
  Code code() const { return words_ ? words_->code : Code::kOk; }
  /// The texts; empty where nothing was said. References last as long as this status is neither
  /// changed nor destroyed.
  const std::string& cause() const { return words().cause; }
  const std::string& peer() const { return words().peer; }
  const std::string& operation() const { return words().operation; }

  /// The node that caused it, such as "worker 3". Kept if already said.
  Status with_peer(std::string_view peer) &&;
  /// What was being done, such as "push_pull 'fc1.weight'". Kept if already said.
  Status with_operation(std::string_view operation) &&;

  /// "PeerLost: cause", or "Ok"; in one line: control characters are escaped.
  std::string text() const;
  /// `ERROR <code> role=<r> rank=<r> peer=<p> op=<o> cause=<c>`: the one line that a failed process
  /// prints last. `role` and `rank` say who is speaking; a rank below 0 is written as "-", as is
  /// every text that is empty.
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

  std::unique_ptr<Words> words_;  // None: ok. Most are, and those cost nothing.
};

/// A T, or the Status that says why there is none. Thread: as a T.
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
  /// Why there is none, as a copy; ok if there is one.
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

  /// The value; calling it on an error is a bug of the caller's and ends the process (abort): ask
  /// ok() first.
  T& operator*() & { return *require(); }
  const T& operator*() const& { return *const_cast<Result*>(this)->require(); }
  T&& operator*() && { return std::move(*require()); }
  T* operator->() { return require(); }
  const T* operator->() const { return const_cast<Result*>(this)->require(); }

  /// The value, moved out; of an error what Status::or_exit() does. For programs, not libraries.
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
