// SPDX-License-Identifier: Apache-2.0
// Python programs, and the choice of their interpreter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/launch_fixture.h"
#include "tools/launch/plan/arguments.h"
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
  EXPECT_EQ(under_python({"-x.py"}, false, "python3"), (Words{"python3", "./-x.py"}));
}

TEST(LaunchPythonProgram, PythonOfAnEnvironmentLiesBeside) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "stretto-python-program-test";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(python_beside(folder, ""), "python3");
  std::filesystem::create_symlink("/bin/sh", folder / "python3");
  EXPECT_EQ(python_beside(folder, "/another"), folder / "python3");
  std::filesystem::remove_all(folder);
}

TEST(LaunchPythonProgram, SystemLauncherTakesActiveEnvironment) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "stretto-active-environment-test";
  std::filesystem::create_directories(folder / "bin");
  EXPECT_EQ(python_beside("/usr/bin", ""), "python3") << "the PATH decides";
  EXPECT_EQ(python_beside("/usr/bin", folder), "python3") << "there is none yet";
  std::filesystem::create_symlink("/bin/sh", folder / "bin/python3");
  EXPECT_EQ(python_beside("/usr/bin", folder), folder / "bin/python3");
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

class LaunchPython : public LaunchFixture {
 protected:
  // Runs a program by its name, in the test's folder, which is the only entry of PATH.
  Outcome run_by_name(const std::string& name) {
    return run({"--chdir", folder_, "--env", "PATH=" + folder_.string(), "--", name});
  }
};

TEST_F(LaunchPython, ProgramOfPathRunsByItself) {
  const std::string elsewhere = folder_ / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  script("tool.py", "echo by itself");
  const Outcome outcome =
      run({"--chdir", elsewhere, "--env", "PATH=" + folder_.string() + ":/bin", "--", "tool.py"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "[worker 0] by itself\n");
}

TEST_F(LaunchPython, MissingFileStartsNothing) {
  const Outcome outcome = run_by_name("trian.py");
  EXPECT_EQ(outcome.status, 127);
  EXPECT_EQ(outcome.output, "");
  EXPECT_NE(outcome.last_error().find("no file 'trian.py' in " + folder_.string() +
                                      ", and no program of that name in PATH"),
            std::string::npos)
      << outcome.errors;
  EXPECT_EQ(run({folder_ / "trian.py"}).status, 127);
}

TEST_F(LaunchPython, FolderIsNoFile) {
  std::filesystem::create_directory(folder_ / "x.py");
  const Outcome outcome = run_by_name("x.py");
  EXPECT_EQ(outcome.status, 127);
  EXPECT_NE(outcome.last_error().find("'x.py' is a folder"), std::string::npos) << outcome.errors;
}

TEST_F(LaunchPython, NameWithHyphenIsNoOption) {
  std::ofstream(folder_ / "-x.py") << "print('ran')\n";
  const Outcome outcome = run({"--chdir", folder_, "--", "-x.py"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "[worker 0] ran\n");
}

TEST_F(LaunchPython, FileNeedsNoFirstLine) {
  const std::string program = folder_ / "train.py";
  std::ofstream(program) << "import sys\nprint(sys.argv[1:])\n";
  const Outcome outcome = run({program, "--lr", "0.1"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "[worker 0] ['--lr', '0.1']\n");
}

}  // namespace
}  // namespace stretto::launch
