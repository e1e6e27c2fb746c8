"""The container image is built as every other machine is, and is safe by default."""

import re
import unittest

import unittest_main

DOCKERFILE = "deploy/container/Dockerfile"
# What a RUN line may be: one of the scripts, with options.
SCRIPT_CALL = re.compile(r"deploy/(install_deps|build)( --?[a-z]+| [a-z/]+)*")


def stages(text):
    """The instructions of each stage, as (name, argument) pairs."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    result = []
    for line in filter(str.strip, lines):
        name, _, argument = line.strip().partition(" ")
        if name.upper() == "FROM":
            result.append([])
        result[-1].append((name.upper(), argument.strip()))
    return result


class DockerfileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(DOCKERFILE, encoding="utf-8") as file:
            cls.stages = stages(file.read())

    def arguments(self, name, stage=-1):
        return [argument for other, argument in self.stages[stage] if other == name]

    def test_run_lines_only_call_the_scripts(self):
        calls = [call for stage in range(len(self.stages)) for call in self.arguments("RUN", stage)]
        self.assertGreaterEqual(len(calls), 3)
        for call in calls:
            self.assertRegex(call, f"^{SCRIPT_CALL.pattern}$")

    def test_the_image_holds_what_running_needs_and_no_compiler(self):
        self.assertEqual(self.arguments("FROM", 0), ["debian:bookworm AS build"])
        self.assertEqual(self.arguments("FROM"), ["debian:bookworm-slim"])
        self.assertEqual(self.arguments("RUN"), ["deploy/install_deps --runtime"])

    def test_it_does_not_run_as_root(self):
        self.assertRegex(self.arguments("USER")[-1], r"^[1-9]\d*:[1-9]\d*$")

    def test_it_listens_on_no_network(self):
        self.assertEqual(self.arguments("EXPOSE"), [])
        self.assertEqual(self.arguments("ENTRYPOINT"), ['["/usr/bin/acceld", "--socket=/run/acceld/acceld.sock"]'])

    def test_its_health_is_checked_on_the_socket_it_listens_on(self):
        (check,) = self.arguments("HEALTHCHECK")
        self.assertIn('"/usr/bin/accelctl", "health"', check)
        self.assertIn("unix:/run/acceld/acceld.sock", check)

    def test_other_run_lines_would_be_noticed(self):
        for line in ("apt-get install curl", "deploy/build && rm -rf /", "deploy/buildx", "deploy/build; true"):
            self.assertIsNone(SCRIPT_CALL.fullmatch(line), line)


if __name__ == "__main__":
    unittest_main.main()
