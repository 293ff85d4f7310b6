// SPDX-License-Identifier: Apache-2.0
// The data header that begins every frame on every transport. docs/WIRE.md explains each field;
// this file defines the layout. Fields marked "reserved" are sent as zero and ignored, so that
// tables need no new protocol.
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
/// Largest payload of any frame; an endpoint may set a lower limit.
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;
/// Largest part of a job's tensors, so the largest frame of a running job.
inline constexpr std::size_t kMaxPartBytes = std::size_t{16} << 20;
/// Largest frame that may be sent in slices.
inline constexpr std::size_t kMaxWholeBytes = std::size_t{64} << 20;
/// Partial frames of a link, in one direction.
inline constexpr std::size_t kMaxBegun = 32;
/// Largest control message.
inline constexpr std::size_t kMaxControlBytes = std::size_t{256} << 10;

enum class Kind : std::uint8_t {
  kControl = 1,  ///< Payload: a Protobuf Control message.
  kPush = 2,     ///< One worker's contribution for one part. Worker to shard.
  kPull = 3,     ///< Asks for a value at least as new as `version`. Worker to shard, no payload.
  kValue = 4,    ///< A finished value. Shard to worker.
  kDone = 5,     ///< Round `version` is finished; for a push without kWantsValue.
  kCredit = 6,   ///< Only `credit` and `acked`, if no other frame is due.
  kMore = 7,     ///< More of the frame whose first slice had sequence `version`.
  kCall = 8,     ///< A user's message for the method `base`. Between RPC endpoints.
  kAnswer = 9,   ///< The answer to the call of number `version`, or the text of an error.
  kUp = 10,      ///< The sum of a part's contributions, on its way up a tree. Worker to worker.
  kDown = 11,    ///< A part's value, on its way down. Worker to worker.
};

enum Flags : std::uint16_t {
  kWantsValue = 1,  ///< push: send the value when the round is done (push_pull). value: it answers
                    ///< such a push, not a pull.
  kAssign = 2,      ///< push, up: this round sets the value (broadcast); its one payload is the
                    ///< root's.
  kAbsent = 4,      ///< push, up: takes part in the round without bytes (receivers of a broadcast;
                    ///< paused workers). down of a call: the receiver wants no value.
  kAbandoned = 8,   ///< more: the rest of that frame will not come.
  kCreditNow = 16,  ///< data: acknowledge at once that this has been taken.
  kProbe = 32,      ///< pull: only the facts of the value, at once. done: the answer to it.
  kChecksummed = 64,  ///< any: `checksum` is set.
  kAgain = 1024,      ///< push: sent to another server before, and may have counted there.
  kUncounted = 128,   ///< push with kAbsent: a mean does not count it.
  kIsValue = 512,     ///< up: the bytes are the round's value, finished before a failure.
  kUrgent = 2048,     ///< data: more urgent than the sender's background. credit: such data comes
                      ///< to its sender.
  kOfGroup = 256,     ///< up, down: of a group call, `version` is its number.
};
inline constexpr std::uint16_t kKnownFlags = kWantsValue | kAssign | kAbsent | kAbandoned |
                                             kCreditNow | kProbe | kChecksummed | kUncounted |
                                             kOfGroup | kIsValue | kAgain | kUrgent;

/// A part's key on the wire: its tensor and its index.
struct Key {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  // The compiler mistakes its own comparison with 0 for one of a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): as above.
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// The contribution that a push carries.
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
  std::uint8_t memory = 0;     ///< Reserved: kind of memory requested at the receiver.
  std::uint16_t flags = 0;     ///< Flags.
  std::uint32_t epoch = 0;     ///< Epoch of the sender's roster.
  NodeId sender = 0;           ///< The sending node; 0 before the scheduler has assigned an id.
  std::int32_t priority = 0;   ///< Higher goes first.
  Key key;                     ///< Part (tensor and part); for tables later: table and slot.
  std::uint32_t bytes = 0;     ///< Payload length of this slice.
  std::uint32_t checksum = 0;  ///< CRC32C of the frame; van/wire/frame_checksum.h.
  /// push, up, down: the round. pull: least version. value: rounds applied. call, answer: the
  /// call's number.
  /// credit: bytes that the receiver of this frame may have in flight; 0: no limit.
  std::uint64_t version = 0;
  /// push: version it was computed from; of a broadcast, also up, the root's rank. value: slowest
  /// round. up and down of a group call: its arguments (core/group_call.h). call: hash of the
  /// method's name. answer: 0, or the Code of an error. credit: scheduling delay of the sender's
  /// loop in nanoseconds; 0: none, or unknown.
  std::uint64_t base = 0;
  std::uint64_t sequence = 0;       ///< n-th frame of the session, from 1; a gap breaks the link.
  std::uint64_t credit = 0;         ///< Data bytes of the session taken so far, headers included.
  std::uint64_t push_sequence = 0;  ///< push: n-th push of the session, from 1.
  /// Received frames of this session, which the receiver of this frame need not keep; 0: the
  /// session ends with its link.
  std::uint64_t received = 0;
  std::uint64_t acked = 0;        ///< The receiver's applied pushes, cumulative.
  std::uint64_t own_applied = 0;  ///< value: the receiver's own rounds in it. up and down of
                                  ///< a send: its tag.
  /// value: fastest minus slowest worker, in rounds. credit: send time, in microseconds of the
  /// sender's clock, modulo 2^32.
  std::uint32_t spread = 0;
  std::uint32_t contributors = 0;  ///< value: contributors of the round.
  std::uint64_t deadline = 0;  ///< Microseconds left to the deadline, at departure; 0: no deadline.
  std::uint32_t offset = 0;    ///< more: offset of this slice's payload in the frame's.
  std::uint32_t total = 0;     ///< Payload of the whole frame if it is sliced; else 0.

  /// Payload of the whole frame.
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

/// Decodes a header. Refused: wrong magic, protocol, kind, flags or dtype, a length other than
/// `payload_bytes` (which the transport delivered), and slices outside their frame.
Result<Header> decode(HeaderView bytes, std::size_t payload_bytes);

}  // namespace stretto::wire
