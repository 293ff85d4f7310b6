// SPDX-License-Identifier: Apache-2.0
// No code here allocates, since memory has run out.
#include "common/process/oom_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>

#include "common/log.h"
#include "common/memory.h"

namespace stretto {
namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;  // Thread stack size on Linux.

constexpr std::int64_t kLinkedSeconds = 2;  // From a failed allocation to a consequence.

constexpr const char* kMemory = "out of memory";

std::atomic<std::int64_t> asked_in_vain_at{-kLinkedSeconds - 1};  // Seconds of the steady clock.
std::atomic<bool> said{false};
std::new_handler next_new_handler = nullptr;
std::terminate_handler next_terminate_handler = nullptr;

// Async-signal-safe.
std::int64_t steady_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void on_no_memory() {
  asked_in_vain_at.store(steady_seconds());
  if (next_new_handler == nullptr) throw std::bad_alloc();
  next_new_handler();
}

// Only once per process: an uncaught exception also aborts.
void say(const char* lack, const char* cause) {
  if (said.exchange(true)) return;
  const Identity who = log_identity();  // Role names are short and need no allocation.
  char rank[24] = "-";
  if (who.rank >= 0) std::snprintf(rank, sizeof rank, "%lld", static_cast<long long>(who.rank));
  char at_hand[256];
  tell_memory_at_hand(at_hand, sizeof at_hand);
  char line[640];
  const int bytes = std::snprintf(line, sizeof line,
                                  "ERROR Resource role=%s rank=%s peer=- op=- cause=%s: %s%s\n",
                                  who.role.c_str(), rank, lack, cause, at_hand);
  if (bytes > 0) (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(bytes));
}

// Prints the cause if the exception means a lack of memory.
void say_if_for_memory(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const OutOfMemory& lack) {
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "wanted %zu bytes more; ", lack.wanted_bytes());
    say(kMemory, wanted);
  } catch (const std::bad_alloc&) {
    say(kMemory, "");
  } catch (const std::system_error& refused) {  // From starting a thread.
    if (refused.code() != std::errc::resource_unavailable_try_again) return;
    if (memory_is_short()) {  // No room for the thread's stack.
      say(kMemory, "a thread could not be started; ");
    } else {
      say("no more threads",
          "one could not be started; allow this user more processes (ulimit -u), or its control "
          "group more tasks (pids.max); ");
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): what ends the process is not ours to explain.
  }
}

void on_terminate() {
  if (const std::exception_ptr thrown = std::current_exception()) say_if_for_memory(thrown);
  next_terminate_handler();
  std::abort();  // A handler may not return.
}

// Raises the signal again, now with its default action: kill() from another process ends this
// process as abort() does. The signal stays blocked until this returns.
void on_abort(int) {
  const bool just_now = steady_seconds() - asked_in_vain_at.load() <= kLinkedSeconds;
  if (just_now || memory_is_short()) say(kMemory, "it could not go on; ");
  ::raise(SIGABRT);
}

}  // namespace

bool memory_is_short() {
  void* const stack =
      ::mmap(nullptr, kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) return true;
  ::munmap(stack, kStackBytes);
  return false;
}

void promise_last_words() {
  static std::once_flag once;
  std::call_once(once, [] {
    (void)log_identity();  // Allocates what it needs.
    next_new_handler = std::set_new_handler(on_no_memory);
    next_terminate_handler = std::set_terminate(on_terminate);
    struct sigaction now{};
    if (::sigaction(SIGABRT, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction ours{};
    ours.sa_handler = on_abort;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGABRT, &ours, nullptr);
  });
}

}  // namespace stretto
