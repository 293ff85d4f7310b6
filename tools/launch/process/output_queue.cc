// SPDX-License-Identifier: Apache-2.0
// Writes pieces that a writable pipe accepts whole, so that no write blocks.
#include "tools/launch/process/output_queue.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "common/check.h"

namespace stretto::launch {

void OutputQueue::line(std::string_view prefix, std::string_view text) {
  if (broken_) return;
  if (std::exchange(torn_, false)) queue_.push_back('\n');
  queue_.append(prefix).append(text).push_back('\n');
}

bool OutputQueue::writable() const {
  pollfd look{descriptor_, POLLOUT, 0};
  return ::poll(&look, 1, 0) > 0;
}

void OutputQueue::write() {
  while (pending() > 0 && writable()) {
    std::string_view piece = std::string_view(queue_).substr(written_, PIPE_BUF);
    // Writes whole lines if they fit, since other processes may write to the same file.
    if (const std::size_t end = piece.rfind('\n'); end != std::string_view::npos) {
      piece = piece.substr(0, end + 1);
    }
    const ssize_t done = ::write(descriptor_, piece.data(), piece.size());
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (done < 0) return lose(errno);
    losing_ = false;
    written_ += static_cast<std::size_t>(done);
  }
  STRETTO_CHECK(written_ <= queue_.size());
  if (written_ < std::max(kFullBytes, queue_.size() / 2) && !drained()) return;
  queue_.erase(0, written_);
  written_ = 0;
}

void OutputQueue::lose(int error) {
  const bool has_no_room = error == ENOSPC || error == EDQUOT;
  broken_ = !has_no_room;
  if (!std::exchange(losing_, true) && error != EPIPE) lack_ = error;
  if (written_ > 0) torn_ = queue_[written_ - 1] != '\n';
  if (written_ == 0) torn_ = queue_.starts_with('\n');
  discard();
}

void OutputQueue::discard() {
  queue_.clear();
  written_ = 0;
}

}  // namespace stretto::launch
