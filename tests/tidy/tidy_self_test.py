# SPDX-License-Identifier: Apache-2.0
"""Tests the style rules themselves: each must find the offenders planted for it in a small tree,
and nothing in a tree that keeps every rule.
"""

import pathlib
import tempfile
import unittest
from unittest import mock

import allowed
import rooms
import rules_classes
import rules_code
import rules_prose
import rules_rooms
import rules_shape
import rules_structure
import rules_text
import rules_unity
from source_tree import Tree
from tidy_test import RULES

SPDX = "SPDX-License-Identifier: Apache-2.0"
CPP = f"// {SPDX}\n// What it is.\n"
HEADER = CPP + "#pragma once\n"
PUBLIC = HEADER + "#pragma GCC visibility push(default)\n#pragma GCC visibility pop\n"
PYTHON = f"# {SPDX}\n\"\"\"What it is.\"\"\"\n"
SCRIPT = f"#!/usr/bin/env bash\n# {SPDX}\n# What it is.\n"
NOTE = "TO" "DO"
SUPPRESSED = "// NO" "LINT"
HOME = "/ho" "me/someone/x"
FOLDERS = {"tests/CMakeLists.txt": f"# {SPDX}\nstretto_test_folder(common stretto::common)\n"
                                  "stretto_test_folder(van stretto::van)\n"}

ROOM_MAP = {"van": ("van/low", "van/high"), "van/low": (), "van/high": ("van/low",)}


def body(lines):
    """A function of `lines` lines."""
    return "int f() {\n" + "  g();\n" * (lines - 2) + "}\n"


def declared(name, methods=0, lines=0):
    """A class of so many methods, and of two lines besides them and those that are asked for."""
    return (f"class {name} {{\n" + "".join(f"  int f{i}(int a = 1);\n" for i in range(methods)) +
            "  int a_;\n" * (lines - methods - 2) + "};\n")


def members(name, number, member="int m{}_ = 0;", kind="class"):
    """A class with so many members of one form."""
    return f"{kind} {name} {{\n" + "".join(f"  {member.format(i)}\n"
                                          for i in range(number)) + "};\n"


# Rule: the files planted, and where offenders must be found, all of them.
PLANTED = {
    rules_structure.floors: (
        {
            "common/a.h": '#include "van/van.h"\n',
            "van/b.h": '#include "ops/sum.h"\n#include "common/a.h"\n',
            "server/c.cc": '#include <vector>\n#include "worker/node.h"\n',
            "common/include/stretto/types.h": "",
            "worker/include/stretto/worker.h": '#include "stretto/types.h"\n',
            "van/e.cc": '#include "stretto/worker.h"\n',
            "tools/f.cc": '#include "scheduler/roll.h"\n#include "server/c.h"\n',
            "tests/g.cc": '#include "scheduler/roll.h"\n#include "tools/f.h"\n',
        },
        ["common/a.h:1", "van/b.h:1", "server/c.cc:2", "van/e.cc:1", "tools/f.cc:1"]),
    rules_structure.includes_name_the_whole_path: (
        {
            "van/a.h": "",
            "van/b.cc": '#include "a.h"\n#include "van/a.h"\n#include "van/control.pb.h"\n',
            "van/c.cc": '#include "../van/a.h"\n#include <zmq.h>\n#include "stretto/types.h"\n',
        },
        ["van/b.cc:1", "van/c.cc:1"]),
    rules_structure.van_doors: (
        {
            "server/a.cc": '#include "van/transport/transport.h"\n#include "van/engine/van.h"\n',
            "tools/a.cc": "#include <van/zmq/peers.h>\n",
            "tests/a.cc": '#include "van/transport/transport.h"\n',
        },
        ["server/a.cc:1", "tools/a.cc:1"]),
    rules_structure.system_doors: (
        {
            "van/a.cc": "#include <zmq.h>\n",
            "server/a.cc": "#include <rdma/fabric.h>\n",
            "van/zmq/a.cc": "#include <zmq.h>\n",
        },
        ["van/a.cc:1", "server/a.cc:1"]),
    rules_structure.protobuf_is_the_codecs: (
        {
            "van/a.cc": '#include "van/control.pb.h"\n',
            "van/control/control_decode.cc": '#include "van/control.pb.h"\n',
            "server/a.cc": "#include <google/protobuf/message.h>\n",
            "tests/van/a_test.cc": '#include "van/control.pb.h"\n',
        },
        ["van/a.cc:1", "server/a.cc:1"]),
    rules_structure.public_headers_stand_alone: (
        {"worker/include/stretto/a.h": "#include <vector>\n"
                                       '#include "stretto/types.h"\n'
                                       '#include "common/log.h"\n'
                                       "#include <fmt/format.h>\n"},
        ["worker/include/stretto/a.h:3", "worker/include/stretto/a.h:4"]),
    rules_structure.pragma_once: (
        {"ops/a.h": CPP + "// #pragma once\n", "ops/b.h": HEADER, "ops/c.cc": CPP},
        ["ops/a.h:1"]),
    rules_structure.public_headers_are_visible: (
        {"ops/a.h": HEADER, "rpc/include/stretto/b.h": HEADER,
         "rpc/include/stretto/c.h": PUBLIC},
        ["rpc/include/stretto/b.h:1", "rpc/include/stretto/b.h:1"]),
    rules_structure.file_names: (
        {"ops/FastSum.cc": CPP, "ops/fast-sum.h": HEADER, "ops/fast_sum.h": HEADER,
         "tools/run-all": SCRIPT},
        ["ops/FastSum.cc:1", "ops/fast-sum.h:1"]),
    rules_structure.every_source_has_its_test: (
        {"ops/a.cc": CPP, "ops/b.cc": CPP, "van/zmq/c.cc": CPP, "van/zmq/d.cc": CPP,
         "tests/ops/b_test.cc": CPP, "tests/van/c_test.cc": CPP, "tests/van/zmq/d_test.cc": CPP,
         "tools/e.cc": CPP},
        ["ops/a.cc:1"]),
    rules_structure.every_test_runs: (
        FOLDERS | {
            "tests/van/a_test.cc": "TEST(A, B) {}\n",
            "tests/vans/a_test.cc": "TEST(A, B) {}\n",
            "tests/common/shared.cc": "// TEST(A, B)\nTEST_F(A, B) {}\n",
            "tests/e2e/job_test.py": "import launch\n",
            "tests/e2e/launch.py": "",
            "tests/e2e/lost.py": "",
        },
        ["tests/vans/a_test.cc:1", "tests/common/shared.cc:2", "tests/e2e/lost.py:1"]),
    rules_text.licence_line: (
        {"van/a.cc": "// What it is.\n", "tools/a": SCRIPT, "tools/b.sh": "# What it is.\n",
         "van/CMakeLists.txt": f"\n# {SPDX}\n", "van/b.cc": CPP, "README.md": "# Title\n"},
        ["van/a.cc:1", "tools/b.sh:1", "van/CMakeLists.txt:1"]),
    rules_text.opening_comment: (
        {"van/a.cc": f"// {SPDX}\n#include <vector>\n", "van/b.cc": CPP,
         "tools/a": f"#!/bin/bash\n# {SPDX}\nset -e\n", "tools/b.py": PYTHON,
         "tools/c.py": f"# {SPDX}\nimport os\n"},
        ["van/a.cc:2", "tools/a:3", "tools/c.py:2"]),
    rules_text.file_size: (
        {"van/a.cc": "\n" * 501, "van/b.cc": "\n" * 500, "README.md": "\n" * 900},
        ["van/a.cc:501"]),
    rules_text.line_width: (
        {"van/a.cc": "x" * 100 + "\n" + "x" * 101 + "\n", "README.md": "x" * 200},
        ["van/a.cc:2"]),
    rules_text.document_width: (
        {"README.md": "x " * 50 + "\n" + "x " * 50 + "x\n```\n" + "x " * 60 + "\n```\n",
         "docs/A.md": "| " + "x " * 60 + "|\n- [a](" + "x" * 100 + ")\n`" + "x " * 60 + "`\n" +
                      "x".ljust(100) + "x\n" + "x" * 101 + "\n",
         "van/a.cc": "x " * 60},
        ["README.md:2", "docs/A.md:4"]),
    rules_text.python_functions: (
        {"tools/a.py": "def f():\n" + "    g()\n" * 70,
         "tools/b.py": "def f():\n" + "    g()\n" * 69},
        ["tools/a.py:1"]),
    rules_text.field_terms: (
        {"README.md": "Bytes under\nway. `under way`\n```\nhand over\n```\nIt hands over.\n",
         "docs/STYLE.md": "under way\n", "rpc/include/stretto/a.h": PUBLIC + "// Under way.\n",
         "rpc/a.h": "// under way\n"},
        ["README.md:1", "README.md:6", "rpc/include/stretto/a.h:6"]),
    rules_text.leftovers: (
        {"van/a.cc": f"\n// {NOTE}: later\n", "README.md": f"{NOTE}\n",
         "tools/b": f"a.{NOTE}{NOTE}"},
        ["van/a.cc:2", "README.md:1"]),
    rules_text.suppressions_say_why: (
        {"van/a.cc": f"f();  {SUPPRESSED}\nf();  {SUPPRESSED}(check)\n"
                     f"f();  {SUPPRESSED}(check): reason.\nf();  {SUPPRESSED}: reason.\n"
                     f"{SUPPRESSED}NEXTLINE(check)\n"},
        ["van/a.cc:1", "van/a.cc:2", "van/a.cc:5"]),
    rules_text.links_resolve: (
        {"docs/A.md": "[b](B.md) [b](B.md#x) [c](../README.md)\n[d](C.md)\n```\n[e](D.md)\n```\n"
                      "[f](https://example.org/x) `[g](E.md)` [h](#h)\n[i](../../out.md)\n",
         "docs/B.md": "", "README.md": "[docs](docs)"},
        ["docs/A.md:2", "docs/A.md:7"]),
    rules_text.commands_exist: (
        {"README.md": "Run `./tools/check`.\nThen tools/absent.\n", "tools/check": SCRIPT,
         "docs/decisions/0001-a.md": "We had tools/gone.\n",
         "docs/results/0001-a.md": "It can be built and\n> run at commit 0123abc.\ntools/gone\n",
         "docs/results/0002-b.md": "It was there at commit 0123abc.\ntools/gone\n"},
        ["README.md:2", "docs/results/0002-b.md:2"]),
    rules_text.no_private_paths: (
        {"README.md": f"It is in {HOME}.\nThe URL https://host/home/x and /usr/bin/x are fine.\n",
         "van/a.cc": f'f("{HOME}");\nf("a/b/c", "./d/e/f", x /y/ z, "/tmp/a", "/no/such/file");\n'},
        ["README.md:1", "van/a.cc:1"]),
    rules_text.scripts_are_strict: (
        {"tools/a": SCRIPT + "set -euo pipefail\n", "tools/b": SCRIPT + "set -e\n",
         "tools/c.sh": "# Sourced, not run.\n"},
        ["tools/b:1"]),
    rules_text.pipes_are_read_to_their_end: (
        {"tools/a": SCRIPT + "sort a | head -n 3\nf | grep -qx b\nhead -1 a\ngrep -q b <<<c\n",
         "van/a.py": PYTHON + 'RUN = "a | head -1"\n'},
        ["tools/a:4", "tools/a:5"]),
    rules_code.function_size: (
        {"van/a.cc": "namespace s {\n" + body(71) + body(70) + "}\n",
         "van/b.h": "class A {\n public:\n  A() : a_{1}, b_(2) {\n" + "    g();\n" * 70 +
                    "  }\n};\n"},
        ["van/a.cc:2", "van/b.h:3"]),
    rules_code.environment_in_one_file: (
        {"van/a.cc": '// getenv\nchar* a = std::getenv("A");\nf("getenv");\n',
         "common/config/environment.cc": 'getenv("A");\n'},
        ["van/a.cc:2"]),
    rules_code.variables_are_listed: (
        {"common/config/variables.cc": '// Names.\n"STRETTO_RANK", "STRETTO_SHARDS",\n',
         "docs/CONFIGURATION.md": "| `STRETTO_RANK` |\n",
         "van/a.cc": 'f("STRETTO_RANK");\nf("STRETTO_WINDOW");\nf("STRETTO_");\n'},
        ["common/config/variables.cc:1", "van/a.cc:2"]),
    rules_code.headers_are_read_by_views: (
        {"van/a.cc": "header.version = 1;\n",
         "tests/fuzz/b.cc": "sent.header.base = 1;\n",
         "tests/worker/b.cc": "sent.header.base = 1;\n",
         "worker/c.cc": "// header.version\nf(header.version);\nvalue.version = 1;\n",
         "rpc/d.cc": "frame.header.base = 1;\nheader->version = 1;\nheader.epoch = 1;\n"},
        ["tests/worker/b.cc:1", "worker/c.cc:2", "rpc/d.cc:1", "rpc/d.cc:2"]),
    rules_code.no_sleep: (
        {"van/a.cc": "std::this_thread::sleep_for(1s);\n// sleep_for\nthread.detach();\n"
                     'sleep(1);\nrun("sleep 1");\nusleep(1);\nasleep(1);\n',
         "tests/e2e/a_test.py": 'import time\n# sleep(1)\ntime.sleep(1)\nrun("sleep(1)")\n'},
        ["van/a.cc:1", "van/a.cc:3", "van/a.cc:4", "van/a.cc:6", "tests/e2e/a_test.py:3"]),
    rules_code.no_skipped_tests: (
        {"tests/van/a_test.cc": "TEST(A, DISABLED_B) {}\nTEST(A, C) { GTEST_SKIP(); }\n",
         "tests/e2e/a_test.py": "import unittest\n@unittest.skip('later')\ndef f():\n  skip = 1\n"},
        ["tests/van/a_test.cc:1", "tests/van/a_test.cc:2", "tests/e2e/a_test.py:2"]),
    rules_code.no_exceptions: (
        {"van/a.cc": 'void f() { throw 1; }\n// throw\nf("throw");\n',
         "bindings/a.cc": "void f() { throw 1; }\n"},
        ["van/a.cc:1"]),
    rules_code.no_mutable_globals: (
        {"van/a.cc": "namespace s {\nint count = 0;\nconst int kCount = 1;\nstd::string name;\n"
                     "int f(int x = 0);\nusing A = int;\nstruct B;\nvoid g() {\n"
                     "  static int calls = 0;\n  static const int kCalls = 1;\n"
                     "  int local = 0;\n}\n"
                     "class C {\n  static int made;\n  static int make();\n"
                     "  static constexpr int kMade = 1;\n  int member = 0;\n};\n"
                     "std::atomic<int> ready{0};\nC::~C() = default;\n"
                     "constexpr int kTable[] = {1, 2};\n"
                     "bool operator==(A a, A b);\ntemplate <typename T = int>\nT h(T t);\n}\n"},
        ["van/a.cc:2", "van/a.cc:4", "van/a.cc:9", "van/a.cc:14", "van/a.cc:19"]),
    rules_code.no_using_namespace: (
        {"van/a.cc": "using namespace std;\nusing namespace stretto;\n",
         "van/a.h": "using namespace stretto;\nusing namespace std::chrono_literals;\n"},
        ["van/a.cc:1", "van/a.h:1"]),
    rules_code.both_compilers_take_it: (
        {"van/a.cc": "#include <format>\n#include <span>\nfor (x : std::views::iota(1)) {}\n"},
        ["van/a.cc:1", "van/a.cc:3"]),
    rules_code.classes_name_their_thread: (
        {"van/a.h": "namespace s {\n/// Thread: loop.\nclass A {\n  void f();\n"
                    "  class In { void g(); };\n};\n/// What it is.\nclass B {\n"
                    "  void f() const;\n};\nstruct Value {\n"
                    "  int a = 0;\n  int f() const { return a; }\n};\nstruct Data {\n  int a;\n};\n"
                    "struct Worker {\n  void f();\n};\nclass Later;\n}\n",
         "ops/a.h": "class A {\n  void f();\n};\n"},
        ["van/a.h:8", "van/a.h:18"]),
    rules_unity.unnamed_names_are_one_in_a_unit: (
        {
            "van/a.cc": "namespace s {\nnamespace {\nconstexpr int kMost = 1;\nint f(int a) {\n"
                        "  return a;\n}\nstruct Room {\n};\n}  // namespace\n}  // namespace s\n",
            "van/zmq/b.cc": "namespace s {\nnamespace {\nconstexpr int kMost = 2;\nint f(int b) {\n"
                            "  return b;\n}\nint f(long b) {\n  return 1;\n}\nstruct Room {\n};\n"
                            "}  // namespace\n}  // namespace s\n",
            "van/c.cc": "namespace t {\nnamespace {\nconstexpr int kMost = 2;\n}  // namespace\n"
                        "}  // namespace t\n",
            "van/no_a.cc": "namespace s {\nnamespace {\nconstexpr int kMost = 1;\n}  // namespace\n"
                           "}  // namespace s\n",
            "server/d.cc": "namespace s {\nnamespace {\nconstexpr int kMost = 1;\n}  // namespace\n"
                           "}  // namespace s\n",
        },
        ["van/zmq/b.cc:3", "van/zmq/b.cc:4", "van/zmq/b.cc:10"]),
    rules_shape.class_shape: (
        {
            "van/a.h": members("Wide", 13) + members("Full", 12),
            "van/b.h": members("Bag", 7, "Loop& m{}_;") + members("Few", 6, "Loop& m{}_;"),
            "van/c.h": "using Done = std::function<void(int)>;\n" +
                       members("Told", 11, "Done m{}_;", "struct") +
                       members("Heard", 10, "std::function<int(char)> m{}_{{}};", "struct"),
            "van/d.h": "class Quiet {\n" + "  void f(int a = 1) const;\n  using A = int;\n" * 9 +
                       "  static constexpr int kA = 1;\n  friend class Wide;\n" * 9 + "};\n",
            "van/e.h": members("Record", 13, "int m{}_ = 0;", "struct"),
            "tests/van/a.h": members("Tested", 13),
        },
        ["van/a.h:1", "van/b.h:1", "van/c.h:2"]),
    rules_rooms.room_dependencies: (
        {
            "van/a.cc": '#include "van/low/a.h"\n#include "van/high/a.h"\n',
            "van/low/a.cc": '#include "van/low/a.h"\n#include "van/high/a.h"\n',
            "van/high/a.cc": '#include "van/low/a.h"\n#include "common/a.h"\n',
            "van/new/a.cc": '#include "van/low/a.h"\n',
            "server/a.cc": '#include "van/high/a.h"\n#include "server/inner/a.h"\n',
            "tests/van/a_test.cc": '#include "van/low/a.h"\n',
        },
        ["van/low/a.cc:2", "van/new/a.cc:1"]),
    rules_rooms.folder_cycles: (
        {
            "van/a.cc": '#include "van/low/a.h"\n',
            "van/low/b.h": '#include "van/high/b.h"\n',
            "van/high/c.h": '#include "van/c.h"\n',
            "bindings/python/stretto/__init__.py": "from stretto.torch import steps\n",
            "bindings/python/stretto/core.py": "A = 1\n",
            "bindings/python/stretto/torch/steps.py":
                "import os\nfrom stretto import core\nfrom stretto.torch import steps\n",
            "bindings/python/stretto/input/late.py":
                "def f():\n    from stretto import core\n",
            "bindings/python/stretto/user.py": "import stretto.input.late\n",
        },
        ["bindings/python/stretto/__init__.py:1", "van/a.cc:1"]),
    rules_prose.dialect: (
        {"van/a.h": "// The standby has all that it needs.\n",
         "server/a.h": "// The standby is in sync.\n"},
        ["tests/tidy/allowed.py:1"]),
    rules_prose.test_names: (
        {"tests/van/a_test.cc": f"TEST(A, {'B' * 45}) {{}}\nTEST_F(A, {'B' * 46}) {{}}\n"
                                "TEST(A, WhoWaitsIsTold) {}\nTEST(A, FailsWaiters) {}\n"},
        ["tests/van/a_test.cc:2", "tests/van/a_test.cc:3"]),
    rules_classes.class_names: (
        {
            "van/a.h": "namespace a {\nclass Link {\n};\nclass Frame;\nclass Node {\n"
                       "  struct Frame {\n  };\n};\n}\n",
            "tools/launch/b.cc": "namespace b {\nnamespace {\nstruct Link {\n};\n}\n}\n",
            "van/c.cc": "class Frame {\n};\nclass Ring {\n};\nstruct Node::Slot {\n};\n",
            "van/no_c.cc": "class Ring {\n};\n",
            "rpc/d.h": "class Slot {\n};\n",
            "tests/e.h": "class Ring {\n};\n",
            "examples/f.h": "class Ring {\n};\n",
        },
        ["van/a.h:2", "tools/launch/b.cc:3"]),
}

KEEPS_EVERY_RULE = FOLDERS | {
    "common/include/stretto/types.h": PUBLIC,
    "van/van.h": HEADER + '#include "stretto/types.h"\n/// Thread: loop.\nclass A { void f(); };\n',
    "van/van.cc": CPP + '#include "van/van.h"\n' + body(10),
    "tests/van/van_test.cc": CPP + '#include "van/van.h"\nTEST(A, B) { f(); }\n',
    "tests/e2e/job_test.py": PYTHON,
    "tools/check": SCRIPT + "set -euo pipefail\n",
    "README.md": "[types](common/include/stretto/types.h), ./tools/check\n",
    "build/generated.cc": "throw;",
}


def plant(root, files):
    for name, text in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def offenders(rule, files):
    """Where `rule` finds offenders in a tree of `files`, as path:line."""
    with tempfile.TemporaryDirectory() as root:
        plant(root, files)
        return [f"{o.path}:{o.line}" for o in rule(Tree(root))]


class Rules(unittest.TestCase):
    """The allow lists are empty here, but where a test says otherwise."""

    def setUp(self):
        for name in ("COVERED_BY", "MUTABLE_STATICS", "SLEEPERS", "CLASS_SHAPES", "NAMESAKES",
                     "FOLDER_CYCLES", "DIALECT"):
            patch = mock.patch.object(allowed, name, {})
            patch.start()
            self.addCleanup(patch.stop)

    def test_each_rule_finds_what_is_planted(self):
        for rule in RULES:
            with self.subTest(rule=rule.__name__):
                files, expected = PLANTED[rule]
                with mock.patch.multiple(rooms, AREAS=("van",), ROOMS=ROOM_MAP):
                    self.assertEqual(sorted(offenders(rule, files)), sorted(expected))

    def test_no_rule_finds_anything_in_a_good_tree(self):
        for rule in RULES:
            with self.subTest(rule=rule.__name__):
                with mock.patch.multiple(rooms, AREAS=(), ROOMS={}):
                    self.assertEqual(offenders(rule, KEEPS_EVERY_RULE), [])

    def test_a_script_must_be_executable(self):
        with tempfile.TemporaryDirectory() as root:
            plant(root, {"tools/a": SCRIPT + "set -euo pipefail\n"})
            pathlib.Path(root, "tools/a").chmod(0o644)
            self.assertEqual(len(rules_text.scripts_are_strict(Tree(root))), 1)

    def test_the_checkout_itself_is_a_private_path(self):
        with tempfile.TemporaryDirectory() as root:
            own = pathlib.Path(root).resolve()
            plant(root, {"README.md": f"It is in {own}/README.md.\n"})
            self.assertEqual(len(rules_text.no_private_paths(Tree(root))), 1)


class AllowLists(unittest.TestCase):
    """What is permitted by name is not an offence, and what is stale is one."""

    def found(self, name, entries, rule, files):
        with mock.patch.object(allowed, name, entries):
            return offenders(rule, files)

    def covered(self, entries, files):
        return self.found("COVERED_BY", entries, rules_structure.every_source_has_its_test, files)

    def test_a_source_may_be_covered_by_another_test(self):
        files = {"ops/a.cc": CPP, "tests/ops/b_test.cc": CPP}
        self.assertEqual(self.covered({"ops/a.cc": "tests/ops/b_test.cc"}, files), [])

    def test_the_other_test_must_exist_and_be_a_test(self):
        files = {"ops/a.cc": CPP, "tests/ops/b.cc": CPP}
        self.assertEqual(len(self.covered({"ops/a.cc": "tests/ops/b_test.cc"}, files)), 1)
        self.assertEqual(len(self.covered({"ops/a.cc": "tests/ops/b.cc"}, files)), 1)

    def test_an_entry_that_nothing_needs_is_stale(self):
        files = {"ops/a.cc": CPP, "tests/ops/a_test.cc": CPP, "tests/ops/b_test.cc": CPP}
        self.assertEqual(len(self.covered({"ops/a.cc": "tests/ops/b_test.cc"}, files)), 1)
        self.assertEqual(len(self.covered({"ops/gone.cc": "tests/ops/b_test.cc"}, files)), 1)

    def test_statics_and_sleeps(self):
        entry = {"common/log.cc": "why"}
        static = {"common/log.cc": "int f() {\n  static int n = 0;\n  return n;\n}\n"}
        none = {"common/log.cc": "int f();\n"}
        sleep = {"common/log.cc": "sleep(1);\n"}
        rule = rules_code.no_mutable_globals
        self.assertEqual(self.found("MUTABLE_STATICS", entry, rule, static), [])
        self.assertEqual(len(self.found("MUTABLE_STATICS", entry, rule, none)), 1)
        rule = rules_code.no_sleep
        self.assertEqual(self.found("SLEEPERS", entry, rule, sleep), [])
        self.assertEqual(len(self.found("SLEEPERS", entry, rule, {})), 1)

    def test_a_listed_shape_does_not_grow(self):
        files = {"van/a.h": members("A", 15)}
        rule = rules_shape.class_shape
        for number, offences in ((15, 0), (14, 1), (16, 1)):
            with self.subTest(number=number):
                entry = {"van/a.h:A": {"data members": number}}
                self.assertEqual(len(self.found("CLASS_SHAPES", entry, rule, files)), offences)

    def test_a_shape_within_limits_leaves_the_list(self):
        entry = {"van/a.h:A": {"data members": 15}}
        rule = rules_shape.class_shape
        small = {"van/a.h": members("A", 12)}
        self.assertEqual(len(self.found("CLASS_SHAPES", entry, rule, small)), 1)
        self.assertEqual(len(self.found("CLASS_SHAPES", entry, rule, {})), 1)

    def test_a_listed_dialect_shrinks(self):
        rule = rules_prose.dialect
        files = {"van/a.h": "// The standby has all that it needs.\n"}  # 143 marks in 1,000 words.
        for most, offences in ((142, 1), (143, 0), (145, 1)):
            with self.subTest(most=most):
                entry = {"comments of van": most}
                self.assertEqual(len(self.found("DIALECT", entry, rule, files)), offences)
        self.assertEqual(len(self.found("DIALECT", {"pages": 9}, rule, {})), 1)

    def test_a_listed_cycle_is_permitted(self):
        entry = ({"van", "van/low"},)
        rule = rules_rooms.folder_cycles
        cycle = {"van/a.cc": '#include "van/low/a.h"\n', "van/low/a.h": '#include "van/a.h"\n'}
        self.assertEqual(self.found("FOLDER_CYCLES", entry, rule, cycle), [])
        self.assertEqual(len(self.found("FOLDER_CYCLES", entry, rule, {})), 1)

    def test_namesakes_are_as_many_as_are_permitted(self):
        rule = rules_classes.class_names
        two = {"van/a.h": declared("A"), "van/b.h": declared("A")}
        one = {"van/a.h": declared("A")}
        self.assertEqual(self.found("NAMESAKES", {"A": 2}, rule, two), [])
        self.assertEqual(len(self.found("NAMESAKES", {"A": 3}, rule, two)), 1)
        self.assertEqual(len(self.found("NAMESAKES", {"A": 2}, rule, one)), 1)
        self.assertEqual(len(self.found("NAMESAKES", {"A": 1}, rule, one)), 1)
        self.assertEqual(len(self.found("NAMESAKES", {"A": 2}, rule, {})), 1)


if __name__ == "__main__":
    unittest.main()
