"""Checks habits that no compiler checks, over every file of the repository, a case for each habit."""

import os
import re
import unittest

import unittest_main

MAX_LINES = 600

# Spelled in two parts, so that this file does not find itself.
MACHINE_PATH = re.compile("/" + "root/|/" + "work/|/" + "home/[a-z]")
UNFINISHED = re.compile(r"\b(TO" + "DO|FIX" + r"ME|X" + r"XX)\b")

CPP = (".cc", ".h", ".cu", ".cuh")
HEADERS = (".h", ".cuh")
DATA = (".csv", ".gz", ".png", ".svg")
IGNORED_FOLDERS = {".git", "__pycache__", "out"}


def repository_root():
    """The checkout that this file belongs to; under Bazel the test's files are links into it."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def files_under(root):
    """Every text file of the checkout, as a map from its path to its lines (without line ends)."""
    files = {}
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [
            name for name in subfolders if name not in IGNORED_FOLDERS and not name.startswith("bazel-")
        ]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(DATA) or os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            files[os.path.relpath(path, root)] = content.decode("utf-8", "replace").split("\n")
    return files


def lines_where(files, is_wrong, suffixes=("",)):
    """`path:number: line` of each line that is wrong, in the files with one of the suffixes."""
    return [
        f"{path}:{number}: {line.strip()}"
        for path, lines in sorted(files.items())
        if path.endswith(suffixes)
        for number, line in enumerate(lines, start=1)
        if is_wrong(line)
    ]


def machine_paths(files):
    return lines_where(files, MACHINE_PATH.search)


def unfinished(files):
    return lines_where(files, UNFINISHED.search)


def trailing_spaces(files):
    return lines_where(files, lambda line: line != line.rstrip())


def tabs(files):
    return lines_where(files, lambda line: "\t" in line, CPP)


def unguarded_headers(files):
    return [
        path
        for path, lines in sorted(files.items())
        if path.endswith(HEADERS) and "#pragma once" not in lines
    ]


def long_files(files):
    return [
        f"{path}: {len(lines) - 1} lines"
        for path, lines in sorted(files.items())
        if len(lines) - 1 > MAX_LINES
    ]


def unended_files(files):
    return [path for path, lines in sorted(files.items()) if lines[-1] != "" and lines != [""]]


class Style(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = files_under(repository_root())

    def check(self, findings):
        if findings:
            self.fail("\n" + "\n".join(findings))

    def test_the_repository_is_found(self):
        self.assertIn("WORKSPACE", self.files)
        self.assertIn("tests/tools/check_style.py", self.files)

    def test_no_path_of_a_certain_machine(self):
        self.check(machine_paths(self.files))

    def test_nothing_is_marked_unfinished(self):
        self.check(unfinished(self.files))

    def test_no_spaces_at_the_end_of_a_line(self):
        self.check(trailing_spaces(self.files))

    def test_no_tabs_in_cpp(self):
        self.check(tabs(self.files))

    def test_headers_begin_with_pragma_once(self):
        self.check(unguarded_headers(self.files))

    def test_no_file_is_too_long_to_read(self):
        self.check(long_files(self.files))

    def test_files_end_with_a_line_end(self):
        self.check(unended_files(self.files))


if __name__ == "__main__":
    unittest_main.main()
