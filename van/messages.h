// SPDX-License-Identifier: Apache-2.0
// Control messages to and from bytes, and the parts of them that more than one role reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/config.h"
#include "stretto/status.h"
#include "stretto/tensor.h"
#include "van/control.pb.h"
#include "van/wire.h"

namespace stretto {

/// Bytes of a message, as a control frame's payload.
Buffer serialize(const wire::Control& message);
/// Reads a message; kMalformed if it is none or carries nothing that is known.
Status parse(const Buffer& payload, wire::Control& message);

/// A duration as control messages carry it, in nanoseconds.
inline std::uint64_t count_of(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

wire::Control fault_message(const Status& why);
/// An error that came from outside. Codes that are not known become kCancelled.
Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer);
Status status_of(const wire::Fault& fault);
Status status_of(const wire::Failure& failure);
Status status_of(const wire::StatePiece& piece);  ///< Ok if nothing went wrong.

/// What a tensor is, as everybody must agree on it.
struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::uint64_t elements = 0;
  TensorOptions options;

  std::uint64_t bytes() const { return elements * bytes_of(dtype); }
  /// "f32[1000] sync sum".
  std::string describe() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxShapeBytes = 256;
inline constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 42;
/// Parts of one tensor, at most. The scheduler refuses what would be cut into more.
inline constexpr std::uint64_t kMaxParts = std::uint64_t{1} << 24;
/// Tensors of one job, at most.
inline constexpr std::size_t kMaxTensors = 1 << 20;

/// What names and descriptions of a job's tensors may take at one endpoint. A description is
/// counted with what goes with it: 262,144 tensors with names of 64 bytes fit.
/// Thread: loop.
class DescriptionBudget {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  /// Room for one more; kResource if there is none.
  Status take(const TensorSpec& spec);

 private:
  std::size_t tensors_ = 0;
  std::size_t bytes_ = 0;
};

/// The same, with what the mode, the rule and the codec do not use as it is by default: two who
/// differ in that alone want the same.
TensorSpec canonical(TensorSpec spec);

/// Why this cannot be declared, or ok: name, dtype, size, mode and rule. Users and the wire meet
/// the same check.
Status check(const TensorSpec& spec);
wire::TensorSpec to_wire(const TensorSpec& spec);
Result<TensorSpec> from_wire(const wire::TensorSpec& spec);

/// How a tensor is cut into parts: every part but the last has the same number of whole elements.
struct Cut {
  std::uint64_t elements = 0;
  std::uint64_t part_elements = 1;
  std::size_t element_bytes = 1;

  Cut(const TensorSpec& spec, std::uint32_t part_bytes);
  /// Right for what the scheduler has accepted: at most kMaxParts.
  std::uint32_t parts() const;
  std::uint64_t elements_of(std::uint32_t part) const;
  std::size_t offset_of(std::uint32_t part) const;  ///< In bytes.
  std::size_t bytes_of_part(std::uint32_t part) const;
};

/// Who is in the job. Grows an epoch with each change.
struct Member {
  NodeId node = 0;
  Role role = Role::kWorker;
  Rank rank = 0;
  std::uint32_t shard = 0;
  std::string address;
  bool left = false;
  /// "worker 3", "server 0", "server 0 shard 2".
  std::string describe() const;
};

struct Roster {
  std::uint32_t epoch = 0;
  std::uint32_t fence = 0;
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::uint32_t slots = 0;
  std::uint32_t since = 0;  ///< The members are those that changed after this epoch; 0: all.
  std::vector<Member> members;
  JobSettings settings;

  const Member* find(NodeId node) const;
};

wire::Control to_wire(const Roster& roster);
/// Checked: sizes, roles, ranks within the world and not twice, settings within sense.
Result<Roster> from_wire(const wire::Roster& message);

inline constexpr std::uint32_t kSlots = 4096;

}  // namespace stretto
