// SPDX-License-Identifier: Apache-2.0
// Programs in Python, and the Python that runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/launch_fixture.h"
#include "tools/launch/arguments.h"
#include "tools/launch/python_program.h"

namespace stretto::launch {
namespace {

using Words = std::vector<std::string>;

TEST(LaunchPythonProgram, FilesAndModulesRunUnderPython) {
  EXPECT_EQ(under_python({"train.py", "--lr", "1"}, false, "/v/python3"),
            (Words{"/v/python3", "train.py", "--lr", "1"}));
  EXPECT_EQ(under_python({"my.train", "-m"}, true, "python3"),
            (Words{"python3", "-m", "my.train", "-m"}));
  EXPECT_EQ(under_python({"./train", "x.py"}, false, "python3"), (Words{"./train", "x.py"}));
  EXPECT_EQ(under_python({}, true, "python3"), Words{});
}

TEST(LaunchPythonProgram, PythonOfAnEnvironmentLiesBeside) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "stretto-python-program-test";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(python_beside(folder), "python3");
  std::filesystem::create_symlink("/bin/sh", folder / "python3");
  EXPECT_EQ(python_beside(folder), folder / "python3");
  std::filesystem::remove_all(folder);
}

TEST(LaunchPythonProgram, FlagsSayHowTheProgramRuns) {
  const auto planned = [](const Words& words) { return parse_arguments(words, nullptr); };
  EXPECT_TRUE(planned({"-m", "my.train", "-m"})->module);
  EXPECT_EQ(planned({"-m", "my.train", "-m"})->command, (Words{"my.train", "-m"}));
  EXPECT_TRUE(planned({"--no_python", "x.py"})->no_python);
  EXPECT_EQ(planned({"-m", "--no-python", "x"}).status().cause(),
            "--module names a module of Python, and --no-python runs PROGRAM without Python; leave "
            "one out");
}

class LaunchPython : public LaunchFixture {};

TEST_F(LaunchPython, FileNeedsNoFirstLine) {
  const std::string program = folder_ / "train.py";
  std::ofstream(program) << "import sys\nprint(sys.argv[1:])\n";
  const Outcome outcome = run({program, "--lr", "0.1"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "[worker 0] ['--lr', '0.1']\n");
}

}  // namespace
}  // namespace stretto::launch
