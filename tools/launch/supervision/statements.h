// SPDX-License-Identifier: Apache-2.0
// StatementReader: reads the cause of one process's failure from its output, line by line.
//
// Stretto's own error lines and exceptions name a code and a peer. The reader also understands
// other failures: the last line of a Python traceback, the exception of a C++ program that ends by
// std::terminate, and the `PROGRAM: error: ...` of a command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// True if the peer in a statement with this code caused the speaker's end. Other codes are errors
/// of the speaker itself, even if they name a peer.
bool names_a_cause(Code code);

class StatementReader {
 public:
  explicit StatementReader(const JobMember& speaker) : speaker_(speaker) {}

  /// The statement that `line` completes, if any. Errors of the program itself have kProgramFailed.
  std::optional<ErrorLine> take(std::string_view line);
  /// Forgets the member's previous process: a new process has replaced it.
  void begin_again() { *this = StatementReader(speaker_); }

 private:
  std::optional<ErrorLine> take_program_words(std::string_view line);

  JobMember speaker_;
  std::optional<Code> last_;   // Of the last statement.
  bool in_traceback_ = false;  // The exception's line follows.
  bool announced_ = false;     // The next traceback does not end the program,
  bool harmless_ = false;      // as the last one did not: of a thread, or ignored.
  bool chained_ = false;       // The next traceback is of an exception that followed the last one.
  std::string thrown_;         // The type that std::terminate named.
};

}  // namespace stretto::launch
