"""Programs that are wrong, too long or too many, over gRPC alone.

    programs_test.py
"""

import api
import unittest_main
from acceld.v1 import command_pb2, op_pb2
from acceld.v1.ops import copy_dtod_pb2, gather_pb2, memset_pb2
from hostile import HostileTest

PROGRAMS = 8
ITEMS = 64
BYTES = 1 << 20


def define(*items, program=0):
    return command_pb2.Command(
        define_program=command_pb2.DefineProgram(program=program, items=items)
    )


def fill(target, size_bytes, value=1):
    memset = memset_pb2.Memset(target=target, value=value, size_bytes=size_bytes)
    return command_pb2.ProgramItem(run=op_pb2.Op(memset=memset))


def copy(target, source, size_bytes):
    copy_dtod = copy_dtod_pb2.CopyDtoD(target=target, source=source, size_bytes=size_bytes)
    return command_pb2.ProgramItem(run=op_pb2.Op(copy_dtod=copy_dtod))


def wait(event):
    return command_pb2.ProgramItem(wait_event=command_pb2.WaitEvent(event=event))


def record(event):
    return command_pb2.ProgramItem(record_event=command_pb2.RecordEvent(event=event))


def replay(program, *rebindings, stream=0):
    pairs = [command_pb2.Rebinding(recorded=old, replacement=new) for old, new in rebindings]
    action = command_pb2.ReplayProgram(program=program, rebindings=pairs)
    return command_pb2.Command(stream=stream, replay_program=action)


def destroy(program):
    return command_pb2.Command(destroy_program=command_pb2.DestroyProgram(program=program))


class ProgramsTest(HostileTest):
    CONFIG = (
        f"limits {{ max_programs: {PROGRAMS} max_program_items: {ITEMS} "
        f"max_program_bytes: {BYTES} }}"
    )

    def setUp(self):
        super().setUp()
        self.session = self.attacker().open()
        self.a, self.b = self.session.alloc(4096), self.session.alloc(4096)

    def define(self, *items):
        return self.session.do(define(*items)).program

    def assert_error(self, command, reason):
        with self.assertRaises(api.CommandError) as raised:
            self.session.do(command)
        self.assertEqual(raised.exception.reason, reason, raised.exception.message)

    def test_right_program(self):
        program = self.define(fill(self.a, 8, 5), copy(self.b, self.a, 8))
        self.session.do(replay(program))
        self.assertEqual(self.session.read(self.b, 8), b"\x05" * 8)
        self.session.do(destroy(program))
        self.assert_error(replay(program), "UNKNOWN_PROGRAM")

    def test_unknown_programs(self):
        theirs = self.attacker().open().do(define(wait(1))).program
        for program in (0, 1, theirs + 1, 2**62 - 1, 2**63, 2**64 - 1):
            with self.subTest(program=program):
                self.assert_error(replay(program), "UNKNOWN_PROGRAM")
                self.assert_error(destroy(program), "UNKNOWN_PROGRAM")

    def test_program_of_another_session(self):
        mine = self.define(fill(self.a, 8))
        other = self.attacker().open()
        with self.assertRaises(api.CommandError):
            other.do(replay(mine))
        # The same number of another session's own names what that session has.
        other_a = other.alloc(4096)
        self.assertEqual(other.do(define(fill(other_a, 8, 9))).program, mine)
        other.do(replay(mine))
        self.assertEqual(self.session.read(self.a, 8), bytes(8))

    def test_numbers_that_may_not_be_chosen(self):
        self.session.do(define(program=5))
        for number in (5, 4, 2**62, 2**64 - 1):
            with self.subTest(number=number):
                self.assert_error(define(program=number), "INVALID_ARGUMENT")

    def test_items_that_are_none(self):
        for item in (
            command_pb2.ProgramItem(),
            command_pb2.ProgramItem(run=op_pb2.Op()),
            fill(self.a, 4097),
            fill(self.a, 2**64 - 1),
            copy(self.a, self.a + 1, 8),
        ):
            with self.subTest(item=item):
                self.assert_error(define(fill(self.a, 8), item), "INVALID_ARGUMENT")
        for address in (0, self.a - 1, self.b + (1 << 20), 2**64 - 1):
            self.assert_error(define(fill(address, 8)), "UNKNOWN_ADDRESS")

    def test_too_many_items(self):
        self.define(*[fill(self.a, 8)] * ITEMS)
        self.assert_error(define(*[fill(self.a, 8)] * (ITEMS + 1)), "LIMIT_EXCEEDED")
        # Two bytes each on the wire, and more than any daemon allows.
        empty = [command_pb2.ProgramItem()] * 1_000_000
        self.assert_error(define(*empty), "LIMIT_EXCEEDED")

    def test_too_many_programs(self):
        for _ in range(PROGRAMS):
            self.define()
        self.assert_error(define(), "LIMIT_EXCEEDED")

    def test_too_many_bytes(self):
        indices = gather_pb2.Gather(
            rows=1, columns=1, indices=[0] * 1024, table=self.a, output=self.b
        )
        item = command_pb2.ProgramItem(run=op_pb2.Op(gather=indices))
        self.assert_error(define(*[item] * ITEMS), "LIMIT_EXCEEDED")

    def test_rebindings_that_are_none(self):
        program = self.define(fill(self.a, 4096))
        small = self.session.alloc(4095)
        for rebindings, reason in (
            ([(0, self.b)], "INVALID_ARGUMENT"),
            ([(self.a, 0)], "UNKNOWN_ADDRESS"),
            ([(self.a + 256, self.b)], "INVALID_ARGUMENT"),
            ([(self.a, self.b + 256)], "UNKNOWN_ADDRESS"),
            ([(self.a, 2**64 - 1)], "UNKNOWN_ADDRESS"),
            ([(2**64 - 1, self.b)], "INVALID_ARGUMENT"),
            ([(self.a, small)], "INVALID_ARGUMENT"),
            ([(self.a, self.b)] * 2, "INVALID_ARGUMENT"),
            ([(self.a, self.b)] * 100_000, "INVALID_ARGUMENT"),
            ([(i, i) for i in range(100_000)], "INVALID_ARGUMENT"),
        ):
            with self.subTest(rebindings=rebindings[:2]):
                self.assert_error(replay(program, *rebindings), reason)
        self.assertEqual(self.session.read(self.a, 4096), bytes(4096))
        self.assertEqual(self.session.read(self.b, 4096), bytes(4096))

    def test_freed_memory(self):
        program = self.define(fill(self.a, 8))
        self.session.do(replay(program))
        self.session.do(api.free(self.a))
        self.assert_error(replay(program), "UNKNOWN_ADDRESS")

    def test_many_bindings_hold_no_memory(self):
        program = self.define(*[fill(self.a, 8)] * ITEMS)
        for _ in range(20):
            commands = []
            for _ in range(50):
                buffer = self.session.alloc(1 << 16)
                commands += [replay(program, (self.a, buffer)), api.free(buffer)]
            results = self.session.execute(*commands)
            for result in results.values():
                self.assertIn(result.error.error_info.reason, ("", "LIMIT_EXCEEDED"))
        self.session.do(api.synchronize())
        self.session.do(replay(program))

    def test_unknown_events(self):
        for item in (wait(77), record(77)):
            program = self.define(fill(self.a, 8), item)
            self.assert_error(replay(program), "UNKNOWN_EVENT")
        self.assertEqual(self.session.read(self.a, 8), bytes(8))

    def test_streams_that_are_none(self):
        program = self.define(fill(self.a, 8))
        for stream in (1, 2**62, 2**64 - 1):
            self.assert_error(replay(program, stream=stream), "UNKNOWN_STREAM")

    def test_a_client_that_leaves_in_the_middle_leaves_nothing(self):
        program = self.define(*[fill(self.a, 4096)] * ITEMS)
        call = self.session.submit()
        call.send(*[replay(program)] * 2000)
        call.next()
        call.cancel()


# Not a case of its own.
del HostileTest

if __name__ == "__main__":
    unittest_main.main()
