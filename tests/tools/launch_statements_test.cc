// SPDX-License-Identifier: Apache-2.0
// Causes of a failure that a launcher finds in a program's output.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/program_failed.h"
#include "tools/launch/supervision/statements.h"

namespace stretto::launch {
namespace {

constexpr JobMember kSpeaker{Role::kWorker, 1};

// The last statement in these lines, as "Code: cause"; empty if there is none.
std::string last_in(const std::vector<std::string>& lines, const JobMember& speaker = kSpeaker) {
  StatementReader reader(speaker);
  std::string last;
  for (const std::string& line : lines) {
    if (const auto said = reader.take(line))
      last = std::string(stretto::name_of(said->code)) + ": " + said->cause;
  }
  return last;
}

const std::string kTraceback = "Traceback (most recent call last):";
const std::string kFrame = "  File \"train.py\", line 4, in <module>";
const std::string kLost = "stretto.errors.PeerLost: worker 0 is lost (peer: worker 0)";

TEST(LaunchStatements, TracebackEndsWithException) {
  EXPECT_EQ(last_in({"epoch 1", kTraceback, kFrame, "    raise", "    ^^^^^", "ValueError: my bug",
                     "a second line of it"}),
            "ProgramFailed: ValueError: my bug");
  EXPECT_EQ(last_in({kTraceback, kFrame, "KeyboardInterrupt"}), "ProgramFailed: KeyboardInterrupt");
  EXPECT_EQ(last_in({kFrame, "    foo(", "SyntaxError: '(' was never closed"}),
            "ProgramFailed: SyntaxError: '(' was never closed");
  EXPECT_EQ(last_in({kTraceback, kFrame, "ValueError: Caught ValueError in DataLoader worker 0.",
                     "Original " + kTraceback, kFrame, "ValueError: my bug"}),
            "ProgramFailed: ValueError: my bug");
}

TEST(LaunchStatements, OutputWithoutTracebackSaysNothing) {
  EXPECT_EQ(last_in({"ValueError: my bug", "loss: 3", "  what():  x", "error: none"}), "");
  EXPECT_EQ(last_in({kTraceback, kFrame, "3 of 7: done"}), "") << "no name of an exception";
  EXPECT_EQ(last_in({kTraceback, kFrame, "ValueError: x"}, {Role::kServer, 0}), "");
}

TEST(LaunchStatements, LossOutlivesLaterExceptions) {
  EXPECT_EQ(last_in({kTraceback, kFrame, kLost, kTraceback, kFrame, "RuntimeError: no step"}),
            "PeerLost: worker 0 is lost");
  const std::string mismatch = "stretto.errors.Mismatch: f32 and f64";
  EXPECT_EQ(last_in({kTraceback, kFrame, mismatch, "",
                     "The above exception was the direct cause of the following exception:", "",
                     kTraceback, kFrame, "RuntimeError: no step"}),
            "Mismatch: f32 and f64");
  EXPECT_EQ(last_in({kTraceback, kFrame, mismatch, kTraceback, kFrame, "ValueError: my bug"}),
            "ProgramFailed: ValueError: my bug");
}

TEST(LaunchStatements, EachNamedCauseOutlivesExceptions) {
  for (const std::string code : {"Timeout", "RendezvousTimeout", "LinkBroken", "NotFinite"}) {
    EXPECT_EQ(last_in({kTraceback, kFrame, "stretto.errors." + code + ": late (peer: worker 0)",
                       kTraceback, kFrame, "RuntimeError: no step"}),
              code + ": late");
  }
}

TEST(LaunchStatements, IgnoredTracebacksSayNothing) {
  const std::string bug = "ValueError: my bug";
  const std::string ignored = "Exception ignored in: <function Loader.__del__ at 0x7f>";
  const std::string thread = "Exception in thread Thread-1 (feed):";
  for (const std::string& begin : {ignored, thread}) {
    EXPECT_EQ(last_in({kTraceback, kFrame, bug, begin, kTraceback, kFrame, "OSError: closed"}),
              "ProgramFailed: " + bug);
    EXPECT_EQ(last_in({kTraceback, kFrame, bug, begin, kTraceback, kFrame, "OSError: closed", "",
                       "During handling of the above exception, another exception occurred:", "",
                       kTraceback, kFrame, "RuntimeError: event loop is closed"}),
              "ProgramFailed: " + bug);
    EXPECT_EQ(last_in({kTraceback, kFrame, bug, begin, kTraceback, kFrame, kLost}),
              "ProgramFailed: " + bug);
    EXPECT_EQ(last_in({begin, kTraceback, kFrame, "OSError: closed"}), "");
    EXPECT_EQ(last_in({begin, kTraceback, kFrame, "OSError: closed", kTraceback, kFrame, bug}),
              "ProgramFailed: " + bug);
  }
  EXPECT_EQ(last_in({thread, kTraceback, kFrame, kLost}), "PeerLost: worker 0 is lost");
  EXPECT_EQ(last_in({ignored, "BrokenPipeError: [Errno 32] Broken pipe", kTraceback, kFrame, bug}),
            "ProgramFailed: " + bug)
      << "without a traceback";
}

TEST(LaunchStatements, CppExceptionIsNamed) {
  const std::string thrown = "terminate called after throwing an instance of 'std::runtime_error'";
  EXPECT_EQ(last_in({thrown, "  what():  my bug"}), "ProgramFailed: std::runtime_error: my bug");
  EXPECT_EQ(last_in({thrown}), "ProgramFailed: uncaught std::runtime_error");
}

TEST(LaunchStatements, CommandLineErrorIsNamed) {
  EXPECT_EQ(last_in({"usage: train.py [-h]", "train.py: error: unrecognized arguments: --lrr"}),
            "ProgramFailed: train.py: error: unrecognized arguments: --lrr");
  EXPECT_EQ(last_in({"python3: can't open file '/x.py': [Errno 2] No such file or directory"}),
            "ProgramFailed: python3: can't open file '/x.py': [Errno 2] No such file or directory");
}

TEST(LaunchStatements, LongMessageIsCut) {
  std::string message;
  for (int i = 0; i < 1000; ++i) message += "\u00e4";
  const std::string said = last_in({kTraceback, kFrame, "ValueError: " + message});
  EXPECT_LT(said.size(), 330U);
  EXPECT_TRUE(said.ends_with("\u00e4...")) << said;
}

TEST(LaunchStatements, NextProcessBeginsAgain) {
  StatementReader reader(kSpeaker);
  EXPECT_FALSE(reader.take(kTraceback));
  reader.begin_again();
  EXPECT_FALSE(reader.take("loss: 3"));
}

}  // namespace
}  // namespace stretto::launch
