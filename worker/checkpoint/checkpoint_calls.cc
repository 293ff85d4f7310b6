// SPDX-License-Identifier: Apache-2.0
// Reports of this worker's contribution to the scheduler.
#include "worker/checkpoint/checkpoint_calls.h"

namespace stretto {

void CheckpointCalls::end(const CheckpointShare& share, const Result<checkpoint::WrittenFile>& file,
                          Done done) {
  if (share.cut) {
    control::CheckpointSaved saved{.number = share.cut->number, .why = file.status()};
    if (file.ok()) {
      saved.file = file->name;
      saved.bytes = file->seal.bytes;
      saved.seal = file->seal.checksum;
      saved.entries = file->entries;
    }
    ways_.tell_scheduler(saved);
    told_ = std::move(saved);
  }
  Call& call = calls_.at(share.call);
  call.done = std::move(done);
  call.deadline = patience_.deadline(clock_.now());
  if (call.ended) tell(calls_.find(share.call));
}

void CheckpointCalls::tell_again() {
  offers_.taken();  // The restarted scheduler repeats its question.
  if (calls_.empty()) return;
  if (told_) ways_.tell_scheduler(*told_);
  for (const auto& [number, call] : calls_) {
    if (!call.ended) ways_.ask({.number = call.attempt});
  }
}

void CheckpointCalls::on_cut(const control::CheckpointCut& cut) {
  if (ways_.awaits_cut()) {
    cut_ = cut;
    return;
  }
  refuse(cut);
}

void CheckpointCalls::refuse(const control::CheckpointCut& cut) {
  ways_.tell_scheduler({.number = cut.number,
                        .why = {Code::kTimeout, "a worker gave up before the servers had cut"}});
}

}  // namespace stretto
