"""A client that pings to learn whether the server is still there is answered, not sent away.

    keepalive_test.py

gRPC's servers close connections with "too many pings" by default where pings come more often than every five
minutes, or, without a call, than every two hours. That takes four pings to show.
"""

import socket
import time
import unittest

import unittest_main
import wire_bytes as wire
from daemon import Daemon

# The daemon lets a client ping every 5 s.
INTERVAL_S = 5.05
PINGS = 4
ANSWER_S = 5


class Connection:
    """HTTP/2, frame by frame."""

    def __init__(self, socket_path):
        self._buffer = b""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(socket_path)
        self.socket.settimeout(ANSWER_S)
        self.socket.sendall(wire.PREFACE + wire.frame(wire.SETTINGS))

    def frames(self):
        """(kind, flags, payload) of each frame that comes."""
        while True:
            while len(self._buffer) >= 9:
                size = 9 + int.from_bytes(self._buffer[:3], "big")
                if len(self._buffer) < size:
                    break
                frame, self._buffer = self._buffer[:size], self._buffer[size:]
                yield frame[3], frame[4], frame[9:]
            chunk = self.socket.recv(65536)
            if not chunk:
                return
            self._buffer += chunk


class KeepaliveTest(unittest.TestCase):
    def connect(self, daemon):
        connection = Connection(daemon.socket_path)
        self.addCleanup(connection.socket.close)
        return connection

    def ping(self, connection, payload):
        connection.socket.sendall(wire.frame(wire.PING, payload))
        for kind, flags, content in connection.frames():
            self.assertNotEqual(kind, wire.GOAWAY, content)
            if kind == wire.PING and flags == 1 and content == payload:
                return
        self.fail("The daemon closes the connection.")

    def test_pings_with_and_without_a_call(self):
        with Daemon() as daemon:
            idle, calling = self.connect(daemon), self.connect(daemon)
            headers = wire.call_headers(b"Compute/Submit")
            calling.socket.sendall(wire.frame(wire.HEADERS, headers, wire.END_HEADERS, 1))
            for number in range(PINGS):
                for connection in (idle, calling):
                    self.ping(connection, number.to_bytes(8, "big"))
                if number + 1 < PINGS:
                    time.sleep(INTERVAL_S)


if __name__ == "__main__":
    unittest_main.main()
