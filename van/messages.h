// SPDX-License-Identifier: Apache-2.0
// Control messages to and from bytes, and to and from what they stand for.
#pragma once

#include <cstdint>
#include <string>

#include "common/buffer.h"
#include "core/cut.h"
#include "core/roster.h"
#include "core/tensor_spec.h"
#include "stretto/status.h"
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

/// An error, of what has that name if it is said.
wire::Control fault_message(const Status& why, std::string_view name = {});
/// An error that came from outside. Codes that are not known become kCancelled.
Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer);
Status status_of(const wire::Fault& fault);
Status status_of(const wire::Failure& failure);
Status status_of(const wire::StatePiece& piece);  ///< Ok if nothing went wrong.

wire::TensorSpec to_wire(const TensorSpec& spec);
Result<TensorSpec> from_wire(const wire::TensorSpec& spec);

wire::Control to_wire(const Roster& roster);
/// Checked: sizes, roles, ranks within the world and not twice, settings within sense.
Result<Roster> from_wire(const wire::Roster& message);

}  // namespace stretto
