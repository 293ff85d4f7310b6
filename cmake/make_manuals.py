# SPDX-License-Identifier: Apache-2.0
"""Makes man pages and bash completion from the programs' --help texts, so that the three agree:

    make_manuals.py VERSION FOLDER PROGRAM...  writes FOLDER/man/NAME.1 and FOLDER/completions/NAME

A program is a file; or NAME=MODULE, a Python module that runs as NAME; or NAME alone, to which
other pages refer, and whose page exists elsewhere.

The form of a help text: "usage: " and its lines; paragraphs; sections, each a heading at the margin
(or none) and entries. An entry is indented by two: the typed words, two spaces or a new line, their
meaning; further lines are indented deeper. A value's name gives its kind: FILE, DIR, or
one|another. A choice may have such names among its words: auto|no|DIR.
"""

import dataclasses
import itertools
import pathlib
import re
import subprocess
import sys

_FLAG = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)(?:[ =]((?!-)[A-Za-z][^\s,()]*))?")
_CHOICE = re.compile(r"[\w-]+(\|[\w-]+)+")
_FILES, _FOLDERS = re.compile(r"FILE\b"), re.compile(r"(DIR|FOLDER)$")
_TYPED = re.compile(r"[^A-Z]+")  # A word of a choice that users type as it is.


@dataclasses.dataclass
class Section:
    """The text under a heading, or a paragraph. Entries are (typed words, their meaning)."""

    heading: str = ""
    text: list = dataclasses.field(default_factory=list)
    entries: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Help:
    """A parsed help text."""

    name: str
    usage: list
    sections: list

    @property
    def summary(self):
        """The first sentence, for the line NAME."""
        first = next((" ".join(s.text) for s in self.sections if s.text), self.name)
        sentence = re.split(r"[.;:](?: |$)", first)[0]
        return sentence[0].lower() + sentence[1:]

    @property
    def commands(self):
        """Words that may come first: commands of the usage, and entries that are no flags."""
        found = [match[1] for line in self.usage
                 for match in re.finditer(rf"{self.name} ([a-z_]+)\b", line)]
        if any("NAME" in line for line in self.usage):
            found += [typed for typed, _ in self.sections_before_flags() if " " not in typed]
        return list(dict.fromkeys(found))

    def sections_before_flags(self):
        """The entries of the sections before the first section with a flag."""
        plain = itertools.takewhile(
            lambda s: not any(typed.startswith("-") for typed, _ in s.entries), self.sections)
        return [entry for section in plain for entry in section.entries]

    @property
    def flags(self):
        """Each flag with its value's name; that is None for a switch."""
        found = {}
        for section in self.sections:
            for typed, meaning in section.entries:
                if not typed.startswith("-"):
                    continue
                matches = _FLAG.findall(typed)
                shared = next((value for _, value in matches if value), None)
                found.update({flag: value or shared for flag, value in matches})
                for flag, value in _FLAG.findall(" ".join(meaning)):
                    if flag.startswith("--") and value.isupper():
                        found.setdefault(flag, value)
        return found


def read(name, text):
    """Parses a help text."""
    lines = text.rstrip().splitlines()
    if not lines or not lines[0].startswith("usage: "):
        raise ValueError(f"{name} --help does not begin with 'usage: '")
    end = lines.index("") if "" in lines else len(lines)
    sections = []
    for blank, block in itertools.groupby(lines[end:], key=lambda line: not line.strip()):
        if not blank:
            sections.append(_section(list(block)))
    return Help(name, [line.removeprefix("usage: ").strip() for line in lines[:end]], sections)


def _section(lines):
    section = Section()
    if len(lines) > 1 and not lines[0].startswith(" ") and lines[1].startswith("  "):
        section.heading = lines.pop(0)
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            section.text.append(line)
        elif indent == 2:
            typed, _, meaning = re.sub(r" {2,}", "\0", line.strip(), count=1).partition("\0")
            section.entries.append((typed, [meaning] if meaning else []))
        else:
            section.entries[-1][1].append(line.strip())
    return section


def _roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def manual(text, version, names):
    """The page of section 1."""
    page = [f'.TH {text.name.upper()} 1 "" "Stretto {version}" "User Commands"', ".SH NAME",
            f"{_roff(text.name)} \\- {_roff(text.summary)}", ".SH SYNOPSIS", ".nf",
            *map(_roff, text.usage), ".fi", ".SH DESCRIPTION"]
    in_options = False
    for section in text.sections:
        if section.entries and not in_options:
            in_options = True
            page.append(".SH OPTIONS")
        if section.heading:
            page.append(f".SS {_roff(section.heading)}")
        elif section.text:
            page.append(".PP")
        page += map(_roff, section.text)
        for typed, meaning in section.entries:
            page += [".TP", f".B {_roff(typed)}", *map(_roff, meaning)]
    others = [f".BR {_roff(name)} (1)" for name in names if name != text.name]
    page += [".SH SEE ALSO", *(f"{other}," for other in others[:-1]), *others[-1:]]
    return "\n".join(page) + "\n"


def _offered(value):
    """The part of a shell's `case` that offers the possible values of a flag."""
    words = value.split("|") if _CHOICE.fullmatch(value) else [value]
    options = []
    if any(_FILES.search(word) for word in words):
        options.append("-f")
    elif any(_FOLDERS.search(word) for word in words):
        options.append("-d")
    names = ["compopt -o filenames 2>/dev/null"] if options else []
    typed = [word for word in words if _TYPED.fullmatch(word)] if len(words) > 1 else []
    if typed:
        options.append(f'-W "{" ".join(typed)}"')
    if not options:
        return "return"
    found = f'mapfile -t COMPREPLY < <(compgen {" ".join(options)} -- "$word")'
    return "; ".join([found, *names, "return"])


def completion(text):
    """A function for bash, and its registration for this program."""
    function = "_" + text.name.replace("-", "_")
    kinds = {}
    for flag, value in text.flags.items():
        if value is not None:
            kinds.setdefault(_offered(value), []).append(flag)
    cases = "".join(f"    {' | '.join(flags)}) {words} ;;\n" for words, flags in kinds.items())
    commands = ""
    if text.commands:
        commands = (f'  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '
                    f'"{" ".join(text.commands)}" -- "$word"))\n  fi\n')
    return f"""# bash completion of {text.name}, made of its --help.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  case $before in
{cases}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "{" ".join(text.flags)}" -- "$word"))
    return
  fi
{commands}}}
complete -o default -F {function} {text.name}
"""


def main(version, folder, *programs):
    """Runs each program, and writes its files."""
    folder = pathlib.Path(folder)
    commands = {}
    for program in programs:
        name, _, module = program.rpartition("/")[2].partition("=")
        commands[name] = [sys.executable, "-m", module] if module else [program]
        if program == name:
            commands[name] = None
    for kind in ("man", "completions"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for name, command in commands.items():
        if command is None:
            continue
        said = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True)
        text = read(name, said.stdout)
        (folder / "man" / f"{name}.1").write_text(manual(text, version, commands), encoding="utf-8")
        (folder / "completions" / name).write_text(completion(text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
