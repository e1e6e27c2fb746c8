"""Messages that are not what the .proto files say: cut off, mutated, nested, compressed, too large.

    malformed_message_test.py

They are encoded by hand and sent as bytes.
"""

import random
import unittest

import grpc

import api
import unittest_main
import wire_bytes as wire
from acceld.v1 import compute_pb2
from hostile import HostileTest

MUTATIONS = 400
MESSAGE_BYTES = 4 << 20

# Over what the daemon takes without protobuf.
BULK_BYTES = 1 << 20

# Field numbers: of OpenSessionRequest.
VERSIONS, FEATURES, DEVICE, CLIENT_NAME = 1, 2, 3, 4
# Of ExecuteRequest and SubmitRequest.
SECRET, COMMANDS = 1, 2
# Of Command.
STREAM, RUN, WRITE, READ, ALLOC = 1, 2, 3, 4, 5

UNKNOWN_FIELD = 1000

BEYOND_ALL = 1 << 61


def open_session():
    return b"".join(
        (
            wire.message(VERSIONS, wire.integer(1, 1), wire.integer(2, 3)),
            wire.message(FEATURES, b"some-feature"),
            wire.message(DEVICE, wire.message(1, b"cpu"), wire.integer(2, 0)),
            wire.message(CLIENT_NAME, b"hostile"),
        )
    )


def gemm(address):
    return wire.message(
        RUN,
        wire.message(
            1,
            *(wire.integer(number, 2) for number in (1, 2, 3, 4, 5, 6, 9, 11, 14)),
            wire.tag(7, wire.FIXED64) + bytes(8),
            *(wire.fixed64(number, address) for number in (8, 10)),
            wire.fixed64(13, address + 1024),
        ),
    )


def commands(secret, address):
    """A request of Execute, and of Submit."""
    return b"".join(
        (
            wire.message(SECRET, secret),
            wire.message(COMMANDS, wire.message(WRITE, wire.fixed64(1, address), wire.message(2, b"x" * 9))),
            wire.message(COMMANDS, gemm(address)),
            wire.message(COMMANDS, wire.message(READ, wire.fixed64(1, address), wire.integer(2, 16))),
            wire.message(COMMANDS, wire.message(ALLOC, wire.fixed64(1, 0), wire.integer(2, 4096))),
        )
    )


def mutated(numbers, data):
    """`data` with a few bytes changed, left out, repeated or put in."""
    data = bytearray(data)
    for _ in range(numbers.randrange(1, 5)):
        start = numbers.randrange(len(data) + 1)
        end = min(len(data), start + numbers.randrange(9))
        change = numbers.randrange(4)
        if change == 0:
            data[start:end] = numbers.randbytes(end - start)
        elif change == 1:
            del data[start:end]
        elif change == 2:
            data[start:start] = data[start:end]
        else:
            data[start:end] = wire.varint(numbers.choice((0, 1 << 31, 1 << 32, (1 << 64) - 1)))
    return bytes(data)


class MessageTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.client = self.attacker()
        self.session = self.client.open()
        self.address = self.session.alloc(4096)
        self.execute_request = commands(self.session.info.secret, self.address)

    def assert_handled(self, method, request):
        """The call succeeds or is refused; returns the response, or None."""
        try:
            return self.client.call_raw(method, request)
        except grpc.RpcError as error:
            self.assert_refusal(error)
            return None

    def assert_submit_handled(self, request):
        """As above; ends the session where it takes hold of it."""
        try:
            return list(self.client.stream_raw("Compute/Submit", [request]))
        except grpc.RpcError as error:
            self.assert_refusal(error)
            return None

    def write_header(self, size_bytes):
        """The first message of a Write call."""
        return wire.message(
            1,
            wire.message(1, self.session.info.secret),
            wire.fixed64(2, self.address),
            wire.integer(3, size_bytes),
        )

    def assert_write_refused(self, *messages):
        self.assert_refused(
            lambda: list(self.client.stream_raw("Compute/Write", messages)),
            code=grpc.StatusCode.INVALID_ARGUMENT,
        )

    def assert_still_works(self):
        self.assertTrue(self.session.computes_right())


class WellFormedTest(MessageTest):
    """What the others start from is right."""

    def test_open_session(self):
        session = compute_pb2.Session.FromString(
            self.client.call_raw("Compute/OpenSession", open_session())
        )
        self.assertEqual(session.device.kind, "cpu")

    def test_execute(self):
        response = compute_pb2.ExecuteResponse.FromString(
            self.client.call_raw("Compute/Execute", self.execute_request)
        )
        self.assertEqual([result.sequence for result in response.results], [3, 4])
        self.assertEqual(response.results[0].data, b"x" * 9 + bytes(7))

    def test_submit(self):
        responses = self.assert_submit_handled(self.execute_request)
        self.assertEqual(
            compute_pb2.SubmitResponse.FromString(responses[-1]).finished_sequence, 4
        )


class CutOffTest(MessageTest):
    def test_open_session_at_every_byte(self):
        message = open_session()
        answers = [
            self.assert_handled("Compute/OpenSession", message[:end])
            for end in range(len(message))
        ]
        self.assertIn(None, answers, "Some are no messages.")
        self.assertNotEqual(set(answers), {None}, "Some end between two fields.")

    def test_execute_at_every_byte(self):
        for end in range(len(self.execute_request)):
            self.assert_handled("Compute/Execute", self.execute_request[:end])
        self.assert_still_works()

    def test_submit_at_every_byte(self):
        for end in range(0, len(self.execute_request)):
            session = self.client.open()
            self.assert_submit_handled(commands(session.info.secret, 1 << 62)[:end])
        self.assert_still_works()

    def test_write_at_every_byte(self):
        header = self.write_header(8)
        for end in range(len(header)):
            with self.assertRaises(grpc.RpcError) as raised:
                list(self.client.stream_raw("Compute/Write", [header[:end]]))
            self.assert_refusal(raised.exception)
        data = wire.message(2, b"12345678")
        for end in range(len(data)):
            self.assert_write_refused(header, data[:end])
        self.assertEqual(self.session.read(self.address, 8), bytes(8))
        self.assert_still_works()

    def test_large_write_of_submit_at_its_start(self):
        write = wire.message(
            COMMANDS,
            wire.message(WRITE, wire.fixed64(1, self.address), wire.message(2, bytes(BULK_BYTES))),
        )
        for missing in (1, 100, BULK_BYTES // 2):
            session = self.client.open()
            secret = wire.message(SECRET, session.info.secret)
            self.assert_refused(
                lambda: list(
                    self.client.stream_raw("Compute/Submit", [secret, write[:-missing]])
                ),
                code=grpc.StatusCode.INVALID_ARGUMENT,
            )


class MutatedTest(MessageTest):
    def each_mutation(self, message):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        numbers = random.Random(seed)
        for number in range(MUTATIONS):
            with self.subTest(seed=seed, number=number):
                yield mutated(numbers, message)

    def test_open_session(self):
        for message in self.each_mutation(open_session()):
            client = self.attacker()
            try:
                client.call_raw("Compute/OpenSession", message)
            except grpc.RpcError as error:
                self.assert_refusal(error)
            client.close()

    def test_execute(self):
        # The secret stays: what follows it is not to go unread.
        start = wire.message(SECRET, self.session.info.secret)
        for message in self.each_mutation(self.execute_request[len(start) :]):
            self.assert_handled("Compute/Execute", start + message)

    def test_submit(self):
        for message in self.each_mutation(self.execute_request[18:]):
            session = self.client.open()
            self.assert_submit_handled(wire.message(SECRET, session.info.secret) + message)

    def test_read(self):
        message = wire.fixed64(2, self.address) + wire.integer(3, 4096) + wire.integer(4, 0)
        secret = wire.message(SECRET, self.session.info.secret)
        for mutation in self.each_mutation(message):
            try:
                list(self.client.stream_raw("Compute/Read", [secret + mutation]))
            except grpc.RpcError as error:
                self.assert_refusal(error)
        self.assert_still_works()

    def test_data_of_write(self):
        for mutation in self.each_mutation(wire.message(2, b"12345678")):
            try:
                list(self.client.stream_raw("Compute/Write", [self.write_header(8), mutation]))
            except grpc.RpcError as error:
                self.assert_refusal(error)
        self.assert_still_works()

    def test_large_write_of_submit(self):
        address = 1 << 20
        message = wire.message(
            COMMANDS,
            wire.message(WRITE, wire.fixed64(1, address), wire.message(2, bytes(BULK_BYTES))),
        )
        start, data = message[:20], message[20:]
        alloc = wire.message(
            COMMANDS, wire.message(ALLOC, wire.fixed64(1, address), wire.integer(2, BULK_BYTES))
        )
        for mutation in list(self.each_mutation(start))[:40]:
            session = self.client.open()
            requests = [wire.message(SECRET, session.info.secret) + alloc, mutation + data]
            try:
                list(self.client.stream_raw("Compute/Submit", requests))
            except grpc.RpcError as error:
                self.assert_refusal(error)
        self.assert_still_works()

    def test_random_bytes_to_every_method(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        numbers = random.Random(seed)
        for service, methods in (
            ("Compute", ("GetServerInfo", "OpenSession", "CloseSession", "Execute")),
            ("Admin", ("ListSessions", "EndSession")),
        ):
            for method in methods:
                for size in (1, 2, 20, 300, 5000):
                    self.assert_handled(f"{service}/{method}", numbers.randbytes(size))
        for method in ("Submit", "Write", "Read"):
            for size in (1, 2, 20, 300, 5000, BULK_BYTES):
                with self.assertRaises(grpc.RpcError) as raised:
                    list(self.client.stream_raw(f"Compute/{method}", [numbers.randbytes(size)]))
                self.assert_refusal(raised.exception)


class UnknownContentTest(MessageTest):
    def test_unknown_fields_are_ignored(self):
        for field in (
            wire.integer(UNKNOWN_FIELD, 7),
            wire.fixed64(UNKNOWN_FIELD, 7),
            wire.tag(UNKNOWN_FIELD, wire.FIXED32) + bytes(4),
            wire.message(UNKNOWN_FIELD, bytes(1 << 20)),
            wire.integer(UNKNOWN_FIELD, 7) * 100_000,
            wire.tag(UNKNOWN_FIELD, wire.START_GROUP) + wire.tag(UNKNOWN_FIELD, wire.END_GROUP),
        ):
            request = self.execute_request + field
            self.assertIsNotNone(self.assert_handled("Compute/Execute", request))

    def test_unknown_field_within_a_command(self):
        request = wire.message(SECRET, self.session.info.secret)
        request += wire.message(COMMANDS, gemm(self.address), wire.integer(UNKNOWN_FIELD, 1))
        response = self.assert_handled("Compute/Execute", request)
        self.assertEqual(response, b"", "The command runs.")

    def test_wire_types_and_field_numbers_that_do_not_exist(self):
        for field in (b"\x06", b"\x07", b"\x00", wire.tag((1 << 29) - 1, 7), b"\xff" * 11, b"\x0c"):
            self.assertIsNone(self.assert_handled("Compute/Execute", self.execute_request + field))

    def test_known_fields_of_the_wrong_wire_type(self):
        for number in (SECRET, COMMANDS):
            for field in (wire.integer(number, 3), wire.fixed64(number, 3)):
                self.assert_handled("Compute/Execute", field)

    def test_lengths_beyond_the_message(self):
        for length in (10, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1):
            for number in (SECRET, COMMANDS, UNKNOWN_FIELD):
                request = wire.tag(number, wire.BYTES) + wire.varint(length) + b"x"
                self.assertIsNone(self.assert_handled("Compute/Execute", request))

    def test_deep_nesting(self):
        for depth in (99, 1000, 100_000, 1_000_000):
            groups = wire.tag(15, wire.START_GROUP) * depth + wire.tag(15, wire.END_GROUP) * depth
            self.assert_handled("Compute/Execute", groups)
            self.assert_handled("Compute/OpenSession", wire.tag(15, wire.START_GROUP) * depth)

    def test_text_that_is_not_utf8(self):
        request = wire.message(CLIENT_NAME, b"\xff\xfe")
        self.assertIsNone(self.assert_handled("Compute/OpenSession", request))
        request = wire.message(DEVICE, wire.message(1, b"\xc3\x28"))
        self.assertIsNone(self.assert_handled("Compute/OpenSession", request))


class LargeMessageTest(MessageTest):
    def gather(self, *indices):
        return wire.message(COMMANDS, wire.message(RUN, wire.message(12, *indices)))

    def test_huge_repeated_fields(self):
        secret = wire.message(SECRET, self.session.info.secret)
        count = 3 << 20
        for request in (
            wire.message(FEATURES) * (count // 2),
            wire.message(VERSIONS) * (count // 2),
        ):
            self.assert_handled("Compute/OpenSession", request)
        packed = self.gather(wire.message(3, bytes(count)))
        self.assert_handled("Compute/Execute", secret + packed)
        unpacked = self.gather(wire.integer(3, 0) * (count // 2))
        self.assert_handled("Compute/Execute", secret + unpacked)
        self.assert_still_works()

    def test_too_many_commands(self):
        secret = wire.message(SECRET, self.session.info.secret)
        for count in (4097, 1 << 20):
            self.assert_refused(
                self.client.call_raw,
                "Compute/Execute",
                secret + wire.message(COMMANDS) * count,
                reason="LIMIT_EXCEEDED",
            )
            session = self.client.open()
            request = wire.message(SECRET, session.info.secret) + wire.message(COMMANDS) * count
            self.assert_refused(
                lambda request=request: list(self.client.stream_raw("Compute/Submit", [request])),
                reason="LIMIT_EXCEEDED",
            )

    def test_message_over_the_limit_leaves_the_connections_other_calls(self):
        held = self.client.open()
        submit = self.session.submit()
        submit.send()
        submit.next()
        with held.attached():
            for method in ("Compute/OpenSession", "Compute/Execute", "Admin/ListSessions"):
                self.assert_refused(
                    self.client.call_raw,
                    method,
                    wire.message(UNKNOWN_FIELD, bytes(MESSAGE_BYTES)),
                    code=grpc.StatusCode.RESOURCE_EXHAUSTED,
                )
            submit.send(api.synchronize())
            submit.wait_for(1)
            self.assertTrue(held.computes_right())
        submit.end()

    def test_chunk_over_the_limit_fails_its_call_alone(self):
        address = self.session.alloc(8 << 20)
        with self.assertRaises(grpc.RpcError) as raised:
            self.session.write(address, bytes(8 << 20), chunk_bytes=8 << 20)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assert_still_works()

    def test_large_write_that_leaves_its_allocation_writes_nothing(self):
        submit = self.session.submit()
        size = BULK_BYTES
        first, last = 1 << 20, (1 << 20) + 4096
        submit.send(api.alloc(size, first))
        submit.send(api.write(last, b"x" * size))
        submit.send(api.write(BEYOND_ALL, b"x" * size))
        submit.send(api.read(last, 4096))
        results = submit.wait_for(4)
        for number in (2, 3):
            self.assertEqual(results[number].error.code, grpc.StatusCode.INVALID_ARGUMENT.value[0])
        self.assertEqual(results[4].data, bytes(4096))
        submit.end()

    def test_last_of_two_data_in_a_message_counts(self):
        address = self.session.alloc(16)
        data = wire.message(2, b"first way") + wire.message(2, b"second way")
        header = wire.message(
            1,
            wire.message(1, self.session.info.secret),
            wire.fixed64(2, address),
            wire.integer(3, 10),
        )
        list(self.client.stream_raw("Compute/Write", [header, data]))
        self.assertEqual(self.session.read(address, 10), b"second way")

    def test_largest_message_is_taken(self):
        address = self.session.alloc(MESSAGE_BYTES)
        data = random.Random(1).randbytes(MESSAGE_BYTES - 1024)
        self.session.do(api.write(address, data))
        self.assertEqual(self.session.read(address, len(data)), data)


class CompressedMessageTest(HostileTest):
    def test_compressed_messages_are_not_inflated(self):
        for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            for size in (1000, 3 << 20, 128 << 20):
                client = self.attacker()
                self.assert_refused(
                    client.call_raw,
                    "Compute/OpenSession",
                    wire.message(UNKNOWN_FIELD, bytes(size)),
                    code=grpc.StatusCode.UNIMPLEMENTED,
                    compression=compression,
                )
        self.assert_bounded()


# Not cases of their own.
del MessageTest, HostileTest

if __name__ == "__main__":
    unittest_main.main()
