// SPDX-License-Identifier: Apache-2.0
// A no-op handler is installed before faulthandler's, which Python removes at exit.
#include "bindings/python/core/python_stacks.h"

#include <pthread.h>
#include <pybind11/pybind11.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace stretto::python {
namespace {

namespace py = pybind11;

constexpr const char* kNone = "this Python does not tell its stacks\n";

// Python restores this handler at exit, and a later signal does not end the process. A program that
// this process starts does not inherit it.
void do_nothing(int /*number*/) {}

bool set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  return ::sigaction(number, &action, nullptr) == 0;
}

bool has_no_handler(int number) {
  struct sigaction action{};
  if (::sigaction(number, nullptr, &action) != 0) return false;
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

// The handler of the signal; null on failure.
PythonStacks::Handler handler_of(int number) {
  struct sigaction action{};
  return ::sigaction(number, nullptr, &action) == 0 ? action.sa_handler : nullptr;
}

int unused_signal() {
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    if (has_no_handler(number)) return number;
  }
  return 0;
}

// Delivers the signal to the calling thread before returning, even if the thread blocks it.
void signal_this_thread(int number) {
  sigset_t unblocked;
  sigset_t before;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, number);
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, &before);
  ::pthread_kill(::pthread_self(), number);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

PythonStacks::PythonStacks() : file_(::memfd_create("stacks", MFD_CLOEXEC)) {
  const int number = unused_signal();
  if (!file_.is_open() || number == 0 || !set_handler(number, do_nothing)) return;
  try {
    py::module_::import("faulthandler")
        .attr("register")(number, py::arg("file") = file_.get(), py::arg("all_threads") = true);
    signal_ = number;
    handler_ = handler_of(number);
  } catch (const py::error_already_set& error) {
    set_handler(number, SIG_DFL);
    if (!error.matches(PyExc_Exception)) throw;  // The import ran the handler of a signal: Ctrl-C.
  }
}

std::string PythonStacks::text() {
  const std::lock_guard lock(mutex_);
  if (signal_ == 0 || Py_IsInitialized() == 0) return kNone;
  if (handler_of(signal_) != handler_) return kNone;  // The program has installed a handler since.
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) return kNone;
  signal_this_thread(signal_);
  const std::string stacks = read_file();
  return stacks.empty() ? kNone : stacks;
}

void PythonStacks::close() {
  const std::lock_guard lock(mutex_);
  if (signal_ == 0) return;
  if (handler_of(signal_) != handler_) {  // The program's own handler stays.
    signal_ = 0;
    return;
  }
  try {
    py::module_::import("faulthandler").attr("unregister")(signal_);
  } catch (const py::error_already_set&) {
    return;  // Python exits, and removes all handlers.
  }
  set_handler(signal_, SIG_DFL);
  signal_ = 0;
}

std::string PythonStacks::read_file() const {
  std::string text;
  std::array<char, 4096> piece{};
  ::lseek(file_.get(), 0, SEEK_SET);
  for (ssize_t got; (got = ::read(file_.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace stretto::python
