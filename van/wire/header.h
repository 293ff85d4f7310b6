// SPDX-License-Identifier: Apache-2.0
// The data header: what every frame on every transport begins with. docs/WIRE.md explains each
// field; this file is where they are laid out, once. Fields marked "reserved" are sent as zero and
// ignored, and are there so that tables need no new protocol.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/codec.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::wire {

inline constexpr std::uint32_t kMagic = 0x4F525453;  // "STRO", read as little-endian bytes.
inline constexpr std::uint16_t kProtocol = 5;
inline constexpr std::size_t kHeaderBytes = 128;
/// Largest payload that any frame may carry; an endpoint may ask for less.
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;
/// Largest part that a job may be cut into, so the largest frame of a running job.
inline constexpr std::size_t kMaxPartBytes = std::size_t{16} << 20;
/// Largest frame that may come in slices.
inline constexpr std::size_t kMaxWholeBytes = std::size_t{64} << 20;
/// Frames that a link may have begun and not finished, in one direction.
inline constexpr std::size_t kMaxBegun = 32;
/// Largest control message.
inline constexpr std::size_t kMaxControlBytes = std::size_t{256} << 10;

enum class Kind : std::uint8_t {
  kControl = 1,  ///< Payload: a Protobuf Control message.
  kPush = 2,     ///< One worker's share for one part. Worker to shard.
  kPull = 3,     ///< Asks for a value at least as new as `version`. Worker to shard, no payload.
  kValue = 4,    ///< A finished value. Shard to worker.
  kDone = 5,    ///< Round `version` is finished, for one that pushed and did not ask for the value.
  kCredit = 6,  ///< Carries only `credit` and `acked`, when nothing else is going that way.
  kMore = 7,    ///< More of the frame whose first slice had sequence `version`.
  kCall = 8,    ///< A user's message for the method `base`. Between RPC endpoints.
  kAnswer = 9,  ///< The answer to the call of number `version`, or the text of an error.
  kUp = 10,     ///< The sum of a part's contributions, on its way up a tree. Worker to worker.
  kDown = 11,   ///< A part's value, on its way down. Worker to worker.
};

enum Flags : std::uint16_t {
  kWantsValue = 1,  ///< push: send the value when the round is done (push_pull). value: it answers
                    ///< such a push, not a pull.
  kAssign = 2,      ///< push, up: this round sets the value (broadcast); its one payload is the
                    ///< root's.
  kAbsent = 4,      ///< push, up: takes part in the round without bytes (receivers of a broadcast;
                    ///< who sits out). down of a call: the receiver wants no value.
  kAbandoned = 8,   ///< more: the rest of that frame will not come.
  kCreditNow = 16,  ///< data: tell at once that this has been taken.
  kProbe = 32,      ///< pull: only what is known of the value, at once. done: the answer to it.
  kChecksummed = 64,  ///< any: `checksum` is there.
  kAgain = 1024,      ///< push: it went to another server before, and may have counted there.
  kUncounted = 128,   ///< push with kAbsent: a mean does not count it.
  kIsValue = 512,     ///< up: the bytes are the round's value, which was made before a loss.
  kUrgent = 2048,     ///< data: more urgent than all that its sender sends otherwise. credit: such
                      ///< data comes to its sender.
  kOfGroup = 256,     ///< up, down: of a call of a group's members, `version` is its number.
};
inline constexpr std::uint16_t kKnownFlags = kWantsValue | kAssign | kAbsent | kAbandoned |
                                             kCreditNow | kProbe | kChecksummed | kUncounted |
                                             kOfGroup | kIsValue | kAgain | kUrgent;

/// A part's name on the wire: which tensor, and which piece of it.
struct Key {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  // The compiler's own comparison with 0 is taken for one of a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): as above.
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// Which share of a part a push is.
struct PushTag {
  Key key = {};
  std::uint64_t round = 0;
};

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t protocol = kProtocol;
  Kind kind = Kind::kControl;
  std::uint8_t dtype = 0;      ///< Dtype of the payload's elements; 0 where there are none.
  std::uint8_t codec = 0;      ///< Codec of a push or value; 0 is plain bytes.
  std::uint8_t memory = 0;     ///< Reserved: kind of memory wanted at the far end.
  std::uint16_t flags = 0;     ///< Flags.
  std::uint32_t epoch = 0;     ///< The sender's roster.
  NodeId sender = 0;           ///< Who sends; 0 before the scheduler has given an identity.
  std::int32_t priority = 0;   ///< Higher goes first.
  Key key;                     ///< Part (tensor and part); for tables later: table and slot.
  std::uint32_t bytes = 0;     ///< Payload length, of this slice.
  std::uint32_t checksum = 0;  ///< CRC32C of the frame; van/wire/frame_checksum.h.
  /// push, up, down: the round. pull: least version. value: rounds applied. call, answer: the
  /// call's number.
  /// credit: how many bytes the receiver of this may have in flight; 0: no limit.
  std::uint64_t version = 0;
  /// push: version it was computed from; of a broadcast, also up, the root's rank. value: slowest
  /// round. up and down of a group's call: which call it is (core/group_call.h).
  /// call: hash of the method's name. answer: 0, or the Code of an error. credit: how long the
  /// sender's loop waits for a processor when it does, in nanoseconds; 0: not, or not known.
  std::uint64_t base = 0;
  std::uint64_t sequence = 0;       ///< n-th frame of the session, from 1; a gap is a broken link.
  std::uint64_t credit = 0;         ///< Data bytes of the session taken so far, headers included.
  std::uint64_t push_sequence = 0;  ///< push: n-th push of the session, from 1.
  /// The receiver's frames that have come in this session, so that it need not keep them; 0: it
  /// ends with its link.
  std::uint64_t received = 0;
  std::uint64_t acked = 0;        ///< Pushes of the receiver that have been applied, cumulative.
  std::uint64_t own_applied = 0;  ///< value: the receiver's own rounds that are in it. up and down
                                  ///< of a send: its tag.
  /// value: fastest minus slowest worker, in rounds. credit: when it left, in microseconds of the
  /// sender's clock, modulo 2^32.
  std::uint32_t spread = 0;
  std::uint32_t contributors = 0;  ///< value: workers whose shares are in the round.
  std::uint64_t deadline =
      0;                     ///< Microseconds until it is wanted, from when it left; 0: no matter.
  std::uint32_t offset = 0;  ///< more: where this slice's payload belongs in the frame's.
  std::uint32_t total = 0;   ///< Payload of the whole frame if it comes in slices; else 0.

  /// Of the whole frame.
  std::uint32_t whole_bytes() const { return total == 0 ? bytes : total; }
};

static_assert(sizeof(Header) == kHeaderBytes);
static_assert(offsetof(Header, flags) == 10 && offsetof(Header, epoch) == 12);
static_assert(offsetof(Header, key) == 24 && offsetof(Header, bytes) == 32);
static_assert(offsetof(Header, version) == 40 && offsetof(Header, credit) == 64);
static_assert(offsetof(Header, acked) == 88 && offsetof(Header, total) == 124);
static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
using HeaderView = std::span<const std::byte, kHeaderBytes>;

inline HeaderBytes encode(const Header& header) { return std::bit_cast<HeaderBytes>(header); }

/// The header in `bytes`, or why it is not one of ours: magic, protocol, kind, flags, dtype, a
/// length that differs from `payload_bytes` (what the transport really delivered), and slices that
/// do not lie inside their frame are refused.
Result<Header> decode(HeaderView bytes, std::size_t payload_bytes);

}  // namespace stretto::wire
