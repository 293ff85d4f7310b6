// SPDX-License-Identifier: Apache-2.0
// errno to code, words and advice.
#include "common/system_error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/memory.h"

namespace stretto {
namespace {

bool has_run_out(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS ||
         error == ENOSPC;
}

std::string advice(int error) {
  switch (error) {
    case ENOMEM:
      return "; " + memory_at_hand();
    case EMFILE:
    case ENFILE:
      return "; allow more open files (ulimit -n), or use fewer links in one process";
    case EADDRINUSE:
      return "; stop the process that listens there, or ask for port 0 to be given a free one";
    case EADDRNOTAVAIL:
    case ENODEV:
      return "; give an address or an interface of this host";
    case EACCES:
      return "; ports below 1024 need privileges, take a higher one";
    default:
      return "";
  }
}

}  // namespace

Status failure(std::string_view wanted, int error) {
  return {has_run_out(error) ? Code::kResource : Code::kNetwork,
          fmt::format("{}: {}{}", wanted, std::strerror(error), advice(error))};
}

}  // namespace stretto
