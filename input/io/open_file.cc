// SPDX-License-Identifier: Apache-2.0
// Some file systems refuse O_DIRECT at open (tmpfs), others at read; in both cases reads use the
// page cache.
#include "input/io/open_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace stretto::input {

OpenFile::~OpenFile() {
  if (number() >= 0) ::close(number());
}

int OpenFile::flags() const {
  return O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct_.load() ? O_DIRECT : 0);
}

int OpenFile::open() {
  while (number() < 0) {
    const int opened = ::open(path_.c_str(), flags());
    if (opened >= 0) {
      adopt(opened);
    } else if (errno != EINTR && (errno != EINVAL || !refuse_direct())) {
      return errno;
    }
  }
  return 0;
}

void OpenFile::adopt(int number) {
  // open() must not block on a path that became a pipe; io_uring reads need blocking mode.
  (void)::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) & ~O_NONBLOCK);
  int none = -1;
  if (!number_.compare_exchange_strong(none, number, std::memory_order_acq_rel)) ::close(number);
}

bool OpenFile::refuse_direct() {
  if (!direct_.exchange(false)) return false;
  const int now = number();
  if (now >= 0) (void)::fcntl(now, F_SETFL, ::fcntl(now, F_GETFL) & ~O_DIRECT);
  return true;
}

std::shared_ptr<OpenFile> OpenFiles::get(std::uint32_t file, const std::string& path) {
  const auto found = files_.find(file);
  if (found != files_.end()) {
    used_.splice(used_.begin(), used_, found->second.used);
    return found->second.file;
  }
  if (files_.size() >= most_) forget(used_.back());
  used_.push_front(file);
  auto opened = std::make_shared<OpenFile>(path, direct_);
  files_.emplace(file, Entry{opened, used_.begin()});
  return opened;
}

void OpenFiles::forget(std::uint32_t file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  used_.erase(found->second.used);
  files_.erase(found);
}

}  // namespace stretto::input
