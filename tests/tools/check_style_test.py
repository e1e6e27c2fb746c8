import os
import tempfile
import unittest

import check_style
import unittest_main


class CheckStyleTest(unittest.TestCase):
    def test_a_machine_path_is_found_with_its_place(self):
        files = {"a.md": ["fine", "see /" + "root/notes"]}
        self.assertEqual(check_style.machine_paths(files), ["a.md:2: see /" + "root/notes"])

    def test_a_path_of_a_program_is_no_machine_path(self):
        self.assertEqual(check_style.machine_paths({"a.md": ["/usr/bin/acceld", "a/network/b"]}), [])

    def test_a_mark_of_unfinished_work_is_found(self):
        self.assertEqual(len(check_style.unfinished({"a.cc": ["// TO" + "DO: more", "// FIX" + "ME"]})), 2)

    def test_a_space_at_the_end_of_a_line_is_found(self):
        self.assertEqual(check_style.trailing_spaces({"a.py": ["x = 1 ", "y = 2"]}), ["a.py:1: x = 1"])

    def test_a_tab_is_found_in_cpp_only(self):
        self.assertEqual(len(check_style.tabs({"a.cc": ["\tint x;"], "Makefile": ["\tcc"]})), 1)

    def test_a_header_without_pragma_once_is_found(self):
        files = {"a.h": ["int x;"], "b.h": ["#pragma once"], "c.cc": ["int x;"]}
        self.assertEqual(check_style.unguarded_headers(files), ["a.h"])

    def test_a_file_over_the_limit_is_found(self):
        files = {"a.cc": ["x"] * 600 + [""], "b.cc": ["x"] * 601 + [""]}
        self.assertEqual(check_style.long_files(files), ["b.cc: 601 lines"])

    def test_a_file_that_ends_within_a_line_is_found(self):
        files = {"a.cc": ["x"], "b.cc": ["x", ""], "empty": [""]}
        self.assertEqual(check_style.unended_files(files), ["a.cc"])

    def test_build_outputs_and_links_are_not_read(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("bazel-out", "out", ".git", "server"):
                os.mkdir(os.path.join(root, folder))
                with open(os.path.join(root, folder, "a.cc"), "w", encoding="utf-8") as file:
                    file.write("int x;\n")
            os.symlink("server/a.cc", os.path.join(root, "link.cc"))
            self.assertEqual(check_style.files_under(root), {"server/a.cc": ["int x;", ""]})


if __name__ == "__main__":
    unittest_main.main()
