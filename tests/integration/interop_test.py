"""The API from another language: a client written from the .proto files alone, over each transport.

    interop_test.py
"""

import random
import unittest

import grpc

import api
import unittest_main
from acceld.v1 import command_pb2, compute_pb2
from acceld.v1.ops import memset_pb2
from daemon import Daemon

# Over what one message may hold.
LARGE_BYTES = (9 << 20) + 13
LEASE_MS = 200
BEYOND_ALL = 1 << 61

_INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT.value[0]


def setUpModule():
    global DAEMON
    DAEMON = Daemon()
    unittest.addModuleCleanup(DAEMON.close)


class ApiTest(unittest.TestCase):
    def connect(self, daemon=None):
        client = api.Client((daemon or DAEMON).unix_endpoint)
        self.addCleanup(client.close)
        return client

    def assert_fails(self, code, reason, call, *arguments, **options):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments, **options)
        error = raised.exception
        self.assertEqual((error.code(), api.reason_of(error)), (code, reason), error.details())
        return error


class OverEachTransport:
    """What a client of any language can do."""

    transport = ""

    def endpoint(self):
        raise NotImplementedError

    def setUp(self):
        self.client = api.Client(self.endpoint())
        self.addCleanup(self.client.close)
        self.session = self.client.open(client_name="interop")

    def test_session_tells_what_was_agreed(self):
        info = self.session.info
        self.assertEqual(info.transport, self.transport)
        self.assertEqual(info.device.kind, "cpu")
        self.assertEqual(len(info.secret), 16)
        self.assertIn("gemm", info.device.supported_ops)
        self.assertEqual(info.protocol_version, 1)

    def test_product_of_two_matrices_by_commands(self):
        self.assertTrue(self.session.computes_right())

    def test_product_of_two_large_matrices(self):
        n = 1024
        values = [float(i % 1009) for i in range(n * n)]
        identity = [0.0] * (n * n)
        identity[:: n + 1] = [2.0] * n
        a, b, c = (self.session.alloc(8 * n * n) for _ in range(3))
        self.session.write(a, api.doubles(*identity))
        self.session.write(b, api.doubles(*values))
        self.session.execute(api.square_gemm(n, a, b, c))
        product = api.from_doubles(self.session.read(c, 8 * n * n))
        self.assertEqual(product, [2 * value for value in values])

    def test_write_and_read_carry_more_than_a_message_holds(self):
        data = random.Random(1).randbytes(LARGE_BYTES)
        address = self.session.alloc(LARGE_BYTES)
        self.assertEqual(self.session.write(address, data), LARGE_BYTES)
        # An offset that is no multiple of anything.
        self.assertEqual(self.session.read(address + 7, LARGE_BYTES - 7), data[7:])

    def test_fresh_memory_is_zero(self):
        address = self.session.alloc(LARGE_BYTES)
        self.assertEqual(self.session.read(address, LARGE_BYTES), bytes(LARGE_BYTES))

    def test_wrong_address_of_a_command(self):
        with self.assertRaises(api.CommandError) as raised:
            self.session.do(api.read(BEYOND_ALL, 8))
        self.assertEqual(raised.exception.reason, "UNKNOWN_ADDRESS")
        self.assertEqual(raised.exception.code, _INVALID_ARGUMENT)
        self.assertIn(hex(BEYOND_ALL), raised.exception.message)

    def test_wrong_address_of_a_call(self):
        for call in (
            lambda: self.session.read(BEYOND_ALL, 8),
            lambda: self.session.write(BEYOND_ALL, bytes(8)),
        ):
            with self.assertRaises(grpc.RpcError) as raised:
                call()
            self.assertEqual(raised.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertEqual(api.reason_of(raised.exception), "UNKNOWN_ADDRESS")
            self.assertIn(hex(BEYOND_ALL), raised.exception.details())

    def test_access_past_the_end_of_an_allocation(self):
        address = self.session.alloc(100)
        with self.assertRaises(api.CommandError) as raised:
            self.session.do(api.write(address + 97, bytes(4)))
        self.assertEqual(raised.exception.code, _INVALID_ARGUMENT)
        self.assertEqual(self.session.read(address, 100), bytes(100))

    def test_commands_after_a_failed_one_run(self):
        address = self.session.alloc(8)
        results = self.session.execute(
            api.read(BEYOND_ALL, 8), api.write(address, b"12345678"), api.read(address, 8)
        )
        self.assertEqual(results[0].error.error_info.reason, "UNKNOWN_ADDRESS")
        self.assertEqual(results[0].error.error_info.domain, "acceld")
        self.assertNotIn(1, results)
        self.assertEqual(results[2].data, b"12345678")

    def test_submit_pipelines_commands_that_name_chosen_addresses(self):
        a, b, c = 1 << 20, 2 << 20, 3 << 20
        submit = self.session.submit()
        submit.send(api.alloc(32, a), api.alloc(32, b), api.alloc(32, c))
        submit.send(api.write(a, api.doubles(1, 2, 3, 4)), api.write(b, api.doubles(1, 0, 0, 1)))
        submit.send(api.square_gemm(2, a, b, c), api.read(c, 32), api.synchronize())
        results = submit.wait_for(8)
        self.assertEqual(api.from_doubles(results[7].data), [1, 2, 3, 4])
        self.assertIn(8, results, "A synchronization is answered.")
        submit.end()
        self.assertEqual(submit.call.code(), grpc.StatusCode.OK)

    def test_submit_reports_results_before_it_says_that_they_are_finished(self):
        submit = self.session.submit()
        submit.send()
        self.assertEqual(submit.next().finished_sequence, 0)
        submit.send(*(api.alloc(256) for _ in range(1000)))
        seen = set()
        finished = 0
        while finished < 1000:
            response = submit.next()
            seen.update(result.sequence for result in response.results)
            self.assertGreaterEqual(response.finished_sequence, finished)
            finished = response.finished_sequence
            self.assertTrue(seen.issuperset(range(1, finished + 1)))
        submit.end()

    def test_submit_answers_everything_after_the_client_half_closes(self):
        submit = self.session.submit()
        submit.send(*(api.alloc(256) for _ in range(100)), api.synchronize())
        submit.end()
        responses = list(submit.call)
        self.assertEqual(responses[-1].finished_sequence, 101)
        self.assertEqual(sum(len(response.results) for response in responses), 101)


class OverUnixTest(OverEachTransport, ApiTest):
    transport = "grpc+unix"

    def endpoint(self):
        return DAEMON.unix_endpoint


class OverTcpTest(OverEachTransport, ApiTest):
    transport = "grpc+tcp"

    def endpoint(self):
        return DAEMON.tcp_endpoint


class OpenSessionTest(ApiTest):
    def test_versions_the_server_does_not_speak(self):
        versions = compute_pb2.ProtocolVersions(lowest=1000, highest=2000)
        error = self.assert_fails(
            grpc.StatusCode.UNIMPLEMENTED,
            "VERSION_UNSUPPORTED",
            self.connect().open,
            protocol_versions=versions,
        )
        self.assertIn("1000", error.details())

    def test_the_highest_common_version_is_used(self):
        versions = compute_pb2.ProtocolVersions(lowest=1, highest=2000)
        session = self.connect().open(protocol_versions=versions)
        supported = self.connect().server_info().protocol_versions
        self.assertEqual(session.info.protocol_version, supported.highest)

    def test_versions_left_out_mean_the_first(self):
        self.assertEqual(self.connect().open().info.protocol_version, 1)

    def test_unknown_features_are_ignored(self):
        session = self.connect().open(features=["no-such-feature", ""])
        self.assertNotIn("no-such-feature", session.info.features)
        self.assertTrue(session.computes_right())

    def test_unknown_kind(self):
        self.assert_fails(
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_ARGUMENT",
            self.connect().open,
            device=compute_pb2.DeviceRequest(kind="opencl"),
        )

    def test_kind_that_is_not_here(self):
        error = self.assert_fails(
            grpc.StatusCode.UNIMPLEMENTED,
            "UNSUPPORTED",
            self.connect().open,
            device=compute_pb2.DeviceRequest(kind="metal"),
        )
        self.assertIn("metal", error.details())

    def test_device_that_is_not_here(self):
        self.assert_fails(
            grpc.StatusCode.UNIMPLEMENTED,
            "UNSUPPORTED",
            self.connect().open,
            device=compute_pb2.DeviceRequest(kind="cpu", ordinal=7),
        )

    def test_client_name_that_is_too_long_or_not_printable(self):
        for name in ("x" * 65, "line\nbreak", "é"):
            with self.subTest(name=name):
                self.assert_fails(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    "INVALID_ARGUMENT",
                    self.connect().open,
                    client_name=name,
                )


class ErrorsOnTheWireTest(ApiTest):
    def test_long_message_arrives_with_its_reason(self):
        # The error quotes the request, of which gRPC's trailers could not carry the whole.
        error = self.assert_fails(
            grpc.StatusCode.UNIMPLEMENTED,
            "UNSUPPORTED",
            self.connect().open,
            device=compute_pb2.DeviceRequest(uuid="\N{SNOWMAN}" * 100_000),
        )
        self.assertIn(r"\xe2\x98\x83", error.details())
        self.assertLess(len(error.details().encode()), 4096)


class LeaseTest(ApiTest):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(config=f"limits {{ session_idle_timeout_ms: {LEASE_MS} }}")
        cls.addClassCleanup(cls.daemon.close)

    def test_idle_session_is_taken_back(self):
        client = self.connect(self.daemon)
        session = client.open()
        session.alloc(1 << 20)
        self.assertEqual(session.info.lease_ms, LEASE_MS)
        self.assertTrue(api.wait_until(lambda: client.usage() == (0, 0)))
        self.assert_fails(
            grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session.execute, api.alloc(8)
        )

    def test_held_session_outlives_the_lease(self):
        client = self.connect(self.daemon)
        held, idle = client.open(), client.open()
        with held.attached():
            # The other one, opened later, shows that the lease is over.
            self.assertTrue(api.wait_until(lambda: client.usage()[0] == 1))
            self.assertEqual(client.list_sessions().sessions[0].id, held.info.id)
            self.assertTrue(held.computes_right())
        self.assertTrue(api.wait_until(lambda: client.usage()[0] == 0))
        del idle

    def test_session_that_works_outlives_the_lease(self):
        client = self.connect(self.daemon)
        session = client.open()
        addresses, seconds = api.time_gemm(session, 1024)
        count = int(2 * LEASE_MS / 1000 / seconds) + 1
        session.execute(*(api.square_gemm(1024, *addresses) for _ in range(count)))
        self.assertTrue(session.computes_right())


class StandardServicesTest(ApiTest):
    """What gRPC's own tools ask, encoded by hand since Debian has no modules for them."""

    SERVING = b"\x08\x01"

    def check(self, service):
        call = self.connect().channel.unary_unary("/grpc.health.v1.Health/Check")
        return call(b"\x0a" + bytes([len(service)]) + service, timeout=api.TIMEOUT_S)

    def test_health(self):
        for service in (b"", b"acceld.v1.Compute", b"acceld.v1.Admin"):
            self.assertEqual(self.check(service), self.SERVING)

    def test_health_of_an_unknown_service(self):
        with self.assertRaises(grpc.RpcError) as raised:
            self.check(b"acceld.v9.Compute")
        self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_reflection_lists_the_services(self):
        call = self.connect().channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        )
        list_services = b"\x3a\x00"
        (response,) = call(iter([list_services]), timeout=api.TIMEOUT_S)
        for service in (b"acceld.v1.Compute", b"acceld.v1.Admin", b"grpc.health.v1.Health"):
            self.assertIn(service, response)

    def test_server_describes_itself(self):
        info = self.connect().server_info()
        backends = {backend.kind: backend for backend in info.backends}
        self.assertTrue(backends["cpu"].available)
        self.assertEqual(len(backends), 7)
        for backend in info.backends:
            self.assertNotEqual(backend.available, bool(backend.reason), backend)
        self.assertFalse(info.draining)
        self.assertGreater(info.limits.message_bytes, 0)


class StreamsAndEventsTest(ApiTest):
    def setUp(self):
        self.session = self.connect().open()

    def test_event_orders_two_streams(self):
        session = self.session
        first = session.do(command_pb2.Command(create_stream=command_pb2.CreateStream())).stream
        second = session.do(command_pb2.Command(create_stream=command_pb2.CreateStream())).stream
        event = session.do(command_pb2.Command(create_event=command_pb2.CreateEvent())).event
        size = 1 << 20
        address = session.alloc(size)
        results = session.execute(
            api.run(first, memset=memset_pb2.Memset(target=address, value=7, size_bytes=size)),
            command_pb2.Command(stream=first, record_event=command_pb2.RecordEvent(event=event)),
            command_pb2.Command(stream=second, wait_event=command_pb2.WaitEvent(event=event)),
            api.read(address, size, second),
            command_pb2.Command(synchronize_event=command_pb2.SynchronizeEvent(event=event)),
        )
        self.assertEqual(results[3].data, b"\x07" * size)
        reached = session.do(command_pb2.Command(query_event=command_pb2.QueryEvent(event=event)))
        self.assertTrue(reached.reached)

    def test_wrong_stream_and_event(self):
        address = self.session.alloc(8)
        for command, reason in (
            (api.read(address, 8, stream=77), "UNKNOWN_STREAM"),
            (command_pb2.Command(query_event=command_pb2.QueryEvent(event=5)), "UNKNOWN_EVENT"),
        ):
            with self.assertRaises(api.CommandError) as raised:
                self.session.do(command)
            self.assertEqual(raised.exception.reason, reason)


if __name__ == "__main__":
    unittest_main.main()
