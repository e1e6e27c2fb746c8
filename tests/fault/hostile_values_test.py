"""Well-formed commands with the worst values: every field of every op, as the .proto files list them.

    hostile_values_test.py
"""

import math
import unittest

from google.protobuf.descriptor import FieldDescriptor

import api
import unittest_main
from acceld.v1 import command_pb2, compute_pb2, op_pb2
from acceld.v1.ops import (
    binary_pb2,
    copy_dtod_pb2,
    gather_pb2,
    memset_pb2,
    reduce_pb2,
    scatter_pb2,
    softmax_pb2,
    unary_pb2,
)
from hostile import HostileTest

SIZES = [0, 1, 2**16, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**62, 2**63 - 1]
NEGATIVE = [-1, -(2**31), -(2**63)]
UNSIGNED = [2**63, 2**64 - 1, 2**64 - 4096]
NUMBERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1.0, 5e-324]
ENUMS = [0, 99, 2**31 - 1, -1, -(2**31)]

_ADDRESS_BYTES = 4096
_INTEGERS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_FIXED64: (0, 2**64 - 1),
}
_NUMBERS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)


def is_repeated(field):
    return field.label == FieldDescriptor.LABEL_REPEATED


def hostile_values(field):
    if field.type in _INTEGERS:
        lowest, highest = _INTEGERS[field.type]
        return [value for value in SIZES + NEGATIVE + UNSIGNED if lowest <= value <= highest]
    if field.type in _NUMBERS:
        return NUMBERS
    if field.type == FieldDescriptor.TYPE_ENUM:
        return ENUMS
    return []


class Ops:
    """Each op with values that are right, in a session's memory."""

    def __init__(self, session):
        # The first address of a session, 2^62, is among the hostile values.
        session.alloc(1)
        self._base = session.alloc(64 * _ADDRESS_BYTES)

    def ops(self):
        """(the op's name, the op) of each."""
        for field in op_pb2.Op.DESCRIPTOR.oneofs_by_name["op"].fields:
            op = op_pb2.Op()
            getattr(op, field.name).SetInParent()
            self._fill(getattr(op, field.name))
            yield field.name, op

    def _fill(self, message):
        addresses = 0
        for field in message.DESCRIPTOR.fields:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                self._fill(getattr(message, field.name))
            elif field.type == FieldDescriptor.TYPE_FIXED64:
                setattr(message, field.name, self._base + addresses * _ADDRESS_BYTES)
                addresses += 1
            elif is_repeated(field):
                getattr(message, field.name).extend(self._list(message, field.name))
            elif field.type != FieldDescriptor.TYPE_BOOL:
                setattr(message, field.name, self._value(field.name))

    @staticmethod
    def _list(message, name):
        if name == "indices":
            return [0, 1, 2, 3]
        if message.DESCRIPTOR.name == "Conv2dShape":
            return {
                "input": [1, 2, 4, 4],
                "filter": [2, 2, 2, 2],
                "output": [1, 2, 3, 3],
                "stride": [1, 1],
                "padding": [0, 0],
            }[name]
        return [4, 4]

    @staticmethod
    def _value(name):
        # The batches' products do not overlap; what an enum names first is right everywhere.
        fixed = {"stride_a": 16, "stride_b": 16, "stride_c": 16}
        ones = ("type", "transpose_a", "transpose_b", "axis", "alpha", "precision", "op", "format")
        return fixed.get(name, 1 if name in ones else 4)


def variants(message):
    """Copies of `message`, each with one field made hostile; (what was done, the copy)."""
    for field in message.DESCRIPTOR.fields:
        path = field.name
        if is_repeated(field) and field.type == FieldDescriptor.TYPE_MESSAGE:
            for count in (1, 2, 5000):
                copy = type(message)()
                copy.CopyFrom(message)
                for _ in range(count):
                    getattr(copy, field.name).add()
                yield f"{path} = {count} empty ones", copy
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for what, inner in variants(getattr(message, field.name)):
                copy = type(message)()
                copy.CopyFrom(message)
                getattr(copy, field.name).CopyFrom(inner)
                yield f"{path}.{what}", copy
        elif is_repeated(field):
            yield from repeated_variants(message, field)
        else:
            for value in hostile_values(field):
                copy = type(message)()
                copy.CopyFrom(message)
                setattr(copy, field.name, value)
                is_enum = field.type == FieldDescriptor.TYPE_ENUM
                yield f"{path} = {'enum ' if is_enum else ''}{value}", copy


def repeated_variants(message, field):
    current = list(getattr(message, field.name))
    lists = [[], current[:1], current * 3, current * 1000]
    for place in range(len(current)):
        for value in hostile_values(field):
            lists.append([*current[:place], value, *current[place + 1 :]])
    for values in lists:
        copy = type(message)()
        copy.CopyFrom(message)
        copy.ClearField(field.name)
        getattr(copy, field.name).extend(values)
        yield f"{field.name} = {values[:9]}", copy


class ValuesTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.session = self.attacker().open()

    def assert_invalid(self, command, reason="INVALID_ARGUMENT"):
        with self.assertRaises(api.CommandError) as raised:
            self.session.do(command)
        self.assertEqual(raised.exception.reason, reason, raised.exception.message)
        self.assertNotIn("INTERNAL", str(raised.exception.code))
        return raised.exception


class EveryOpTest(ValuesTest):
    def test_right_values_are_right(self):
        for name, op in Ops(self.session).ops():
            with self.subTest(op=name):
                self.session.do(command_pb2.Command(run=op))

    def test_each_field_with_hostile_values(self):
        total = 0
        for name, op in Ops(self.session).ops():
            cases = list(variants(getattr(op, name)))
            commands = []
            for _, inner in cases:
                hostile = op_pb2.Op()
                getattr(hostile, name).CopyFrom(inner)
                commands.append(command_pb2.Command(run=hostile))
            results = self.session.execute(*commands)
            self.session.execute(api.synchronize())
            total += len(cases)
            for number, (what, _) in enumerate(cases):
                with self.subTest(op=name, what=what):
                    self.check(what, results.get(number))
        self.assertGreater(total, 1000)

    def check(self, what, result):
        """Sizes, addresses and enums out of range are refused; the rest may succeed."""
        error = result.error.error_info.reason if result is not None else ""
        self.assertIn(error, ("", "INVALID_ARGUMENT", "UNKNOWN_ADDRESS", "UNSUPPORTED"))
        name, _, value = what.rpartition(" = ")
        if value.startswith("enum"):
            self.assertEqual(error, "INVALID_ARGUMENT")
        is_number = value.lstrip("-").isdigit()
        if not is_number or name.endswith(("alpha", "beta", "scale", "causal")):
            return
        if int(value) >= 2**31 or int(value) < 0:
            self.assertNotEqual(error, "", "It is out of range.")

    def test_each_op_with_nothing_set(self):
        for name, _ in Ops(self.session).ops():
            with self.subTest(op=name):
                op = op_pb2.Op()
                getattr(op, name).SetInParent()
                result = self.session.execute(command_pb2.Command(run=op)).get(0)
                if result is not None:
                    self.assertEqual(result.error.error_info.reason, "INVALID_ARGUMENT")

    def test_each_op_on_addresses_of_nobody(self):
        for name, op in Ops(self.session).ops():
            inner = getattr(op, name)
            for field in inner.DESCRIPTOR.fields:
                if field.type != FieldDescriptor.TYPE_FIXED64:
                    continue
                with self.subTest(op=name, field=field.name):
                    hostile = op_pb2.Op()
                    hostile.CopyFrom(op)
                    setattr(getattr(hostile, name), field.name, 0)
                    self.assert_invalid(command_pb2.Command(run=hostile), "UNKNOWN_ADDRESS")


class EveryCommandTest(ValuesTest):
    def test_each_field_with_hostile_values(self):
        address = self.session.alloc(4096)
        base = {
            "write": command_pb2.WriteMemory(target=address, data=b"x" * 8),
            "read": command_pb2.ReadMemory(source=address, size_bytes=8),
            "alloc": command_pb2.AllocateMemory(address=0, size_bytes=8),
            "create_stream": command_pb2.CreateStream(),
            "create_event": command_pb2.CreateEvent(),
        }
        fields = command_pb2.Command.DESCRIPTOR.oneofs_by_name["action"].fields
        for field in fields:
            if field.name == "run":
                continue
            message = base.get(field.name) or getattr(command_pb2.Command(), field.name)
            for what, inner in [("as it is", message), *variants(message)]:
                for stream in (0, 1, 2**62, 2**64 - 1):
                    command = command_pb2.Command(stream=stream)
                    getattr(command, field.name).CopyFrom(inner)
                    with self.subTest(command=field.name, what=what, stream=stream):
                        self.session.execute(command)
        self.assertTrue(self.session.computes_right())

    def test_no_action_and_no_op(self):
        self.assert_invalid(command_pb2.Command())
        self.assert_invalid(command_pb2.Command(run=op_pb2.Op()))

    def test_zero_bytes(self):
        address = self.session.alloc(8)
        self.assert_invalid(api.alloc(0))
        self.session.do(api.write(address, b""))
        self.assertEqual(self.session.do(api.read(address, 0)).data, b"")

    def test_sizes_that_wrap_around(self):
        address = self.session.alloc(4096)
        for size in (2**64 - 1, 2**64 - address, 2**64 - address + 8, 2**63):
            memset = memset_pb2.Memset(target=address, value=1, size_bytes=size)
            self.assert_invalid(api.run(memset=memset))
            copy = copy_dtod_pb2.CopyDtoD(target=address, source=address, size_bytes=size)
            self.assert_invalid(api.run(copy_dtod=copy))
            with self.assertRaises(api.CommandError):
                self.session.do(api.read(address, size))
            self.assert_refused(self.session.read, address, size)
            header = compute_pb2.WriteHeader(
                session_secret=self.session.info.secret, target=address, size_bytes=size
            )
            request = compute_pb2.WriteRequest(header=header)
            self.assert_refused(
                lambda request=request: self.session.client.compute.Write(iter([request]))
            )
        self.assertEqual(self.session.read(address, 4096), bytes(4096))

    def test_the_last_byte_is_in_and_the_next_one_out(self):
        address = self.session.alloc(4097)
        self.session.do(api.write(address + 4096, b"x"))
        self.assert_invalid(api.write(address + 4096, b"xy"))
        self.assert_invalid(api.read(address, 4098))
        self.assertEqual(self.session.read(address + 4096, 1), b"x")


class RowIndexTest(ValuesTest):
    ROWS, COLUMNS = 4, 8

    def setUp(self):
        super().setUp()
        size = self.ROWS * self.COLUMNS * 4
        self.table, self.rows = self.session.alloc(size), self.session.alloc(size)
        self.before = b"\x01" * size
        self.session.execute(api.write(self.table, self.before), api.write(self.rows, self.before))

    def test_indices_out_of_range_write_nothing(self):
        for index in (-1, self.ROWS, 2**31, 2**32, 2**61, 2**63 - 1, -(2**63)):
            sizes = {"rows": self.ROWS, "columns": self.COLUMNS, "indices": [0, index]}
            gather = gather_pb2.Gather(table=self.table, output=self.rows, **sizes)
            scatter = scatter_pb2.Scatter(table=self.table, source=self.rows, **sizes)
            with self.subTest(index=index):
                self.assert_invalid(api.run(gather=gather))
                self.assert_invalid(api.run(scatter=scatter))
        for address in (self.table, self.rows):
            self.assertEqual(self.session.read(address, len(self.before)), self.before)

    def test_table_without_rows(self):
        gather = gather_pb2.Gather(
            rows=0, columns=8, indices=[0], table=self.table, output=self.rows
        )
        self.assert_invalid(api.run(gather=gather))


class OverlapTest(ValuesTest):
    def setUp(self):
        super().setUp()
        self.base = self.session.alloc(4096)

    def test_overlapping_operands(self):
        base = self.base
        for command in (
            api.square_gemm(4, base, base + 1024, base),
            api.square_gemm(4, base + 1024, base, base + 8),
            api.run(unary=unary_pb2.Unary(op=1, n=100, input=base, output=base + 4)),
            api.run(binary=binary_pb2.Binary(op=1, n=100, a=base, b=base + 1024, output=base + 4)),
            api.run(softmax=softmax_pb2.Softmax(shape=[100], axis=0, input=base, output=base + 4)),
            api.run(reduce=reduce_pb2.Reduce(op=1, shape=[4, 4], axis=0, input=base, output=base)),
            api.run(copy_dtod=copy_dtod_pb2.CopyDtoD(source=base, target=base + 1, size_bytes=9)),
        ):
            with self.subTest(command=command):
                self.assert_invalid(command)
        self.assertEqual(self.session.read(base, 4096), bytes(4096))


class SecretTest(ValuesTest):
    def test_secrets_that_are_none(self):
        secret = self.session.info.secret
        for wrong in (b"", secret[:15], secret + b"x", bytes(16), b"x" * 100_000, secret[::-1]):
            info = compute_pb2.Session(secret=wrong)
            session = api.Session(self.session.client, info)
            with self.subTest(secret=len(wrong)):
                for call in (
                    session.close,
                    lambda session=session: session.execute(api.alloc(8)),
                    lambda session=session: session.read(1, 1),
                    lambda session=session: session.write(1, b"x"),
                    lambda session=session: session.attached().__enter__(),
                ):
                    self.assert_refused(call, reason="SESSION_NOT_FOUND")
        self.assertTrue(self.session.computes_right())


# Not cases of their own.
del ValuesTest, HostileTest

if __name__ == "__main__":
    unittest_main.main()
