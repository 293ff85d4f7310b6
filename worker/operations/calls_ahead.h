// SPDX-License-Identifier: Apache-2.0
// CallsAhead: what a group's member has sent another member for calls that the receiver is not
// known to have begun. The receiver must keep such contributions, so an allowance limits them. The
// sender holds the rest, and asks the receiver to report when it begins a call. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace stretto {

/// Thread: loop.
class CallsAhead {
 public:
  /// What a contribution counts for in addition to its payload.
  static constexpr std::size_t kFrameBytes = 256;

  struct Held {
    std::uint64_t call = 0;
    std::size_t part = 0;  ///< Of the call's parts.
    // The compiler's own comparison with 0 is taken for one of a pointer.
    // NOLINTNEXTLINE(modernize-use-nullptr): as above.
    friend auto operator<=>(const Held&, const Held&) = default;
  };

  explicit CallsAhead(std::size_t allowance) : allowance_(allowance) {}

  /// True if the contribution may go now, and is counted; else it is held. Contributions to a call
  /// that the receiver has begun may always go.
  bool admit(Held what, std::size_t bytes);
  /// The receiver has begun this call, and so all earlier ones.
  void note_begun(std::uint64_t call);
  /// The next held contribution that may go now, in the order of calls; it is counted.
  std::optional<Held> release();
  /// The call whose begin the receiver should report now: half of what was sent ahead is in use
  /// then, or the first held contribution may go. None before half of the allowance is used, or
  /// while the answer about this call or an earlier one is due.
  std::optional<std::uint64_t> question();
  /// Drops all that is held or counted.
  void clear();

 private:
  std::uint64_t half_call() const;
  bool fits(std::uint64_t call, std::size_t bytes) const;
  void count(std::uint64_t call, std::size_t bytes);

  std::size_t allowance_;
  std::uint64_t begun_ = 0;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, std::size_t> ahead_;  // By call: bytes sent, and not in use.
  std::size_t ahead_bytes_ = 0;
  std::map<Held, std::size_t> held_;
};

}  // namespace stretto
