"""Hostile bytes on the daemon's sockets, below gRPC.

    raw_socket_test.py
"""

import random
import resource
import socket
import struct
import time
import unittest

import unittest_main
import wire_bytes as wire
from hostile import HostileTest

HANDSHAKE_MS = 300

# How soon the daemon closes a connection that it does not want.
CLOSED_S = 5

# An attacker that the daemon does not listen to any more gives up.
SEND_S = 1

MANY_CONNECTIONS = 1000
OPEN_SESSION = b"Compute/OpenSession"


class RawSocketTest(HostileTest):
    CONFIG = f"limits {{ handshake_timeout_ms: {HANDSHAKE_MS} }}"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def connect(self, over_tcp=False):
        if over_tcp:
            host, port = self.daemon.tcp_endpoint.rsplit(":", 1)
            connection = socket.create_connection((host, int(port)))
        else:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(self.daemon.socket_path)
        self.addCleanup(connection.close)
        connection.settimeout(SEND_S)
        return connection

    def each_transport(self):
        for over_tcp in (False, True):
            with self.subTest(over_tcp=over_tcp):
                yield self.connect(over_tcp)

    def connect_http2(self, over_tcp=False):
        connection = self.connect(over_tcp)
        connection.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))
        return connection

    def send(self, connection, data):
        """Sends as much as the daemon takes; whether that was all."""
        try:
            connection.sendall(data)
            return True
        except OSError:
            return False

    def assert_closes(self, connection):
        connection.settimeout(CLOSED_S)
        try:
            while connection.recv(65536):
                pass
        except ConnectionError:
            pass

    def send_random(self, connection, seed, size, start=b""):
        print(f"seed {seed}")
        self.send(connection, start + random.Random(seed).randbytes(size))
        self.assert_closes(connection)


class BeforeHttp2Test(RawSocketTest):
    def test_garbage(self):
        for connection in self.each_transport():
            self.send_random(connection, random.randrange(1 << 32), 4096)

    def test_another_protocol(self):
        for start in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", b"\x00" * 64):
            for connection in self.each_transport():
                self.send(connection, start)
                self.assert_closes(connection)

    def test_nothing_at_all(self):
        for connection in self.each_transport():
            self.assert_closes(connection)

    def test_end_at_once(self):
        for connection in self.each_transport():
            connection.shutdown(socket.SHUT_WR)
            self.assert_closes(connection)

    def test_preface_up_to_every_byte(self):
        for end in range(1, len(wire.PREFACE)):
            connection = self.connect()
            connection.sendall(wire.PREFACE[:end])
            connection.close()

    def test_half_a_preface_and_then_silence(self):
        for connection in self.each_transport():
            connection.sendall(wire.PREFACE[:10])
            self.assert_closes(connection)

    def test_preface_byte_by_byte_that_goes_wrong_at_its_end(self):
        connection = self.connect()
        for byte in wire.PREFACE[:-1]:
            self.send(connection, bytes([byte]))
        self.send(connection, b"x")
        self.assert_closes(connection)

    def test_reset(self):
        for over_tcp in (False, True):
            for data in (b"", wire.PREFACE[:5], wire.PREFACE + wire.frame(wire.SETTINGS)):
                connection = self.connect(over_tcp)
                connection.sendall(data)
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()


class Http2Test(RawSocketTest):
    def test_garbage_after_the_preface(self):
        for connection in self.each_transport():
            self.send_random(connection, random.randrange(1 << 32), 4096, wire.PREFACE)

    def test_random_frames(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        numbers = random.Random(seed)
        for _ in range(50):
            connection = self.connect_http2()
            for _ in range(20):
                size = numbers.randrange(64)
                frame = wire.frame(
                    numbers.randrange(12),
                    numbers.randbytes(size),
                    numbers.randrange(256),
                    numbers.randrange(8),
                )
                self.send(connection, frame)
            connection.close()

    def test_frames_that_announce_more_than_comes(self):
        for kind in range(10):
            for length in (1, 16384, 16385, (1 << 24) - 1):
                connection = self.connect_http2()
                self.send(connection, wire.frame(kind, b"x" * 20, 0, 1, length=length))
                connection.close()

    def test_frame_over_the_limit_closes_the_connection(self):
        connection = self.connect_http2()
        self.send(connection, wire.frame(wire.HEADERS, b"", 0, 1, length=(1 << 24) - 1))
        self.send(connection, b"x" * (1 << 20))
        self.assert_closes(connection)

    def test_unknown_services_and_methods(self):
        connection = self.connect_http2()
        for number, method in enumerate((b"", b"Compute/", b"Compute/NoSuch", b"../..", b"\xff\x00")):
            headers = wire.call_headers(method)
            flags = wire.END_HEADERS | wire.END_STREAM
            self.send(connection, wire.frame(wire.HEADERS, headers, flags, 2 * number + 1))


class FloodTest(RawSocketTest):
    # gRPC 1.51 takes as many streams as come and go, 25 KiB each until it has dealt with it, and its answers to
    # pings; the memory stays with the allocator for the next.
    MAX_GROWTH_BYTES = 1 << 30

    def test_flood_of_settings(self):
        connection = self.connect_http2()
        self.send(connection, wire.frame(wire.SETTINGS) * 200_000)
        self.assert_bounded()

    def test_flood_of_settings_with_values(self):
        connection = self.connect_http2()
        values = b"".join(
            struct.pack(">HI", identifier, (1 << 32) - 1) for identifier in range(1, 100)
        )
        self.send(connection, wire.frame(wire.SETTINGS, values) * 1000)
        self.assert_bounded()

    def test_flood_of_pings(self):
        connection = self.connect_http2()
        self.send(connection, wire.frame(wire.PING, bytes(8)) * 200_000)
        self.assert_bounded()

    def test_flood_of_streams_that_are_reset_at_once(self):
        connection = self.connect_http2()
        headers = wire.call_headers(OPEN_SESSION)
        for first in range(1, 20_001, 2000):
            self.send(
                connection,
                b"".join(
                    wire.frame(wire.HEADERS, headers, wire.END_HEADERS, stream)
                    + wire.frame(wire.RST_STREAM, struct.pack(">I", 8), 0, stream)
                    for stream in range(first, first + 2000, 2)
                ),
            )
        self.assert_bounded()

    def test_headers_that_never_end(self):
        connection = self.connect_http2()
        headers = wire.call_headers(OPEN_SESSION)
        self.send(connection, wire.frame(wire.HEADERS, headers, 0, 1))
        more = wire.header(b"x-filler", b"x" * 16_000)
        for _ in range(4000):
            if not self.send(connection, wire.frame(wire.CONTINUATION, more, 0, 1)):
                break
        self.assert_bounded()

    def test_more_calls_than_a_connection_may_have(self):
        connection = self.connect_http2()
        headers = wire.call_headers(OPEN_SESSION)
        self.send(
            connection,
            b"".join(
                wire.frame(wire.HEADERS, headers, wire.END_HEADERS, stream)
                for stream in range(1, 20_001, 2)
            ),
        )
        self.assert_bounded()


class AnnouncedLengthTest(RawSocketTest):
    """A few bytes that say that many more follow."""

    def test_message_that_announces_a_huge_length(self):
        for length in (5 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
            for method in (OPEN_SESSION, b"Compute/Execute", b"Compute/Submit", b"Compute/Write"):
                connection = self.connect_http2()
                headers = wire.call_headers(method)
                data = wire.grpc_message(b"x" * 20, length=length)
                self.send(
                    connection,
                    wire.frame(wire.HEADERS, headers, wire.END_HEADERS, 1)
                    + wire.frame(wire.DATA, data, wire.END_STREAM, 1),
                )
                self.assertIn(b"grpc-status", self.read_until(connection, b"grpc-status"))
        self.assert_bounded()

    def read_until(self, connection, wanted):
        connection.settimeout(CLOSED_S)
        data = b""
        while wanted not in data:
            chunk = connection.recv(65536)
            if not chunk:
                break
            data += chunk
        return data

    def test_message_whose_rest_never_comes(self):
        connections = [self.connect_http2() for _ in range(50)]
        for connection in connections:
            headers = wire.call_headers(b"Compute/Execute")
            data = wire.grpc_message(b"x" * 20, length=4 << 20)
            self.send(
                connection,
                wire.frame(wire.HEADERS, headers, wire.END_HEADERS, 1)
                + wire.frame(wire.DATA, data, 0, 1),
            )
        self.assert_innocent_works()
        self.assert_bounded()


class ManyConnectionsTest(RawSocketTest):
    def newcomer_works(self):
        start = time.monotonic()
        session = self.attacker().open()
        self.assertTrue(session.computes_right())
        session.close()
        self.assertLess(time.monotonic() - start, CLOSED_S)

    def test_a_thousand_that_say_nothing(self):
        silent = [self.connect(over_tcp=i % 2 == 1) for i in range(MANY_CONNECTIONS)]
        self.assert_innocent_works()
        # Those beyond the limit are closed at once, the others after their time to speak.
        for connection in silent:
            self.assert_closes(connection)
        self.newcomer_works()

    def test_a_thousand_that_stay(self):
        # The daemon takes them as they come, and each as it speaks.
        for i in range(MANY_CONNECTIONS):
            connection = self.connect_http2(over_tcp=i % 2 == 1)
            connection.settimeout(CLOSED_S)
            self.assertEqual(connection.recv(9)[3], wire.SETTINGS)
        self.assert_innocent_works()
        self.newcomer_works()
        self.assert_bounded()

    def test_a_thousand_that_come_and_go(self):
        for i in range(MANY_CONNECTIONS):
            self.connect_http2(over_tcp=i % 2 == 1).close()
        self.newcomer_works()


# Not cases of their own.
del RawSocketTest, HostileTest

if __name__ == "__main__":
    unittest_main.main()
