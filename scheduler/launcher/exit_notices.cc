// SPDX-License-Identifier: Apache-2.0
// Lines from a non-blocking socket.
#include "scheduler/launcher/exit_notices.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace stretto {
namespace {

constexpr std::size_t kLongestLine = 256;

}  // namespace

ExitNotices::ExitNotices(int descriptor)
    : descriptor_(descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}

// A launcher that has exited sends nothing; nor does a descriptor that is no socket.
void ExitNotices::read() {
  std::array<char, 4096> bytes{};
  while (descriptor_.is_open() && text_.size() <= bytes.size()) {
    const ssize_t got = ::recv(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return descriptor_.close();
    text_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::vector<MemberExit> ExitNotices::take() {
  read();
  std::vector<MemberExit> ends;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (line == kEndsAreTold) told_ = true;
    if (line == kJoinsUnlimited) joins_unlimited_ = true;
    if (line == kSaveWanted) wishes_ = true;
    if (auto refusal = start_refusal_in(line)) refusals_.push_back(*std::move(refusal));
    if (const std::optional<MemberExit> one = member_end_named(line)) ends.push_back(*one);
  }
  text_.erase(0, begin);
  if (text_.size() > kLongestLine) descriptor_.close();  // No launcher sends such lines.
  return ends;
}

}  // namespace stretto
