"""A client that does what it likes with the memory it shares with the daemon.

    data_ring_test.py
"""

import ctypes
import fcntl
import os
import random
import socket
import threading
import time
import unittest

import data_channel as data
import unittest_main
from data_hostile import DataChannelTest

INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 3, 8

_LIBC = ctypes.CDLL(None, use_errno=True)
_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2


def punch_hole(descriptor, offset, size_bytes):
    mode = _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE
    result = _LIBC.fallocate(
        descriptor, mode, ctypes.c_long(offset), ctypes.c_long(size_bytes)
    )
    assert result == 0, os.strerror(ctypes.get_errno())


class PositionTest(DataChannelTest):
    def positions(self, channel):
        """How far from where it belongs a position is put."""
        ring = channel.ring_bytes
        return (ring + 1, 2 * ring, -1 - ring, -3 * ring, 1 << 32, 1 << 63, 1 << 40)

    def start_work(self, channel):
        """Lets the daemon compute, for longer than the test takes."""
        n = 1000
        a, b, c = (channel.value(data.alloc(8 * n * n)) for _ in range(3))
        channel.send(data.square_gemm(n, a, b, c) * 200)

    def test_written(self):
        for i in range(7):
            channel = self.attach(shared_memory=True)
            self.assert_answers(channel)
            channel.put(data.WRITTEN, channel.written + self.positions(channel)[i])
            channel.kick()
            self.assert_ends(channel, INVALID_ARGUMENT, says="ring")

    def test_read(self):
        for i in range(7):
            channel = self.attach(shared_memory=True)
            self.assert_answers(channel)
            position = self.positions(channel)[i]
            channel.put(channel.second + data.READ_POSITION, channel.read + position)
            channel.send(data.synchronize())
            channel.kick()
            self.assert_closes(channel)

    def test_while_work_runs(self):
        for ring in (0, 1):
            channel = self.attach(shared_memory=True)
            self.start_work(channel)
            if ring == 0:
                channel.put(data.WRITTEN, channel.written + 2 * channel.ring_bytes)
            else:
                channel.put(channel.second + data.READ_POSITION, 1 << 40)
                channel.send(data.no_op() + data.free(1))
            channel.kick()
            self.assert_closes(channel)

    def test_both_at_random(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        values = random.Random(seed)
        for _ in range(30):
            channel = self.attach(shared_memory=True)
            channel.send(data.no_op() * 100)
            for _ in range(10):
                offset = values.choice(
                    (0, 64, 128, 192, *(channel.second + each for each in (0, 64, 128, 192)))
                )
                channel.put(offset, values.getrandbits(64) >> values.randrange(64))
                channel.kick()
            channel.close()

    def test_flags_that_are_always_set(self):
        channel = self.attach(shared_memory=True)
        ended = threading.Event()

        def set_them():
            while not ended.is_set():
                channel.put(channel.second + data.READER_SLEEPS, (1 << 64) - 1)
                channel.put(data.WRITER_SLEEPS, (1 << 64) - 1)

        thread = threading.Thread(target=set_them)
        thread.start()
        for _ in range(200):
            channel.do(*[data.no_op()] * 20)
        self.assert_innocent_works()
        ended.set()
        thread.join()


class ContentTest(DataChannelTest):
    def test_bytes_that_change_while_they_are_read(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        for _ in range(10):
            channel = self.attach(shared_memory=True)
            address = channel.value(data.alloc(4096))
            ended = threading.Event()

            def flip(channel=channel, ended=ended):
                values = random.Random(seed)
                while not ended.is_set():
                    offset = data.RING_HEADER_BYTES + values.randrange(channel.ring_bytes)
                    channel.memory[offset] = values.randrange(256)

            thread = threading.Thread(target=flip)
            thread.start()
            for i in range(50):
                size = 8 * (i % 60)
                channel.send(data.read(address, 8) + data.write(address, bytes(size)), 0.1)
            self.assert_innocent_works()
            ended.set()
            thread.join()
            channel.close()

    def test_holes_in_the_rings(self):
        for _ in range(5):
            channel = self.attach(shared_memory=True)
            self.assert_answers(channel)
            channel.send(data.no_op() * 500)
            punch_hole(channel.descriptor, 0, 2 * channel.second)
            channel.kick()
            self.assert_closes(channel)

    def test_holes_in_host_memory(self):
        channel = self.attach(shared_memory=True)
        size = 1 << 20
        address = channel.value(data.alloc(size))
        host = channel.value(data.frame(data.ALLOC_HOST, data.numbers(size)))
        descriptor = channel.next_descriptor()
        self.addCleanup(os.close, descriptor)
        for _ in range(20):
            channel.send(
                data.shared_copy(data.WRITE_SHARED, address, size, host)
                + data.shared_copy(data.READ_SHARED, address, size, host)
            )
            channel.count += 2
            punch_hole(descriptor, 0, size)
        channel.finish(channel.count)
        self.assert_answers(channel)

    def test_files_stay_as_they_are(self):
        channel = self.attach(shared_memory=True)
        channel.value(data.frame(data.ALLOC_HOST, data.numbers(4096)))
        host = channel.next_descriptor()
        self.addCleanup(os.close, host)
        address = channel.value(data.alloc(4096, mappable=1))
        channel.value(data.frame(data.MAP, data.numbers(address)))
        mapped = channel.next_descriptor()
        self.addCleanup(os.close, mapped)
        for descriptor in (channel.descriptor, host, mapped):
            size = os.fstat(descriptor).st_size
            for wrong in (0, size - 1, size + 1):
                with self.assertRaises(PermissionError):
                    os.ftruncate(descriptor, wrong)
            with self.assertRaises(PermissionError):
                fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        self.assert_answers(channel)


class SocketTest(DataChannelTest):
    """The socket beside the rings, which only wakes."""

    def test_flood_of_kicks(self):
        channel = self.attach(shared_memory=True)
        end = time.monotonic() + 1

        def flood():
            while time.monotonic() < end:
                channel.socket.sendall(bytes(1 << 16))

        thread = threading.Thread(target=flood)
        thread.start()
        while time.monotonic() < end:
            self.assert_innocent_works()
        thread.join()
        self.assert_answers(channel)

    def test_descriptors_that_nobody_asked_for(self):
        with open(os.devnull, "rb") as file:
            for channel in self.each_channel():
                if channel.socket.family != socket.AF_UNIX:
                    continue
                byte = b"\1" if isinstance(channel, data.RingChannel) else data.no_op()
                for _ in range(200):
                    socket.send_fds(channel.socket, [byte], [file.fileno()] * 100)
                self.assert_answers(channel) if byte == b"\1" else channel.finish(200)
                self.assertLess(self.daemon.descriptor_count(), self._descriptors + 20)

    def test_descriptors_with_the_hello(self):
        session = self.open()
        connection = data.connect(self.daemon)
        self.addCleanup(connection.close)
        with open(os.devnull, "rb") as file:
            hello = data.hello(session.info.secret)
            connection.sendall(hello[:8])
            for byte in hello[8:]:
                socket.send_fds(connection, [bytes([byte])], [file.fileno()] * 100)
        channel = data.FrameChannel(connection)
        self.assertEqual(channel.next().kind, data.WELCOME)
        self.assert_answers(channel)
        self.assertLess(self.daemon.descriptor_count(), self._descriptors + 20)


# Not cases of their own.
del DataChannelTest

if __name__ == "__main__":
    unittest_main.main()
