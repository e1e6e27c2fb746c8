"""accelctl against a daemon: each command for people and for programs, and how it fails."""

import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

import api
import daemon
import unittest_main

ACCELCTL = os.path.abspath("client/accelctl")
TIMEOUT_S = 60

OK = 0
FAILED = 1
USAGE = 2


def run(*arguments, stdout=subprocess.PIPE, **environment):
    """Runs accelctl where no daemon of the machine is found."""
    return subprocess.run(
        [ACCELCTL, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
        timeout=TIMEOUT_S,
        check=False,
    )


class AccelctlTest(unittest.TestCase):
    def assert_fails(self, result, exit_code, *parts):
        """It printed nothing but one line on stderr, which contains the parts."""
        self.assertEqual(result.returncode, exit_code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assert_one_line(result.stderr, *parts)

    def assert_one_line(self, stderr, *parts):
        self.assertTrue(stderr.startswith("accelctl: "), stderr)
        self.assertEqual(stderr.count("\n"), 1, stderr)
        for part in parts:
            self.assertIn(part, stderr)

    def start_daemon(self, *flags, **options):
        started = daemon.Daemon(*flags, **options)
        self.addCleanup(started.close)
        return started

    def connect(self, to):
        client = api.Client(to.unix_endpoint)
        self.addCleanup(client.close)
        return client


class WithDaemon(AccelctlTest):
    def setUp(self):
        self.daemon = self.start_daemon()

    def accelctl(self, *arguments):
        return run(*arguments, f"--endpoint={self.daemon.unix_endpoint}")

    def text(self, *arguments):
        result = self.accelctl(*arguments)
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        return result.stdout

    def answer(self, *arguments):
        """What --json prints, which is all of stdout."""
        return json.loads(self.text(*arguments, "--json"))

    def test_info(self):
        text = self.text("info")
        self.assertRegex(text, rf"(?m)^endpoint +{self.daemon.unix_endpoint}$")
        self.assertRegex(text, r"(?m)^cpu +yes$")
        self.assertRegex(text, r"(?m)^metal +no +\S")
        self.assertIn("\ndevice cpu:0\n", text)
        self.assertRegex(text, r"(?m)^  ops +gemm, ")

    def test_info_as_json(self):
        answer = self.answer("info")
        backends = {backend["kind"]: backend for backend in answer["backends"]}
        self.assertEqual(backends["cpu"], {"kind": "cpu", "available": True, "reason": ""})
        self.assertFalse(backends["metal"]["available"])
        self.assertNotEqual(backends["metal"]["reason"], "")
        device = next(device for device in answer["devices"] if device["kind"] == "cpu")
        self.assertGreater(int(device["total_memory_bytes"]), 0)
        self.assertIn("softmax", device["supported_ops"])
        self.assertIs(answer["draining"], False)
        self.assertGreater(int(answer["limits"]["message_bytes"]), 0)

    def test_devices(self):
        header, *devices = self.text("devices").splitlines()
        self.assertTrue(header.startswith("DEVICE  NAME"), header)
        self.assertTrue(any(line.startswith("cpu:0 ") and "GiB" in line for line in devices), devices)

    def test_devices_as_json(self):
        self.assertIn("cpu", [device["kind"] for device in self.answer("devices")["devices"]])

    def test_sessions(self):
        session = self.connect(self.daemon).open(client_name="holder")
        session.alloc(3 << 20)
        lines = self.text("sessions").splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertRegex(
            lines[1],
            rf"^ *{session.info.id}  uid:{os.getuid()} +{os.getpid()}  3\.0 MiB +0 B +\S+ ms +0  holder ",
        )
        self.assertEqual(lines[3], "1 session, 3.0 MiB of device memory")

    def test_sessions_as_json(self):
        session = self.connect(self.daemon).open(client_name="holder")
        session.alloc(3 << 20)
        answer = self.answer("sessions")
        self.assertEqual(int(answer["live_bytes"]), 3 << 20)
        self.assertEqual(answer["session_count"], 1)
        (usage,) = answer["sessions"]
        self.assertEqual(int(usage["id"]), session.info.id)
        self.assertEqual(usage["identity"], f"uid:{os.getuid()}")
        self.assertEqual(usage["pid"], os.getpid())
        self.assertEqual(int(usage["memory_bytes"]), 3 << 20)
        self.assertEqual(int(usage["device_time_us"]), 0)
        self.assertEqual(int(usage["ops"]), 0)

    def test_no_sessions_are_an_answer_as_well(self):
        self.assertEqual(
            self.answer("sessions"), {"sessions": [], "live_bytes": "0", "session_count": 0}
        )

    def test_asking_opens_no_session(self):
        for command in ("info", "devices", "sessions", "health"):
            self.text(command)
        # Sessions are numbered from the first on.
        self.assertEqual(self.connect(self.daemon).open().info.id, 1)

    def test_health(self):
        self.assertEqual(self.text("health"), "SERVING\n")
        self.assertEqual(self.answer("health"), {"status": "SERVING"})

    def test_selftest(self):
        text = self.text("selftest", "--kind=cpu", "--device=0")
        self.assertIn("over shm", text.splitlines()[0])
        self.assertRegex(text, r"(?m)^scatter .* ok$")
        self.assertRegex(text.splitlines()[-1], r"^\d+ ok, 0 wrong, 0 failed, 0 unsupported$")

    def test_selftest_as_json_runs_every_op(self):
        answer = self.answer("selftest", "--kind=cpu")
        self.assertIs(answer["ok"], True)
        self.assertEqual(answer["transport"], "shm")
        self.assertEqual({case["outcome"] for case in answer["cases"]}, {"ok"})
        self.assertTrue(all(case["max_error"] <= case["tolerance"] for case in answer["cases"]))
        devices = self.answer("info")["devices"]
        device = next(device for device in devices if device["kind"] == "cpu")
        self.assertEqual({case["op"] for case in answer["cases"]}, set(device["supported_ops"]))

    def test_selftest_over_tcp(self):
        result = run("selftest", "--kind=cpu", "--json", "--endpoint", self.daemon.tcp_endpoint)
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(json.loads(result.stdout)["transport"], "frames+tcp")

    def test_selftest_leaves_nothing(self):
        self.text("selftest")
        client = self.connect(self.daemon)
        self.assertTrue(api.wait_until(lambda: client.usage() == (0, 0)), client.usage())

    def test_selftest_of_a_device_that_is_not_there_fails(self):
        self.assert_fails(self.accelctl("selftest", "--device=1000"), FAILED, "no device 1000")

    def test_end(self):
        client = self.connect(self.daemon)
        session = client.open()
        session.alloc(1 << 20)
        self.assertEqual(
            self.text("end", str(session.info.id)), f"Session {session.info.id} is ended.\n"
        )
        self.assertEqual(client.usage(), (0, 0))

    def test_end_as_json(self):
        session = self.connect(self.daemon).open()
        self.assertEqual(self.answer("end", str(session.info.id)), {})

    def test_end_of_no_session_fails(self):
        self.assert_fails(self.accelctl("end", "12345"), FAILED, "There is no session 12345")

    def test_drain(self):
        self.connect(self.daemon).open()
        self.assertIn("is draining; open sessions: ", self.text("drain"))
        self.assertEqual(self.daemon.wait(), 0, self.daemon.log())

    def test_drain_as_json(self):
        self.assertEqual(self.answer("drain"), {"session_count": 0})
        self.assertEqual(self.daemon.wait(), 0, self.daemon.log())

    def test_the_environment_names_the_daemon(self):
        result = run("health", ACCELD_ENDPOINT=self.daemon.unix_endpoint)
        self.assertEqual((result.returncode, result.stdout), (OK, "SERVING\n"))

    def test_flags_may_come_before_the_command(self):
        result = run("--json", "--endpoint", self.daemon.unix_endpoint, "health")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (OK, {"status": "SERVING"}))

    def test_an_answer_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = run("info", f"--endpoint={self.daemon.unix_endpoint}", stdout=full)
        self.assertEqual(result.returncode, FAILED)
        self.assert_one_line(result.stderr, "The output cannot be written")


class Draining(AccelctlTest):
    """A daemon that drains, with work that lasts far longer than the test."""

    def setUp(self):
        self.daemon = self.start_daemon("--drain_timeout=1m")
        self.client = self.connect(self.daemon)
        session = self.client.open()
        n = 768
        a, b, c = (session.alloc(n * n * 8) for _ in range(3))
        self.submit = session.submit()
        self.addCleanup(self.submit.cancel)
        self.submit.send(*[api.square_gemm(n, a, b, c)] * 4000)
        self.assertTrue(
            api.wait_until(lambda: self.client.list_sessions().sessions[0].ops > 0, TIMEOUT_S)
        )
        drained = run("drain", f"--endpoint={self.daemon.unix_endpoint}", "--json")
        self.assertEqual(drained.returncode, OK, drained.stderr)
        self.assertEqual(json.loads(drained.stdout), {"session_count": 1})
        # The answer comes when draining begins.
        self.assertTrue(api.wait_until(lambda: self.client.server_info().draining, TIMEOUT_S))

    def tearDown(self):
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0, self.daemon.log())

    def test_is_not_healthy(self):
        result = run("health", f"--endpoint={self.daemon.unix_endpoint}")
        self.assertEqual((result.returncode, result.stdout), (FAILED, "NOT_SERVING\n"))
        self.assert_one_line(result.stderr, self.daemon.unix_endpoint, "is NOT_SERVING")

    def test_is_not_healthy_as_json(self):
        result = run("health", "--json", f"--endpoint={self.daemon.unix_endpoint}")
        self.assertEqual(result.returncode, FAILED)
        self.assertEqual(json.loads(result.stdout), {"status": "NOT_SERVING"})

    def test_is_shown(self):
        result = run("info", f"--endpoint={self.daemon.unix_endpoint}")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^state +draining$")

    def test_refuses_a_selftest(self):
        result = run("selftest", f"--endpoint={self.daemon.unix_endpoint}")
        self.assert_fails(result, FAILED, "drain")


class NotAnAdministrator(AccelctlTest):
    def test_may_not_drain(self):
        other = self.start_daemon(config='admins: "uid:4294967294"')
        result = run("drain", f"--endpoint={other.unix_endpoint}")
        self.assert_fails(result, FAILED, f"uid:{os.getuid()} may not drain the daemon")
        self.assertTrue(other.is_alive())


class WithoutDaemon(AccelctlTest):
    def setUp(self):
        self.folder = daemon.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.endpoint = f"unix:{self.folder}/s"

    def test_every_command_names_what_was_tried(self):
        for command in ("info", "devices", "sessions", "health", "selftest", "drain", "end 1"):
            for form in ((), ("--json",)):
                with self.subTest(command=command, form=form):
                    result = run(*command.split(), *form, f"--endpoint={self.endpoint}")
                    self.assert_fails(
                        result,
                        FAILED,
                        f"No acceld daemon answers. Tried {self.endpoint}",
                        "Start one with `acceld`",
                    )

    def test_nobody_listens_on_the_port(self):
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            endpoint = f"127.0.0.1:{reserved.getsockname()[1]}"
            self.assert_fails(run("info", f"--endpoint={endpoint}"), FAILED, endpoint)

    def test_the_environment_is_named_where_it_is_wrong(self):
        result = run("info", ACCELD_ENDPOINT=self.endpoint)
        self.assert_fails(result, FAILED, f"{self.endpoint} (the environment variable ACCELD_ENDPOINT)")

    def test_a_server_that_does_not_answer_is_not_waited_for(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
            silent.bind(f"{self.folder}/s")
            silent.listen()
            result = run("info", f"--endpoint={self.endpoint}", "--timeout=200ms")
        self.assert_fails(result, FAILED, "No acceld daemon answers.", self.endpoint)


class CommandLine(AccelctlTest):
    def test_mistakes_are_told_in_one_line(self):
        for arguments, part in (
            ((), "No command is given"),
            (("list",), 'Command "list" is unknown'),
            (("info", "--verbose"), "Flag --verbose is unknown"),
            (("--timeout=soon", "info"), 'Flag --timeout cannot be "soon".'),
            (("info", "--timeout=0s"), "above 0 and at most 1h"),
            (("info", "--endpoint=nowhere"), 'The endpoint "nowhere" is none of'),
            (("info", "--endpoint=unix:relative"), "absolute path"),
            (("sessions", "--kind=cpu"), "Flag --kind is for selftest"),
            (("selftest", "--kind=opencl"), "must be one of cuda"),
            (("end",), "needs the number of the session"),
            (("end", "two\nlines"), "is no number"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_fails(run(*arguments), USAGE, part)

    def test_help(self):
        for arguments in (("--help",), ("help",), ("-h",)):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stderr), (OK, ""))
                self.assertIn("Examples:", result.stdout)

    def test_help_of_a_command(self):
        for arguments in (("help", "selftest"), ("selftest", "--help")):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, OK)
                self.assertIn("With --json, one object:", result.stdout)

    def test_version(self):
        result = run("--version")
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        self.assertRegex(result.stdout, r"^accelctl \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest_main.main()
