"""What every test of hostile input does around it.

An innocent client goes on beside the attacker, and afterwards the daemon holds no more than before.
"""

import time
import unittest

import grpc

import api
from acceld.v1 import compute_pb2
from daemon import Daemon

MAX_MORE_DESCRIPTORS = 8
MAX_MORE_THREADS = 32

# How soon an innocent client's small call is answered.
INNOCENT_S = 5

# Attackers reserve memory too: what they can get is small.
CPU_MEMORY = "cpu { memory_limit_bytes: 67108864 }"

# How a call may fail that was wrong. Neither a lost connection nor an exception in a handler (UNKNOWN).
REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.INTERNAL,  # What gRPC says of a message that does not parse.
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
}


class HostileTest(unittest.TestCase):
    """A daemon for each class."""

    CONFIG = ""

    # How much memory the attacks may cost the daemon.
    MAX_GROWTH_BYTES = 256 << 20

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(config=f"{CPU_MEMORY} {cls.CONFIG}")
        cls.addClassCleanup(cls.daemon.close)
        cls.innocent_client = api.Client(cls.daemon.unix_endpoint)
        cls.addClassCleanup(cls.innocent_client.close)
        cls.innocent = cls.innocent_client.open(client_name="innocent")
        cls._hold = cls.innocent_client.compute.AttachSession(
            compute_pb2.AttachSessionRequest(session_secret=cls.innocent.info.secret)
        )
        cls.addClassCleanup(cls._hold.cancel)
        next(cls._hold)
        cls._kept = cls.innocent.alloc(1 << 16)
        cls.innocent.write(cls._kept, b"kept" * (1 << 14))
        cls.assert_innocent_works(cls())
        cls._usage = cls.innocent_client.usage()
        cls._rss_bytes = cls.daemon.rss_bytes()
        cls._descriptors = cls.daemon.descriptor_count()
        cls._threads = cls.daemon.thread_count()

    def runTest(self):
        """Lets setUpClass use this class's assertions."""

    def setUp(self):
        # After the cleanups of the test, which end its clients.
        self.addCleanup(self.assert_unharmed)

    def attacker(self, endpoint=None, options=()):
        client = api.Client(endpoint or self.daemon.unix_endpoint, options)
        self.addCleanup(client.close)
        return client

    def assert_innocent_works(self):
        start = time.monotonic()
        self.assertTrue(self.innocent.computes_right())
        self.assertEqual(self.innocent.read(self._kept, 1 << 16), b"kept" * (1 << 14))
        self.assertLess(time.monotonic() - start, INNOCENT_S)

    def growth_bytes(self):
        return self.daemon.rss_bytes() - self._rss_bytes

    def assert_bounded(self):
        self.assertLess(self.growth_bytes(), self.MAX_GROWTH_BYTES)

    def assert_unharmed(self):
        self.assertTrue(self.daemon.is_alive(), self.daemon.log())
        self.assert_innocent_works()
        self.assertTrue(
            api.wait_until(lambda: self.innocent_client.usage() == self._usage),
            f"{self.innocent_client.list_sessions()} instead of {self._usage}",
        )
        self.assertTrue(
            api.wait_until(
                lambda: self.daemon.descriptor_count() <= self._descriptors + MAX_MORE_DESCRIPTORS
            ),
            f"{self.daemon.descriptor_count()} descriptors, {self._descriptors} before",
        )
        self.assertLessEqual(self.daemon.thread_count(), self._threads + MAX_MORE_THREADS)
        # What is freed may go back to the system some time later.
        api.wait_until(lambda: self.growth_bytes() < self.MAX_GROWTH_BYTES)
        self.assert_bounded()

    def assert_refused(self, call, *arguments, code=None, reason=None, **options):
        """The call fails as a wrong call does, and not by taking something down with it."""
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments, **options)
        error = raised.exception
        self.assert_refusal(error)
        if code is not None:
            self.assertEqual(error.code(), code, error.details())
        if reason is not None:
            self.assertEqual(api.reason_of(error), reason, error.details())
        return error

    def assert_refusal(self, error):
        self.assertIn(error.code(), REFUSALS, error.details())
