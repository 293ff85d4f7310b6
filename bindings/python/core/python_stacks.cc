// SPDX-License-Identifier: Apache-2.0
// By the function under faulthandler.dump_traceback_later(), whose thread has no GIL either. It is
// not in Python's headers, and is looked up.
#include "bindings/python/core/python_stacks.h"

#include <Python.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "common/descriptor.h"

namespace stretto::python {

std::string python_stacks() {
  using Dump = const char* (*)(int, PyInterpreterState*, PyThreadState*);
  const auto dump = reinterpret_cast<Dump>(::dlsym(RTLD_DEFAULT, "_Py_DumpTracebackThreads"));
  if (dump == nullptr || Py_IsInitialized() == 0) return "this Python does not tell its stacks\n";
  const Descriptor file(::memfd_create("stacks", MFD_CLOEXEC));
  if (file.get() < 0) return "there is no file for Python's stacks\n";
  const char* failed = dump(file.get(), PyInterpreterState_Main(), nullptr);
  if (failed != nullptr) return std::string(failed) + "\n";
  std::string text;
  std::array<char, 4096> piece{};
  ::lseek(file.get(), 0, SEEK_SET);
  for (ssize_t got; (got = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace stretto::python
