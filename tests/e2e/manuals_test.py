# SPDX-License-Identifier: Apache-2.0
"""The programs' own documentation: --help, and the man pages and bash completion made of it. Needs
STRETTO_BUILD_DIR and STRETTO_SOURCE_DIR.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["STRETTO_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "cmake"))
import make_manuals  # noqa: E402 (it lies beside what the build makes of it)

os.environ["PYTHONPATH"] = str(BUILD / "python")

PROGRAMS = ("stretto-bench", "stretto-checkpoint", "stretto-launch", "stretto-scheduler",
            "stretto-server", "stretto-top", "stretto-trace")
# Of the Python package; the names of their modules.
MODULES = {"bpslaunch": "stretto.bpslaunch", "stretto-doctor": "stretto.doctor"}
EXAMPLES = ("digits", "stretto-converge", "rpc", "input")
SECONDS = 30


def run(*words, **options):
    """Status, stdout and stderr."""
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("STRETTO_", "DMLC_", "BYTEPS_"))}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env=variables, timeout=SECONDS, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def command_of(name):
    return [sys.executable, "-m", MODULES[name]] if name in MODULES else [BUILD / "bin" / name]


def help_of(name):
    return make_manuals.read(name, run(*command_of(name), "--help")[1])


def with_manuals():
    """All programs with a page: without pybind11 there is no Python package."""
    return (*PROGRAMS, *(MODULES if (BUILD / "manuals" / "man" / "bpslaunch.1").exists() else ()))


class Help(unittest.TestCase):

    def test_it_ends_well(self):
        for name in PROGRAMS:
            with self.subTest(name):
                for flag in ("--help", "-h"):
                    status, said, complaint = run(BUILD / "bin" / name, flag)
                    self.assertEqual((status, complaint), (0, ""))
                    self.assertTrue(said.startswith(f"usage: {name} "), said[:100])
                    self.assertEqual([line for line in said.splitlines() if len(line) > 100], [])
                status, said, complaint = run(BUILD / "bin" / name, "--version")
                self.assertEqual((status, complaint), (0, ""))
                self.assertRegex(said, rf"^{name} \d+\.\d+\.\d+( \([0-9a-f]{{12}}(-dirty)?\))?\n$")

    def test_only_our_flags(self):
        """Flags of the flag library itself are neither listed nor accepted."""
        for name in PROGRAMS:
            flags = help_of(name).flags
            with self.subTest(name):
                self.assertNotIn("--flagfile", flags)
                status, _, complaint = run(BUILD / "bin" / name, "--flagfile=x")
                self.assertEqual(status, 2)
                self.assertTrue(complaint.startswith("ERROR InvalidArgument"), complaint)

    def test_what_it_names_is_taken(self):
        for name in PROGRAMS:
            if name == "stretto-bench":
                continue
            for flag in help_of(name).flags:
                # The second is always invalid, so no process starts.
                words = [flag] if flag.startswith("--") else [flag, "1"]
                _, _, complaint = run(BUILD / "bin" / name, *words, "--no-such-flag")
                self.assertNotRegex(complaint, f"(no|unknown) flag '?{flag}\\b", name)

    def test_benchmarks(self):
        """Each of them lists its flags, which together are those of --help."""
        text, found = help_of("stretto-bench"), {"--help", "--version"}
        for benchmark in text.commands:
            _, _, complaint = run(BUILD / "bin" / "stretto-bench", benchmark, "--no_such_flag")
            self.assertIn("unknown flag --no_such_flag", complaint)
            found |= set(re.findall(r" (--\w+)", complaint.split("there are")[1]))
        self.assertEqual(found, set(text.flags))

    def test_output_that_cannot_be_written(self):
        """A full disk is reported; a reader that has closed is not."""
        for name in with_manuals():
            flags = ("--help",) if name == "bpslaunch" else ("--help", "--version")
            for flag in flags:
                words = [*map(str, command_of(name)), flag]
                with self.subTest(f"{name} {flag}"), open("/dev/full", "wb") as full:
                    done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True,
                                          timeout=SECONDS, check=False)
                    self.assertEqual(done.returncode, 1)
                    self.assertRegex(done.stderr, r"^ERROR Resource .*op=print cause=standard "
                                     r"output did not take all(: No space left on device)?\n$")
            words = " ".join(map(str, command_of(name)))
            with self.subTest(f"{name} | head"):
                _, said, complaint = run("bash", "-c", f"{words} --help | head -1")
                self.assertEqual(complaint, "")
                self.assertTrue(said.startswith(f"usage: {name} "), said)

    def test_examples(self):
        """They have only our flags, too, and report errors in one line."""
        for name in EXAMPLES:
            with self.subTest(name):
                status, said, complaint = run(BUILD / "bin" / name, "--help")
                self.assertEqual((status, complaint), (0, ""))
                self.assertRegex(said, rf"^usage: \S*{name} ")
                self.assertNotIn("flagfile", said)
                status, said, complaint = run(BUILD / "bin" / name, "--nonsense")
                self.assertEqual((status, said), (2, ""))
                self.assertEqual(len(complaint.splitlines()), 1, complaint)

    def test_wrong_words(self):
        for name in ("stretto-server", "stretto-scheduler"):
            for words in (["espresso"], ["--workers", "many"], ["--workers"]):
                status, _, complaint = run(BUILD / "bin" / name, *words)
                self.assertEqual(status, 2, complaint)
                self.assertRegex(complaint, r"^ERROR InvalidArgument: .* \(role=\w+ .*"
                                             r"op=arguments\)\n$")


class Manual(unittest.TestCase):

    def test_pages(self):
        for name in with_manuals():
            with self.subTest(name):
                page = BUILD / "manuals" / "man" / f"{name}.1"
                status, said, complaint = run("groff", "-man", "-ww", "-Tutf8", "-P-cbou",
                                              "-rLL=100n", page)
                self.assertEqual((status, complaint), (0, ""))
                self.assertRegex(said, rf"NAME\n +{name} . [a-z]")
                for flag in help_of(name).flags:
                    self.assertIn(flag, said)


class Completion(unittest.TestCase):

    def complete(self, *words, lines=False):
        """bash's completions for the last of the words."""
        script = BUILD / "manuals" / "completions" / words[0]
        function = "_" + words[0].replace("-", "_")
        told = " ".join(f"'{word}'" for word in words)
        status, said, complaint = run(
            "bash", "-uc", f"source {script}; COMP_WORDS=({told}); "
            f"COMP_CWORD={len(words) - 1}; {function}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            cwd=SOURCE)
        self.assertEqual((status, complaint), (0, ""))
        return said.splitlines() if lines else said.split()

    def test_flags(self):
        for name in with_manuals():
            self.assertEqual(set(self.complete(name, "-")), set(help_of(name).flags))
        self.assertEqual(self.complete("stretto-launch", "--hostf"), ["--hostfile"])

    def test_values(self):
        self.assertEqual(self.complete("stretto-launch", "--via", "s"), ["ssh", "slurm"])
        self.assertEqual(self.complete("stretto-launch", "--launcher", "m"), ["mpi"])
        self.assertEqual(self.complete("stretto-checkpoint", "--format", "n"), ["npy"])
        self.assertEqual(self.complete("stretto-server", "--transport", ""),
                         ["auto", "tcp", "zmq", "shm", "fabric"])
        self.assertEqual(self.complete("stretto-launch", "--hostfile", "LIC"), ["LICENSE"])
        self.assertEqual(self.complete("stretto-launch", "--log-dir", "LIC"), [])
        self.assertEqual(self.complete("stretto-launch", "--workers", ""), [])

    def test_choices_with_names(self):
        """Words in lower case are offered unchanged; DIR and FILE complete to existing files."""
        self.assertEqual(self.complete("stretto-launch", "--resume", "a"), ["auto"])
        self.assertEqual(self.complete("stretto-launch", "--resume", "doc"), ["docs"])
        self.assertEqual(self.complete("stretto-launch", "--resume", "LIC"), [])
        offered = self.complete("stretto-launch", "--resume", "")
        self.assertLessEqual({"auto", "no", "docs", "tools"}, set(offered))
        self.assertEqual({"PATH", "DIR"} & set(offered), set())
        self.assertEqual(self.complete("stretto-launch", "--checkpoint-every", ""), ["auto"])
        self.assertEqual(self.complete("stretto-launch", "--hostfile", "LIC"), ["LICENSE"])

    def test_names_with_spaces(self):
        with tempfile.TemporaryDirectory(prefix="two words ") as folder:
            found = self.complete("stretto-launch", "--checkpoint", folder[:-1], lines=True)
        self.assertEqual(found, [folder])

    def test_commands(self):
        self.assertEqual(self.complete("stretto-trace", "a"), ["analyse"])
        self.assertEqual(self.complete("stretto-checkpoint", ""),
                         ["inspect", "verify", "export", "prune"])
        self.assertEqual(self.complete("stretto-launch", "j"), ["join"])
        self.assertEqual(self.complete("stretto-bench", "pu"), ["push_pull", "push", "pull"])
        self.assertEqual(self.complete("stretto-bench", "push", "pu"), [])


class Reading(unittest.TestCase):

    def test_a_help_text(self):
        text = make_manuals.read("brew", """usage: brew CUP [FLAG]...

Makes coffee; slowly.
Or tea.

what
  --cups N, -n       how many, as --size BIG does
  --kind lungo|ristretto
                     which
    of them
  --help, --version

All is hot.
""")
        self.assertEqual(text.usage, ["brew CUP [FLAG]..."])
        self.assertEqual(text.summary, "makes coffee")
        self.assertEqual(text.flags, {"--cups": "N", "-n": "N", "--size": "BIG",
                                      "--kind": "lungo|ristretto", "--help": None,
                                      "--version": None})
        page = make_manuals.manual(text, "1.2", ["brew", "grind"])
        self.assertIn(".SS what\n.TP\n.B \\-\\-cups N, \\-n\nhow many, as", page)
        self.assertTrue(page.endswith(".SH SEE ALSO\n.BR grind (1)\n"), page)
        with self.assertRaises(ValueError):
            make_manuals.read("brew", "no usage\n")


if __name__ == "__main__":
    unittest.main()
