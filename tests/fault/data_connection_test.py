"""Who may open a data channel, and connections that come, stay and go.

    data_connection_test.py
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import grpc

import api
import data_channel as data
import data_client_program
import unittest_main
from client_program import GEMM_SIZE
from daemon import Daemon, die_with_parent
from data_hostile import DataChannelTest

UNIMPLEMENTED, NOT_FOUND, FAILED_PRECONDITION, UNAVAILABLE = 12, 5, 9, 14

HANDSHAKE_MS = 300
MANY_CONNECTIONS = 1000
SESSIONS = 40

# Any other than the one the tests run as.
SOMEBODY = 65534

# Shows a secret, given as hexadecimal digits, and prints what comes back.
_SHOW_SECRET = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(bytes.fromhex(sys.argv[2]))
while data := connection.recv(4096):
    sys.stdout.buffer.write(data)
"""


class HelloTest(DataChannelTest):
    CONFIG = f"socket_mode: 0666 limits {{ handshake_timeout_ms: {HANDSHAKE_MS} }}"

    def say(self, data_bytes, over_tcp=False):
        connection = data.connect(self.daemon, over_tcp)
        self.addCleanup(connection.close)
        connection.sendall(data_bytes)
        return data.FrameChannel(connection)

    def test_secret_of_nobody(self):
        for over_tcp in (False, True):
            for secret in (bytes(16), b"\xff" * 16):
                self.assert_ends(
                    self.say(data.hello(secret), over_tcp), NOT_FOUND, reason="SESSION_NOT_FOUND"
                )

    def test_secret_that_is_nearly_right(self):
        secret = self.open().info.secret
        for i in range(16):
            wrong = secret[:i] + bytes([secret[i] ^ 1]) + secret[i + 1 :]
            self.assert_ends(self.say(data.hello(wrong)), NOT_FOUND)

    def test_secret_over_another_transport(self):
        channel = self.say(data.hello(self.open().info.secret), over_tcp=True)
        self.assert_ends(channel, NOT_FOUND)

    @unittest.skipUnless(os.geteuid() == 0, "Only root can become somebody else.")
    def test_secret_of_somebody_else(self):
        session = self.open()
        os.chmod(self.daemon.folder, 0o755)
        for shared_memory in (0, 1):
            try:
                shown = subprocess.run(
                    [
                        sys.executable,
                        "-I",
                        "-c",
                        _SHOW_SECRET,
                        self.daemon.socket_path,
                        data.hello(session.info.secret, shared_memory).hex(),
                    ],
                    cwd="/",
                    user=SOMEBODY,
                    group=SOMEBODY,
                    extra_groups=[],
                    capture_output=True,
                    timeout=60,
                    check=True,
                )
            except PermissionError:
                self.skipTest("This root may not become somebody else.")
            self.assertEqual(data.HEADER.unpack_from(shown.stdout)[1], data.END)
            self.assertEqual(
                data.status_of(shown.stdout[data.HEADER.size :])[1], "SESSION_NOT_FOUND"
            )
        self.assertTrue(session.computes_right())

    def test_secret_of_an_ended_session(self):
        session = self.open()
        session.close()
        self.assert_ends(self.say(data.hello(session.info.secret)), NOT_FOUND)

    def test_versions(self):
        secret = self.open().info.secret
        for version in (0, data.VERSION - 1, data.VERSION + 1, 1 << 31, (1 << 32) - 1):
            self.assert_ends(
                self.say(data.hello(secret, version=version)),
                UNIMPLEMENTED,
                reason="VERSION_UNSUPPORTED",
            )

    def test_parts_of_a_hello(self):
        session = self.open()
        hello = data.hello(session.info.secret)
        for size in range(len(hello)):
            self.say(hello[:size]).socket.close()
        start = time.monotonic()
        parts = [self.say(hello[:size]) for size in (0, 1, 7, 8, 9, 16, 31)]
        for channel in parts:
            self.assert_closes(channel)
        self.assertLess(time.monotonic() - start, 3)
        self.assertTrue(session.computes_right())

    def test_hello_byte_by_byte(self):
        connection = data.connect(self.daemon)
        self.addCleanup(connection.close)
        for byte in data.hello(self.open().info.secret):
            connection.sendall(bytes([byte]))
        channel = data.FrameChannel(connection)
        self.assertEqual(channel.next().kind, data.WELCOME)
        self.assert_answers(channel)

    def test_hello_with_commands_behind_it(self):
        channel = self.say(data.hello(self.open().info.secret) + data.synchronize())
        self.assertEqual(channel.next().kind, data.WELCOME)
        channel.finish(1)

    def test_hello_twice(self):
        for channel in self.each_channel():
            channel.send(data.hello(bytes(16)))
            self.assert_ends(channel, 3)

    def test_another_magic(self):
        for magic in (b"ACCELDDX", b"ACCELDD\0", b"\0" * 8):
            self.assert_closes(self.say(data.hello(bytes(16), magic=magic)))

    def test_shared_memory_over_tcp(self):
        session = self.attacker(self.daemon.tcp_endpoint).open()
        channel = self.say(data.hello(session.info.secret, 1), over_tcp=True)
        welcome = channel.next()
        self.assertEqual(welcome.kind, data.WELCOME)
        self.assertEqual(welcome.payload[:16], bytes(16))
        self.assertIn(b"Unix socket", welcome.payload)
        self.assert_answers(channel)


class OneChannelTest(DataChannelTest):
    def setUp(self):
        super().setUp()
        self.session = self.open()
        self.channel = self.attach(self.session, shared_memory=True)

    def test_second_channel(self):
        for shared_memory in (0, 1):
            connection = data.connect(self.daemon)
            self.addCleanup(connection.close)
            connection.sendall(data.hello(self.session.info.secret, shared_memory))
            self.assert_ends(
                data.FrameChannel(connection), FAILED_PRECONDITION, reason="SESSION_BUSY"
            )
        self.assert_answers(self.channel)

    def test_calls_beside_it(self):
        self.assert_refused(self.session.execute, api.alloc(8), reason="SESSION_BUSY")
        submit = self.session.submit()
        submit.send(api.alloc(8))
        self.assert_refused(submit.next, reason="SESSION_BUSY")
        self.assert_answers(self.channel)

    def test_it_beside_a_call(self):
        session = self.open()
        submit = session.submit()
        submit.send(api.synchronize())
        submit.wait_for(1)
        connection = data.connect(self.daemon)
        self.addCleanup(connection.close)
        connection.sendall(data.hello(session.info.secret))
        self.assert_ends(data.FrameChannel(connection), FAILED_PRECONDITION, reason="SESSION_BUSY")

    def test_session_that_is_closed_under_it(self):
        self.session.close()
        self.assert_ends(self.channel)

    @staticmethod
    def serves(session):
        try:
            session.execute(api.alloc(8))
        except grpc.RpcError:
            return False
        return True

    def test_session_ends_with_its_channel_though_a_call_holds_it(self):
        session = self.open()
        with session.attached():
            data.attach(self.daemon, session.info.secret, shared_memory=True).close()
            # What is left is the channel of setUp.
            self.assertTrue(api.wait_until(lambda: self.mapping_count() <= self._maps + 1))
            self.assertTrue(api.wait_until(lambda: not self.serves(session)))
            self.assert_refused(session.execute, api.alloc(8), reason="SESSION_NOT_FOUND")


class ManyConnectionsTest(DataChannelTest):
    CONFIG = f"limits {{ handshake_timeout_ms: {HANDSHAKE_MS} max_sessions: {SESSIONS} }}"

    def newcomer_works(self):
        channel = self.attach(shared_memory=True)
        self.assert_answers(channel)
        channel.close()

    def test_a_thousand_that_say_half_a_hello(self):
        half = data.hello(bytes(16))[:20]
        connections = []
        for i in range(MANY_CONNECTIONS):
            connection = data.connect(self.daemon, over_tcp=i % 2 == 1)
            self.addCleanup(connection.close)
            connections.append(connection)
            try:
                connection.sendall(half)
            except OSError:
                continue
        self.assert_innocent_works()
        for connection in connections:
            self.assert_closes(data.FrameChannel(connection))
        self.newcomer_works()

    def test_a_thousand_channels_one_after_another(self):
        client = self.attacker()
        for i in range(MANY_CONNECTIONS // 4):
            session = client.open()
            channel = data.attach(self.daemon, session.info.secret, shared_memory=i % 2 == 0)
            channel.send(data.alloc(1 << 16) * 4)
            channel.close()
        self.newcomer_works()

    def test_sessions_up_to_the_limit(self):
        client = self.attacker()
        channels = []
        with self.assertRaises(grpc.RpcError):
            while True:
                session = client.open()
                channels.append(self.attach(session, shared_memory=True))
        self.assertEqual(len(channels), SESSIONS - 2)
        self.assert_innocent_works()
        for channel in channels:
            self.assert_answers(channel)
            channel.close()
        self.assertTrue(
            api.wait_until(lambda: self.innocent_client.usage()[0] == self._usage[0])
        )
        self.newcomer_works()

    def test_without_descriptors(self):
        """Those who ask are told, and nobody else notices."""
        with open(f"/proc/{self.daemon.pid}/maps", encoding="utf-8") as maps:
            if "libubsan" in maps.read():
                self.skipTest("UndefinedBehaviorSanitizer needs descriptors for its own checks.")
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        self.addCleanup(resource.prlimit, self.daemon.pid, resource.RLIMIT_NOFILE, before)
        channel = self.attach(shared_memory=True)
        session = self.open()
        self.assert_answers(channel)
        # Every number below is in use, or soon will be.
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        for command in (
            data.frame(data.ALLOC_HOST, data.numbers(4096)),
            data.alloc(64, mappable=1),
        ):
            (result,) = channel.do(command)
            self.assertEqual(data.status_of(result.payload)[0], 8, result)
        self.assert_innocent_works()
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, before)
        channel.alloc_host(4096)
        self.assertTrue(session.computes_right())
        self.newcomer_works()


class LeavingTest(DataChannelTest):
    """Clients that are stopped or end in the middle of something."""

    def start(self, activity):
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-B",
                data_client_program.__file__,
                self.daemon.folder,
                self.daemon.tcp_endpoint,
                activity,
            ],
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_killed(self):
        for activity in data_client_program.ACTIVITIES:
            with self.subTest(activity):
                process = self.start(activity)
                process.kill()
                process.wait()
                self.assertTrue(
                    api.wait_until(lambda: self.innocent_client.usage() == self._usage)
                )

    def test_stopped_and_killed(self):
        for activity in data_client_program.ACTIVITIES:
            with self.subTest(activity):
                process = self.start(activity)
                process.send_signal(signal.SIGSTOP)
                for _ in range(3):
                    self.assert_innocent_works()
                process.kill()
                process.wait()
                self.assertTrue(
                    api.wait_until(lambda: self.innocent_client.usage() == self._usage)
                )

    def test_closed_while_more_is_queued_than_is_taken(self):
        """The daemon does not read from it, and still sees it go."""
        for channel in self.each_channel():
            n = GEMM_SIZE
            a, b, c = (channel.value(data.alloc(8 * n * n)) for _ in range(3))
            channel.send(data.square_gemm(n, a, b, c) * 300)
            while channel.send(data.no_op() * 1000, 0.3):
                pass
            channel.socket.close()
            self.assertTrue(api.wait_until(lambda: self.innocent_client.usage() == self._usage))


class DrainTest(unittest.TestCase):
    def test_accepted_commands_are_answered_and_later_ones_refused(self):
        with Daemon() as daemon:
            client = api.Client(daemon.unix_endpoint)
            self.addCleanup(client.close)
            channels = []
            for options in ({}, {"shared_memory": True}):
                channel = data.attach(daemon, client.open().info.secret, **options)
                self.addCleanup(channel.close)
                n = GEMM_SIZE
                addresses = [channel.value(data.alloc(8 * n * n)) for _ in range(3)]
                channel.send(data.square_gemm(n, *addresses) * 10 + data.read(addresses[2], 8))
                channel.count += 11
                # Once it is answered, all before it are accepted.
                channel.send(data.alloc(8))
                channel.count += 1
                while channel.next().kind != data.RESULT:
                    pass
                channels.append(channel)
            daemon.signal(signal.SIGTERM)
            for channel in channels:
                self.drain(channel)
            self.assertEqual(daemon.wait(), 0)

    def drain(self, channel):
        """Sends commands until the daemon takes no more; all those it accepted are answered."""
        kinds = []
        refused = None
        end = None
        while end is None:
            channel.send(data.no_op())
            each = channel.next(20)
            self.assertIsNotNone(each, "It is closed without a word.")
            kinds.append(each.kind)
            if each.kind == data.RESULT and refused is None:
                refused = data.status_of(each.payload)
            if each.kind == data.END:
                end = data.status_of(each.payload)
        self.assertEqual((refused or end)[:2], (UNAVAILABLE, "DRAINING"))
        self.assertEqual(end[:2], (UNAVAILABLE, "DRAINING"))
        self.assertIn(data.DATA, kinds)


# Not cases of their own.
del DataChannelTest

if __name__ == "__main__":
    unittest_main.main()
