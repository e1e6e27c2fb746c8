"""Clients that take as much as they get: every table and queue has its limit, and the others do not notice.

    limits_test.py
"""

import threading
import unittest

import grpc

import api
import unittest_main
import wire_bytes as wire
from acceld.v1 import command_pb2, compute_pb2
from client_program import GEMM_SIZE
from hostile import HostileTest

ALLOCATIONS, STREAMS, EVENTS, SESSIONS, COMMANDS = 40, 10, 12, 20, 100

# For so long a daemon that reads on does not let a sender wait.
STILL_S = 0.3

_RESOURCE_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def create_stream():
    return command_pb2.Command(create_stream=command_pb2.CreateStream())


def create_event():
    return command_pb2.Command(create_event=command_pb2.CreateEvent())


class TableTest(HostileTest):
    CONFIG = (
        f"limits {{ max_allocations: {ALLOCATIONS} max_streams: {STREAMS} max_events: {EVENTS} "
        f"max_sessions: {SESSIONS} max_commands_per_message: {COMMANDS} }}"
    )

    def fill(self, command, limit, count):
        """Runs it `count` times, which is the limit, and once more; returns a session at its limit."""
        session = self.attacker().open()
        for _ in range(count):
            session.do(command)
        with self.assertRaises(api.CommandError) as raised:
            session.do(command)
        self.assertEqual(raised.exception.reason, "LIMIT_EXCEEDED")
        self.assertEqual(raised.exception.code, _RESOURCE_EXHAUSTED)
        self.assertIn(str(limit), raised.exception.message)
        return session

    def test_allocations(self):
        self.fill(api.alloc(256), ALLOCATIONS, ALLOCATIONS)
        self.assert_innocent_works()

    def test_room_comes_back_when_something_is_freed(self):
        session = self.attacker().open()
        addresses = [session.alloc(256) for _ in range(ALLOCATIONS)]
        session.do(api.free(addresses[3]))
        self.assertGreater(session.alloc(256), addresses[-1], "An address is never used again.")

    def test_streams(self):
        # Stream 0 is one of them.
        self.fill(create_stream(), STREAMS, STREAMS - 1)

    def test_events(self):
        self.fill(create_event(), EVENTS, EVENTS)

    def test_sessions(self):
        client = self.attacker()
        opened = [client.open() for _ in range(SESSIONS - 1)]
        error = self.assert_refused(
            client.open, code=grpc.StatusCode.RESOURCE_EXHAUSTED, reason="LIMIT_EXCEEDED"
        )
        self.assertIn(str(SESSIONS), error.details())
        opened[0].close()
        client.open()

    def test_commands_of_a_message(self):
        session = self.attacker().open()
        session.execute(*[api.synchronize()] * COMMANDS)
        self.assert_refused(
            session.execute, *[api.synchronize()] * (COMMANDS + 1), reason="LIMIT_EXCEEDED"
        )
        submit = session.submit()
        submit.send(*[api.synchronize()] * (COMMANDS + 1))
        self.assert_refused(submit.wait_for, COMMANDS + 1, reason="LIMIT_EXCEEDED")

    def test_memory(self):
        session = self.attacker().open()
        addresses = []
        with self.assertRaises(api.CommandError) as raised:
            while True:
                addresses.append(session.alloc(8 << 20))
        self.assertEqual(raised.exception.reason, "DEVICE_OUT_OF_MEMORY")
        self.assertEqual(raised.exception.code, _RESOURCE_EXHAUSTED)
        session.do(api.free(addresses[0]))
        session.alloc(8 << 20)

    def test_failed_allocation_leaves_nothing(self):
        session = self.attacker().open()
        for address in (0, 1 << 20):
            with self.assertRaises(api.CommandError):
                session.alloc(1 << 40, address)
        self.assertEqual(self.innocent_client.usage()[1], self._usage[1])


class OneChannelTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.session = self.attacker().open()
        self.submit = self.session.submit()
        self.submit.send()
        self.submit.next()

    def test_second_submit_is_refused(self):
        second = self.session.submit()
        second.send(api.alloc(8))
        self.assert_refused(
            second.next, code=grpc.StatusCode.FAILED_PRECONDITION, reason="SESSION_BUSY"
        )
        self.submit.send(api.alloc(8))
        self.submit.wait_for(1)

    def test_execute_is_refused(self):
        self.assert_refused(self.session.execute, api.alloc(8), reason="SESSION_BUSY")

    def test_first_message_without_a_session(self):
        client = self.attacker()
        for request in (
            compute_pb2.SubmitRequest(),
            compute_pb2.SubmitRequest(commands=[api.alloc(8)]),
        ):
            self.assert_refused(
                lambda request=request: list(client.compute.Submit(iter([request]))),
                reason="SESSION_NOT_FOUND",
            )


class UnreadAnswersTest(HostileTest):
    """A client that asks and never reads: what waits for it is bounded."""

    CONFIG = "limits { max_in_flight_bytes: 33554432 }"

    def flood(self, commands, messages):
        """Sends messages until the daemon reads no more of them; nothing is ever read."""
        session = self.attacker().open()
        source = session.alloc(1 << 20)
        request = compute_pb2.SubmitRequest(commands=commands(source)).SerializeToString()
        sent = 0
        ended = threading.Event()

        def requests():
            nonlocal sent
            yield wire.message(1, session.info.secret)
            while sent < messages and not ended.is_set():
                yield request
                sent += 1
            ended.wait()

        call = session.client.stream_raw("Compute/Submit", requests())
        seen = -1

        def stands_still():
            nonlocal seen
            before, seen = seen, sent
            return before == seen or ended.wait(STILL_S)

        api.wait_until(stands_still, timeout_s=10)
        self.assertLess(sent, messages, "It reads everything.")
        self.assert_innocent_works()
        self.assert_bounded()
        ended.set()
        call.cancel()

    def test_reads(self):
        self.flood(lambda source: [api.read(source, 1 << 20)] * 100, 10_000)

    def test_failures(self):
        # A few bytes each, with an answer of a few hundred.
        self.flood(lambda source: [api.free(source + 1)] * 4000, 400)

    def test_new_events(self):
        self.flood(lambda source: [create_event()] * 4000, 400)

    def test_synchronizations(self):
        self.flood(lambda source: [api.synchronize()] * 4000, 400)


class HeldCommandsTest(HostileTest):
    """What waits behind a long operation is bounded as well."""

    CONFIG = "limits { max_in_flight_bytes: 33554432 }"

    def setUp(self):
        super().setUp()
        self.session = self.attacker().open()
        n = GEMM_SIZE
        a, b, c = (self.session.alloc(8 * n * n) for _ in range(3))
        self.long = [api.square_gemm(n, a, b, c)] * 500

    def flood(self, commands, messages):
        """Sends them behind a long operation; watches the daemon's memory meanwhile."""
        secret = compute_pb2.SubmitRequest(session_secret=self.session.info.secret)
        long = compute_pb2.SubmitRequest(commands=self.long).SerializeToString()
        request = compute_pb2.SubmitRequest(commands=commands).SerializeToString()
        ended = threading.Event()

        def requests():
            yield secret.SerializeToString()
            yield long
            for _ in range(messages):
                if ended.is_set():
                    return
                yield request
            ended.wait()

        call = self.session.client.stream_raw("Compute/Submit", requests())

        def grows_too_much():
            return self.growth_bytes() > self.MAX_GROWTH_BYTES

        self.assertFalse(api.wait_until(grows_too_much, timeout_s=1))
        self.assert_innocent_works()
        ended.set()
        call.cancel()

    def test_calls_of_execute(self):
        """Beyond the limit they are refused: a call that is one message cannot be read more slowly."""
        target = self.session.alloc(1 << 20)
        other = self.attacker()
        working = self.session.client.compute.Execute.future(
            compute_pb2.ExecuteRequest(
                session_secret=self.session.info.secret, commands=self.long
            )
        )
        request = compute_pb2.ExecuteRequest(
            session_secret=self.session.info.secret,
            commands=[api.write(target, bytes(1 << 20))] * 3,
        )
        calls = [other.compute.Execute.future(request) for _ in range(100)]
        refused = 0
        for call in calls[-50:]:
            self.assertEqual(call.exception(timeout=10).code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            refused += api.reason_of(call.exception()) == "LIMIT_EXCEEDED"
        self.assertEqual(refused, 50)
        self.assert_bounded()
        for call in (working, *calls):
            call.cancel()
        self.session.close()

    def test_calls_of_read(self):
        source = self.session.alloc(1 << 20)
        other = self.attacker()
        working = self.session.client.compute.Execute.future(
            compute_pb2.ExecuteRequest(
                session_secret=self.session.info.secret, commands=self.long
            )
        )
        request = compute_pb2.ReadRequest(
            session_secret=self.session.info.secret, source=source, size_bytes=1 << 20
        )
        calls = [other.compute.Read(request) for _ in range(64)]

        def refused():
            return [call for call in calls if call.done()]

        # Each holds a chunk of 1 MiB; those within the limit wait behind the long operation.
        self.assertTrue(api.wait_until(lambda: len(refused()) >= 32))
        for call in refused():
            self.assertEqual(call.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertEqual(api.reason_of(call), "LIMIT_EXCEEDED")
            self.assertIn(str(32 << 20), call.details())
        self.assertLess(len(refused()), 64)
        for call in (working, *calls):
            call.cancel()
        self.session.close()

    def test_writes(self):
        target = self.session.alloc(1 << 20)
        self.flood([api.write(target, bytes(1 << 20))] * 3, 300)

    def test_long_lists_of_indices(self):
        # A byte each on the wire, eight in memory.
        table = self.session.alloc(4)
        gather = {"rows": 1, "columns": 0, "indices": bytes(3 << 20), "table": table, "output": table}
        self.flood([api.run(gather=gather)], 100)


# Not cases of their own.
del HostileTest

if __name__ == "__main__":
    unittest_main.main()
