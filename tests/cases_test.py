"""tests/cases.md names tests that exist, for every fault.

Reads the whole checkout.
"""

import ast
import os
import re
import unittest

import unittest_main

SECTIONS = ("Hostile or malformed input", "Sessions", "Shared memory", "Transport")
_TEST_NAME = re.compile(r"`([^` ]+)(?:::| )(\w+)\.(\w+)`$")


def repository_root():
    """The checkout that this file belongs to; under Bazel the test's files are links into it."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def read(path):
    with open(os.path.join(repository_root(), path), encoding="utf-8") as file:
        return file.read()


def parse(text):
    """The faults of each section, each with the lines below it: {section: {fault: [line]}}."""
    sections = {}
    faults = lines = None
    for line in text.split("\n"):
        if line.startswith("## "):
            faults = sections.setdefault(line[3:], {})
        elif line.startswith("- "):
            lines = faults.setdefault(line[2:], [])
        elif line.startswith("  - "):
            lines.append(line[4:])
    return sections


def python_test_exists(source, class_name, method):
    """Whether a class, or one of its bases in the same file, has the method."""
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    names = [class_name]
    while names:
        node = classes.get(names.pop())
        if node is None:
            continue
        if any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body):
            return class_name in classes
        names += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return False


def google_test_exists(target, suite, case):
    """Whether the target's package has the target, and the case in one of its sources."""
    package, _, name = target.removeprefix("//").partition(":")
    folder = os.path.join(repository_root(), package)
    try:
        build = read(os.path.join(package, "BUILD.bazel"))
        sources = [read(os.path.join(package, file)) for file in os.listdir(folder) if file.endswith(".cc")]
    except OSError:
        return False
    macro = re.compile(rf"TEST(_F|_P)?\({suite},\s*{case}\)")
    return f'name = "{name}"' in build and any(macro.search(source) for source in sources)


def test_exists(line):
    """Whether the test that the line names exists; None where it names none."""
    match = _TEST_NAME.match(line)
    if match is None:
        return None
    place, suite, case = match.groups()
    if place.startswith("//"):
        return google_test_exists(place, suite, case)
    try:
        return python_test_exists(read(place), suite, case)
    except OSError:
        return False


class CasesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sections = parse(read("tests/cases.md"))

    def test_has_every_section(self):
        self.assertEqual(tuple(self.sections), SECTIONS)
        self.assertEqual([len(faults) for faults in self.sections.values()], [8, 11, 3, 6])

    def test_every_fault_has_a_test_or_a_sentence(self):
        for faults in self.sections.values():
            for fault, lines in faults.items():
                with self.subTest(fault=fault):
                    self.assertTrue(lines)

    def test_every_named_test_exists(self):
        named = 0
        for faults in self.sections.values():
            for lines in faults.values():
                for line in lines:
                    with self.subTest(line=line):
                        exists = test_exists(line)
                        self.assertNotEqual(exists, False)
                        named += exists is True
                        if exists is None:
                            self.assertRegex(line, r"^[A-Z].*\.$", "Neither a test nor a sentence.")
        self.assertGreater(named, 50)


class OwnTest(unittest.TestCase):
    """The checks find what is wrong."""

    PYTHON = "class Base:\n  def test_a(self): pass\nclass Derived(Base): pass\n"

    def test_finds_python_tests(self):
        self.assertTrue(python_test_exists(self.PYTHON, "Base", "test_a"))
        self.assertTrue(python_test_exists(self.PYTHON, "Derived", "test_a"))

    def test_misses_python_tests_that_are_not_there(self):
        self.assertFalse(python_test_exists(self.PYTHON, "Base", "test_b"))
        self.assertFalse(python_test_exists(self.PYTHON, "Other", "test_a"))

    def test_misses_files_and_targets_that_are_not_there(self):
        self.assertIs(test_exists("`tests/no_such_test.py::Base.test_a`"), False)
        self.assertIs(test_exists("`//tests/no_such:target Suite.Case`"), False)
        self.assertIs(test_exists("`//tests/conformance:cpu_grpc_unix MemoryTest.NoSuchCase`"), False)
        self.assertIs(test_exists("`//tests/conformance:no_such EventTest.DoesNotDeadlockOnCrossedWaits`"), False)

    def test_tells_sentences_from_tests(self):
        self.assertIsNone(test_exists("It cannot occur: `max_message_bytes` is smaller."))


if __name__ == "__main__":
    unittest_main.main()
