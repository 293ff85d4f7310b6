// SPDX-License-Identifier: Apache-2.0
// One function for each checkpoint message.
#include "van/control/checkpoint_decode.h"

#include <fmt/core.h>

#include "common/text.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"

namespace stretto::control {
namespace {

constexpr std::size_t kMostNameBytes = 128;  // Of a file name.

}  // namespace

Result<Message> cut_from(const wire::CheckpointCut& cut) {
  if (cut.workers_size() > static_cast<int>(kMaxNodes)) {
    return Status(Code::kMalformed, fmt::format("a checkpoint of {} workers, wanted at most {}",
                                                cut.workers_size(), kMaxNodes));
  }
  return Message(CheckpointCut{.job = cut.job(),
                               .number = cut.number(),
                               .step = cut.step(),
                               .workers = {cut.workers().begin(), cut.workers().end()},
                               .alike = cut.alike()});
}

CheckpointSaved saved_from(const wire::CheckpointSaved& saved) {
  return {.number = saved.number(),
          .file = shortened(saved.file(), kMostNameBytes),
          .bytes = saved.bytes(),
          .seal = saved.seal(),
          .entries = saved.entries(),
          .why = outcome_from(saved.code(), saved.cause())};
}

CheckpointEnded ended_from(const wire::CheckpointEnded& ended) {
  return {.number = ended.number(), .why = outcome_from(ended.code(), ended.cause())};
}

Status outcome_from(std::uint32_t code, const std::string& cause) {
  return code == 0 ? Status() : status_from(code, cause, {});
}

}  // namespace stretto::control
