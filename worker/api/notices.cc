// SPDX-License-Identifier: Apache-2.0
// What a program in C++ has of a NoticeWatch.
#include "stretto/notices.h"

#include "common/log.h"
#include "stretto/steps.h"
#include "worker/elastic/notice_watch.h"

namespace stretto {

Notices::Notices(Worker& worker, std::chrono::milliseconds patience) : worker_(&worker) {
  if (ProgramSteps(worker).elastic()) watch_ = std::make_unique<NoticeWatch>(patience);
}

Notices::~Notices() = default;

bool Notices::told() const { return watch_ != nullptr && watch_->told_ago().has_value(); }

Result<bool> Notices::leave_if_told() {
  if (!told()) {
    if (watch_ != nullptr) watch_->reinstall();
    return false;
  }
  if (Status left = worker_->leave(); !left.ok()) return left;
  log(Level::kInfo, "this worker has left the job, as it was told");
  return true;
}

}  // namespace stretto
