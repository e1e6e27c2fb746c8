"""Malformed frames on data channels, in sockets and in rings.

    data_frame_test.py
"""

import contextlib
import random
import time
import unittest

import data_channel as data
import unittest_main
from data_hostile import DataChannelTest

INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 3, 8

HUGE = (1 << 31, (1 << 32) - 1, 1 << 32, 1 << 62, 1 << 63, (1 << 64) - 1)


class HeaderTest(DataChannelTest):
    def test_garbage(self):
        for channel in self.each_channel():
            seed = random.randrange(1 << 32)
            print(f"seed {seed}")
            # Without the small lengths that leave the daemon waiting for more.
            channel.send(b"\xff" * 4 + random.Random(seed).randbytes(4096))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_client_that_stays_after_the_end_is_closed(self):
        for channel in self.each_channel():
            channel.send(data.frame(0))
            self.assert_ends(channel, INVALID_ARGUMENT)
            self.assertIsNone(channel.next())

    def test_kinds_that_are_none(self):
        kinds = {0, *range(data.COMMAND_KINDS + 1, 64), 70, 127, *range(128, 140), 255, 65535}
        for kind in sorted(kinds):
            with self.subTest(kind=kind):
                channel = self.attach(shared_memory=kind % 2 == 0)
                channel.send(data.frame(kind, data.numbers(1)))
                self.assert_ends(channel, INVALID_ARGUMENT)

    def test_kinds_of_shared_memory_on_a_socket(self):
        for kind in range(data.WRITE_SHARED, data.MAP + 1):
            for over_tcp in (False, True):
                endpoint = self.daemon.tcp_endpoint if over_tcp else None
                channel = self.attach(self.attacker(endpoint).open(), over_tcp=over_tcp)
                channel.send(data.frame(kind, data.numbers(1)))
                self.assert_ends(channel, INVALID_ARGUMENT)

    def test_ops_that_are_none(self):
        for op in (0, data.OPS + 1, 255, 65535):
            channel = self.attach()
            channel.send(data.frame(data.RUN, data.numbers(*[0] * 14), detail=op))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_lengths(self):
        for kind in (data.RUN, data.ALLOC, data.NO_OP, data.ALLOC_HOST):
            for length in (0, 1, 7, 9, 4095):
                if kind == data.NO_OP and length == 0:
                    continue
                with self.subTest(kind=kind, length=length):
                    channel = self.attach(shared_memory=True)
                    channel.send(data.frame(kind, bytes(length), detail=int(kind == data.RUN)))
                    self.assert_ends(channel, INVALID_ARGUMENT)

    def test_huge_lengths(self):
        for length in ((4 << 20) + 1, 1 << 31, (1 << 32) - 1):
            for kind in (data.RUN, data.WRITE, data.NO_OP, data.END, 65535):
                channel = self.attach(shared_memory=length % 2 == 1)
                channel.send(data.frame(kind, b"x" * 20, length=length))
                self.assert_ends(channel, reason="LIMIT_EXCEEDED")
        self.assert_bounded()

    def test_streams_that_are_none(self):
        for channel in self.each_channel():
            for stream in (1, *HUGE):
                (result,) = channel.do(data.frame(data.NO_OP, number=stream))
                self.assertEqual(data.status_of(result.payload)[0], INVALID_ARGUMENT)
            self.assert_answers(channel)

    def test_write_with_less_than_its_address(self):
        for size in range(8):
            channel = self.attach(shared_memory=size % 2 == 0)
            channel.send(data.frame(data.WRITE, bytes(size)))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_write_with_just_its_address(self):
        for channel in self.each_channel():
            channel.do(data.frame(data.WRITE, data.numbers(1)))
            self.assert_answers(channel)


class FieldTest(DataChannelTest):
    def setUp(self):
        super().setUp()
        self.channel = self.attach(shared_memory=True)
        self.address = self.channel.value(data.alloc(4096))

    def assert_fails(self, command):
        """The command fails, and nothing else does."""
        (result,) = self.channel.do(command)
        self.assertIsNotNone(result, command)
        self.assertIn(
            data.status_of(result.payload)[0], (INVALID_ARGUMENT, RESOURCE_EXHAUSTED), result
        )

    def test_enums(self):
        good = [2, 1, 1, 1, 1, 1, 1.0, self.address, 1, self.address + 64, 1, 0.0, self.address + 128, 1]
        for field in range(3):
            for value in (0, 9, 255):
                fields = list(good)
                fields[field] = value
                self.assert_fails(data.frame(data.RUN, data.numbers(*fields), detail=data.GEMM))
        self.channel.do(data.frame(data.RUN, data.numbers(*good), detail=data.GEMM))
        for value in (256, *HUGE):
            channel = self.attach()
            channel.send(data.frame(data.RUN, data.numbers(value, *good[1:]), detail=data.GEMM))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_sizes(self):
        for value in HUGE:
            for field in (3, 4, 5, 8, 10, 13):
                fields = [2, 1, 1, 1, 1, 1, 1.0, self.address, 1, self.address + 64, 1, 0.0]
                fields += [self.address + 128, 1]
                fields[field] = value
                self.assert_fails(data.frame(data.RUN, data.numbers(*fields), detail=data.GEMM))

    def test_booleans(self):
        for value in (2, 255, 1 << 63):
            for command in (
                data.alloc(64, mappable=value),
                data.alloc(64, openable=value),
                data.read(self.address, 8, value),
            ):
                channel = self.attach()
                channel.send(command)
                self.assert_ends(channel, INVALID_ARGUMENT)

    def test_lists_longer_than_their_frame(self):
        for count in (1, 2, *HUGE, (1 << 61) + 1):
            channel = self.attach()
            fields = data.numbers(1, 1, count) + data.numbers(self.address)
            channel.send(data.frame(data.RUN, fields, detail=data.GATHER))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_shapes(self):
        for rank in (9, 255, *HUGE):
            channel = self.attach()
            fields = data.numbers(1, rank, *[1] * 8, 0, self.address, self.address)
            channel.send(data.frame(data.RUN, fields, detail=data.REDUCE))
            # A rank that is too high is an error of the op, if the rest is there.
            channel.send(data.frame(data.NO_OP, bytes(1)))
            self.assert_ends(channel, INVALID_ARGUMENT)
        for size in HUGE:
            fields = data.numbers(1, 2, size, size, 0, self.address, self.address)
            self.assert_fails(data.frame(data.RUN, fields, detail=data.REDUCE))

    def test_ranges(self):
        for size in (4097, *HUGE):
            self.assert_fails(data.read(self.address, size))
            self.assert_fails(data.read(self.address + 8, size))
        for address in (0, 1 << 61, self.address - 1, self.address + 4090, 1 << 63, (1 << 64) - 1):
            self.assert_fails(data.write(address, bytes(16)))
        for size in (0, *HUGE):
            self.assert_fails(data.alloc(size) if size < 1 << 40 else data.alloc(size, 0, 1))

    def test_random_fields(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        values = random.Random(seed)
        some = (0, 1, 2, 8, self.address, *HUGE)
        for _ in range(500):
            kind = values.randrange(1, data.COMMAND_KINDS + 1)
            fields = [values.choice(some) for _ in range(values.randrange(16))]
            channel = self.channel
            detail = values.randrange(data.OPS + 1) if kind == data.RUN else 0
            channel.send(data.frame(kind, data.numbers(*fields), detail=detail))
            channel.send(data.synchronize())
            channel.count += 2
            if self.ended(channel):
                self.channel = self.attach(shared_memory=True)

    def ended(self, channel):
        while True:
            each = channel.next()
            if each is None or each.kind == data.END:
                return True
            if each.kind == data.FINISHED and each.number >= channel.count:
                return False


class TruncatedTest(DataChannelTest):
    CONFIG = "limits { frame_timeout_ms: 200 }"

    def test_ends_at_every_byte(self):
        command = data.square_gemm(2, 1, 2, 3)
        for options in ({}, {"shared_memory": True}):
            for size in range(0, len(command), 1 if not options else 5):
                channel = self.attach(**options)
                channel.send(command[:size])
                channel.socket.close()

    def test_rest_that_never_comes(self):
        for channel in self.each_channel():
            for size in (1, 15, 16, 20):
                each = self.attach(shared_memory=True)
                each.send(data.alloc(64)[:size])
                self.assert_ends(each, 4, says="200 ms")
            channel.send(data.write(1, bytes(1 << 18))[: 1 << 17])
            self.assert_ends(channel, 4, says="200 ms")

    def test_rest_that_comes_byte_by_byte_is_late_too(self):
        for channel in self.each_channel():
            for byte in data.write(1, bytes(1 << 12)):
                channel.send(bytes([byte]))
                if not self.still_works(channel, 0.002):
                    break
            else:
                self.fail("It waits on.")

    def still_works(self, channel, seconds):
        """Takes frames for so long; whether none of them ends the channel."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(TimeoutError):
            while True:
                each = channel.next(max(0, deadline - time.monotonic()))
                if each is None or each.kind == data.END:
                    return False
        return True

    def test_frames_that_each_come_in_time(self):
        """A long upload always has a frame under way."""
        for channel in self.each_channel():
            command = data.write(channel.value(data.alloc(1 << 15)), bytes(1 << 15))
            half = len(command) // 2
            self.assertTrue(channel.send(command[:half]))
            # Longer than the time a frame has, over all of them.
            for _ in range(10):
                self.assertTrue(channel.send(command[half:] + command[:half]))
                self.assertTrue(self.still_works(channel, 0.05))
            self.assertTrue(channel.send(command[half:]))
            channel.count += 11
            channel.finish(channel.count)


# Not cases of their own.
del DataChannelTest

if __name__ == "__main__":
    unittest_main.main()
