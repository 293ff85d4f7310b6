// SPDX-License-Identifier: Apache-2.0
// How failure is told: whatever a peer, a user, a file, a device or the network can cause is a
// Status or a Result, never a crash and never an exception. Public: installed with the worker API.
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

/// What went wrong, in the words that scripts may rely on. The numbers are the wire's.
enum class Code : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 1,    ///< The caller's value cannot be used; nothing was changed.
  kMismatch = 2,           ///< Two workers disagree on a tensor's shape, dtype, rule or round.
  kTimeout = 3,            ///< A deadline passed; the outcome is unknown unless the text says so.
  kRendezvousTimeout = 4,  ///< Not everybody came in time; the text names who is missing.
  kRefused = 5,            ///< Wrong token, protocol, world size, rank or incarnation.
  kPeerLost = 6,           ///< A worker crashed, fell silent or left too early.
  kServerLost = 7,
  kSchedulerLost = 8,
  kLinkBroken = 9,    ///< A connection ended; the scheduler decides what that means.
  kMalformed = 10,    ///< Bytes from outside that are not ours.
  kUnsupported = 11,  ///< Not in this build or not for this combination.
  kResource = 12,     ///< Memory, descriptors or ports: the text says need and have.
  kCancelled = 13,    ///< The job or this object ended first.
  kNetwork = 14,      ///< The operating system refused an address or a socket.
  kInterrupted = 15,  ///< A signal asked this process to end.
};

/// "PeerLost" and so on.
std::string_view name_of(Code code);

/// Outcome of a call: ok, or a code with a sentence that says what was wanted, what was found and
/// what to do. Thread: any (a value).
class [[nodiscard]] Status {
 public:
  Status() = default;  ///< Ok.
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

  bool ok() const { return !words_ || words_->code == Code::kOk; }
  Code code() const { return words_ ? words_->code : Code::kOk; }
  const std::string& cause() const { return words().cause; }
  const std::string& peer() const { return words().peer; }
  const std::string& operation() const { return words().operation; }

  /// The node that caused it, such as "worker 3". Kept if already said.
  Status with_peer(std::string_view peer) &&;
  /// What was being done, such as "push_pull 'fc1.weight'". Kept if already said.
  Status with_operation(std::string_view operation) &&;

  /// "PeerLost: cause".
  std::string text() const;
  /// `ERROR <code> role=<r> rank=<r> peer=<p> op=<o> cause=<c>`: the one line that a failed process
  /// prints last. `role` and `rank` say who is speaking.
  std::string error_line(std::string_view role, std::int64_t rank) const;

  /// Prints the error line on stderr and exits with status 1, unless ok. For programs, not
  /// libraries.
  void or_exit() const;

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

/// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;`
  Result(T value) : state_(std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return status;`
  Result(Status status) : state_(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

  /// The value; calling it on an error is a bug and ends the process.
  T& operator*() & { return *require(); }
  const T& operator*() const& { return *const_cast<Result*>(this)->require(); }
  T&& operator*() && { return std::move(*require()); }
  T* operator->() { return require(); }
  const T* operator->() const { return const_cast<Result*>(this)->require(); }

  /// The value, or the error line on stderr and exit status 1. For programs, not libraries.
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
