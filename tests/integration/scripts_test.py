"""The scripts that people call: each explains itself and refuses what it does not know."""

import os
import subprocess
import tempfile
import unittest

import unittest_main

SCRIPTS = [
    "deploy/build",
    "deploy/install_deps",
    "deploy/quickstart",
    "tests/bench/run",
    "tests/fresh_machine",
    "tests/gpu/pack",
    "tests/gpu/run",
    "tests/run",
]


def run(*command, **options):
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60, **options
    )


class ScriptsTest(unittest.TestCase):
    def test_help_says_how_to_call_it(self):
        for script in SCRIPTS:
            with self.subTest(script=script):
                result = run(script, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout.startswith(f"Usage: {script}"), result.stdout)

    def test_an_unknown_option_is_refused_in_one_line(self):
        for script in SCRIPTS:
            with self.subTest(script=script):
                result = run(script, "--no_such_option")
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertIn("--no_such_option", result.stderr)


class InstallDepsTest(unittest.TestCase):
    """With stand-ins for the package tools, which note their calls."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = folder.name
        self.calls_path = os.path.join(folder.name, "calls")
        # The packages are there; `sudo` and `env` run what they are given.
        self.add_tool("dpkg-query", 'shift 3; for name in "$@"; do echo "installed $name"; done')
        self.add_tool("apt-get", "true")

    def add_tool(self, name, body):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\n[[ {name} == dpkg-query ]] || echo "{name} $*" >>"{self.calls_path}"\n{body}\n')
        os.chmod(path, 0o755)

    def install_deps(self, *arguments):
        """Runs it; returns its result and the lines of its calls of apt-get."""
        environment = {"PATH": f"{self.bin}:/usr/sbin:/usr/bin:/sbin:/bin"}
        # As another user it goes through sudo, which may not be there.
        if os.geteuid() != 0 and not os.path.exists(os.path.join(self.bin, "sudo")):
            self.add_tool("sudo", '"$@"')
        result = run("deploy/install_deps", *arguments, env=environment)
        calls = []
        if os.path.exists(self.calls_path):
            with open(self.calls_path, encoding="utf-8") as file:
                calls = [line for line in file.read().splitlines() if line.startswith("apt-get")]
        return result, calls

    def without(self, package):
        self.add_tool(
            "dpkg-query",
            f'shift 3; for name in "$@"; do [[ $name == {package} ]] || echo "installed $name"; done; exit 1',
        )

    def test_does_nothing_where_everything_is_installed(self):
        result, calls = self.install_deps()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(calls, [])

    def test_installs_what_is_missing_and_only_that(self):
        self.without("libgrpc++-dev")
        result, calls = self.install_deps()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(calls[-1].endswith(" install --no-install-recommends libgrpc++-dev"), calls)

    def test_a_removed_package_with_its_configuration_left_is_missing(self):
        self.add_tool("dpkg-query", 'shift 3; for name in "$@"; do echo "config-files $name"; done')
        _, calls = self.install_deps("--runtime")
        self.assertIn("libdnnl2", calls[-1])

    def test_at_run_time_no_compiler_is_asked_for(self):
        self.without("g++")
        result, calls = self.install_deps("--runtime")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(calls, [])

    def test_fetches_the_lists_only_where_they_do_not_do(self):
        self.without("libdnnl2")
        marker = os.path.join(self.bin, "updated")
        self.add_tool("apt-get", f'[[ "$*" != *update ]] || touch {marker}; [[ -e {marker} ]]')
        result, calls = self.install_deps("--runtime")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call.split()[-1] for call in calls], ["libdnnl2", "update", "libdnnl2"])

    def test_fails_if_a_package_cannot_be_installed(self):
        self.without("libdnnl2")
        self.add_tool("apt-get", '[[ "$*" == *update || "$*" == *--simulate* ]]')
        result, _ = self.install_deps("--runtime")
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not install: libdnnl2", result.stderr)


if __name__ == "__main__":
    unittest_main.main()
