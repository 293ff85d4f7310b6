// SPDX-License-Identifier: Apache-2.0
// Typed views of the header, one for each kind of data frame. The header has room for the fields of
// all kinds; `version` and `base` have another meaning in each, which the views name. A view is
// copied from a header and into one field by field, without cost; the wire format is that of
// van/wire/header.h. The Van's own fields (sequence, credit, epoch, sender) are not in a view.
#pragma once

#include <cstdint>

#include "van/wire/header.h"

namespace stretto::wire {

/// One worker's contribution to a round of a part.
struct PushFrame {
  Key key = {};
  std::uint64_t round = 0;          ///< From 1; of this worker, on this part.
  std::uint64_t computed_from = 0;  ///< Version of the value that the contribution is based on.
  std::uint32_t root = 0;           ///< Of a broadcast; then `computed_from` is unset.
  std::uint32_t root_view = 0;  ///< Epoch whose ranks `root` refers to; 0 if ranks never change.
  bool wants_value = false;     ///< After the round: push_pull.
  bool assigns = false;         ///< A broadcast: the round sets the value to the root's bytes.
  bool absent = false;          ///< Takes part without bytes.
  bool uncounted = false;       ///< Absent, and not counted in a mean.
  bool again = false;  ///< Sent to another server before: if it has counted there, answer it.
  Dtype dtype = {};
  Codec codec = Codec::kNone;
  std::int32_t priority = 0;

  static PushFrame of(const Header& header) {
    const bool assigns = (header.flags & kAssign) != 0;
    return {.key = header.key,
            .round = header.version,
            .computed_from = assigns ? 0 : header.base,
            .root = assigns ? static_cast<std::uint32_t>(header.base) : 0,
            .root_view = assigns ? static_cast<std::uint32_t>(header.base >> 32) : 0,
            .wants_value = (header.flags & kWantsValue) != 0,
            .assigns = assigns,
            .absent = (header.flags & kAbsent) != 0,
            .uncounted = (header.flags & kUncounted) != 0,
            .again = (header.flags & kAgain) != 0,
            .dtype = static_cast<Dtype>(header.dtype),
            .codec = static_cast<Codec>(header.codec),
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kPush;
    made.dtype = static_cast<std::uint8_t>(dtype);
    made.codec = static_cast<std::uint8_t>(codec);
    made.flags = static_cast<std::uint16_t>((wants_value ? kWantsValue : 0) |
                                            (assigns ? kAssign : 0) | (absent ? kAbsent : 0) |
                                            (uncounted ? kUncounted : 0) | (again ? kAgain : 0));
    made.priority = priority;
    made.key = key;
    made.version = round;
    made.base = assigns ? std::uint64_t{root_view} << 32 | root : computed_from;
    return made;
  }
};

/// Requests a value, or the facts of it.
struct PullFrame {
  Key key = {};
  std::uint64_t least_version = 0;  ///< The answer waits for a value of at least this version.
  std::uint64_t last_version = 0;   ///< Of the last value that this worker received.
  bool probes = false;              ///< Only the facts, at once.
  std::int32_t priority = 0;

  static PullFrame of(const Header& header) {
    return {.key = header.key,
            .least_version = header.version,
            .last_version = header.base,
            .probes = (header.flags & kProbe) != 0,
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kPull;
    if (probes) made.flags = kProbe;
    made.priority = priority;
    made.key = key;
    made.version = least_version;
    made.base = last_version;
    return made;
  }
};

/// Facts of a part in values and dones.
struct ValueFacts {
  std::uint64_t version = 0;       ///< Rounds or updates in the value.
  std::uint64_t slowest = 0;       ///< Round of the slowest worker.
  std::uint64_t own_applied = 0;   ///< The receiver's own rounds in the value.
  std::uint32_t spread = 0;        ///< Fastest minus slowest worker, in rounds.
  std::uint32_t contributors = 0;  ///< Contributors of the round.

  static ValueFacts of(const Header& header) {
    return {.version = header.version,
            .slowest = header.base,
            .own_applied = header.own_applied,
            .spread = header.spread,
            .contributors = header.contributors};
  }
  void put_into(Header& header) const {
    header.version = version;
    header.base = slowest;
    header.own_applied = own_applied;
    header.spread = spread;
    header.contributors = contributors;
  }
};

/// A part's value.
struct ValueFrame {
  Key key = {};
  ValueFacts facts = {};
  bool answers_push = false;  ///< A push that requested it; else a pull.
  Dtype dtype = {};
  Codec codec = Codec::kNone;
  std::int32_t priority = 0;

  static ValueFrame of(const Header& header) {
    return {.key = header.key,
            .facts = ValueFacts::of(header),
            .answers_push = (header.flags & kWantsValue) != 0,
            .dtype = static_cast<Dtype>(header.dtype),
            .codec = static_cast<Codec>(header.codec),
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kValue;
    made.dtype = static_cast<std::uint8_t>(dtype);
    made.codec = static_cast<std::uint8_t>(codec);
    if (answers_push) made.flags = kWantsValue;
    made.priority = priority;
    made.key = key;
    facts.put_into(made);
    return made;
  }
};

/// A round is done, for a push that requested no value; or the answer to a probe.
struct DoneFrame {
  Key key = {};
  ValueFacts facts = {};
  bool answers_probe = false;
  std::int32_t priority = 0;

  static DoneFrame of(const Header& header) {
    return {.key = header.key,
            .facts = ValueFacts::of(header),
            .answers_probe = (header.flags & kProbe) != 0,
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kDone;
    if (answers_probe) made.flags = kProbe;
    made.priority = priority;
    made.key = key;
    facts.put_into(made);
    return made;
  }
};

/// The fields of a credit frame: the receive window, the sender's scheduling delay, and the send
/// time.
struct CreditFrame {
  std::uint64_t grant = 0;  ///< Bytes that the receiver of this may have in flight; 0: no limit.
  std::uint64_t loop_wait_ns = 0;  ///< Scheduling delay of the sender's loop; 0: none, or unknown.
  std::uint32_t sent_us = 0;  ///< Send time, in microseconds of the sender's clock; 0: unknown.

  static CreditFrame of(const Header& header) {
    return {.grant = header.version, .loop_wait_ns = header.base, .sent_us = header.spread};
  }
  void put_into(Header& header) const {
    header.version = grant;
    header.base = loop_wait_ns;
    header.spread = sent_us;
  }
};

/// A further slice of a frame, or the end of an abandoned one.
struct ContinuationFrame {
  Key key = {};
  std::uint64_t first_sequence = 0;  ///< Of the frame's first slice.
  std::uint32_t offset = 0;          ///< Offset of the slice in the frame's payload.
  bool abandoned = false;
  std::int32_t priority = 0;

  static ContinuationFrame of(const Header& header) {
    return {.key = header.key,
            .first_sequence = header.version,
            .offset = header.offset,
            .abandoned = (header.flags & kAbandoned) != 0,
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kMore;
    if (abandoned) made.flags = kAbandoned;
    made.priority = priority;
    made.key = key;
    made.version = first_sequence;
    made.offset = offset;
    return made;
  }
};

/// A user's message for a method.
struct CallFrame {
  std::uint64_t number = 0;  ///< From 1, on this link.
  std::uint64_t method = 0;  ///< Hash of its name.
  std::int32_t priority = 0;

  static CallFrame of(const Header& header) {
    return {.number = header.version, .method = header.base, .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kCall;
    made.priority = priority;
    made.version = number;
    made.base = method;
    return made;
  }
};

/// The answer to a call, or the text of an error.
struct AnswerFrame {
  std::uint64_t number = 0;  ///< The call's.
  std::uint64_t error = 0;   ///< A Code, possibly of the peer's newer release; 0: no error.
  std::int32_t priority = 0;

  static AnswerFrame of(const Header& header) {
    return {.number = header.version, .error = header.base, .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = Kind::kAnswer;
    made.priority = priority;
    made.version = number;
    made.base = error;
    return made;
  }
};

/// The sum of contributions of the sender and its subtree to a round of a part.
struct ReduceFrame {
  Key key = {};
  std::uint64_t round = 0;       ///< From 1.
  std::uint32_t root = 0;        ///< Of a broadcast; in elastic jobs: the number of contributors.
  bool assigns = false;          ///< It is a broadcast.
  bool absent = false;           ///< No contribution from the subtree.
  bool is_value = false;         ///< The bytes are the round's final value.
  std::uint32_t generation = 0;  ///< Of the contributors; 0 if they never change.
  Dtype dtype = {};
  std::int32_t priority = 0;

  static ReduceFrame of(const Header& header) {
    return {.key = header.key,
            .round = header.version,
            .root = static_cast<std::uint32_t>(header.base),
            .assigns = (header.flags & kAssign) != 0,
            .absent = (header.flags & kAbsent) != 0,
            .is_value = (header.flags & kIsValue) != 0,
            .generation = generation_of(header),
            .dtype = static_cast<Dtype>(header.dtype),
            .priority = header.priority};
  }
  /// The upper 32 bits, for either kind of frame.
  static std::uint32_t generation_of(const Header& header) {
    return static_cast<std::uint32_t>(header.base >> 32);
  }
  Header header() const {
    Header made;
    made.kind = Kind::kUp;
    made.dtype = static_cast<std::uint8_t>(dtype);
    made.flags = static_cast<std::uint16_t>((assigns ? kAssign : 0) | (absent ? kAbsent : 0) |
                                            (is_value ? kIsValue : 0));
    made.priority = priority;
    made.key = key;
    made.version = round;
    made.base = std::uint64_t{generation} << 32 | root;
    return made;
  }
};

/// A round's value.
struct BroadcastFrame {
  Key key = {};
  std::uint64_t round = 0;
  std::uint32_t contributors = 0;  ///< In elastic jobs, and where rounds close early; else 0.
  std::uint32_t generation = 0;    ///< As in ReduceFrame.
  bool without_yours = false;      ///< The receiver's contribution came late, or is still missing.
  Dtype dtype = {};
  std::int32_t priority = 0;

  static BroadcastFrame of(const Header& header) {
    return {.key = header.key,
            .round = header.version,
            .contributors = static_cast<std::uint32_t>(header.base),
            .generation = ReduceFrame::generation_of(header),
            .without_yours = (header.flags & kAbsent) != 0,
            .dtype = static_cast<Dtype>(header.dtype),
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.base = std::uint64_t{generation} << 32 | contributors;
    made.kind = Kind::kDown;
    made.flags = without_yours ? kAbsent : 0;
    made.dtype = static_cast<std::uint8_t>(dtype);
    made.priority = priority;
    made.key = key;
    made.version = round;
    return made;
  }
};

/// A part of a group call, on its way up or down. A part is identified by its block and its index.
/// Where several members have values, the block is the rank of the first owner of the part's value.
struct GroupFrame {
  static constexpr std::uint32_t kPartBits = 20;
  static constexpr std::uint32_t key_part(std::uint32_t block, std::uint32_t part) {
    return block << kPartBits | part;
  }

  bool up = true;
  Key key = {};
  std::uint64_t number = 0;  ///< Of the call, within the group or within sends of one tag.
  std::uint64_t call = 0;    ///< GroupCall::packed().
  std::uint64_t tag = 0;     ///< Of a send.
  bool absent = false;       ///< No bytes: up, no contribution; down, no value is wanted.
  Dtype dtype = {};
  std::int32_t priority = 0;

  static bool is_one(const Header& header) { return (header.flags & kOfGroup) != 0; }
  static GroupFrame of(const Header& header) {
    return {.up = header.kind == Kind::kUp,
            .key = header.key,
            .number = header.version,
            .call = header.base,
            .tag = header.own_applied,
            .absent = (header.flags & kAbsent) != 0,
            .dtype = static_cast<Dtype>(header.dtype),
            .priority = header.priority};
  }
  Header header() const {
    Header made;
    made.kind = up ? Kind::kUp : Kind::kDown;
    made.dtype = static_cast<std::uint8_t>(dtype);
    made.flags = static_cast<std::uint16_t>(kOfGroup | (absent ? kAbsent : 0));
    made.priority = priority;
    made.key = key;
    made.version = number;
    made.base = call;
    made.own_applied = tag;
    return made;
  }
};

/// A frame's identity within its part: the worker's round on it, or the number of a call.
inline std::uint64_t round_of(const Header& header) {
  return header.kind == Kind::kValue ? header.own_applied : header.version;
}

}  // namespace stretto::wire
