"""Host memory and mappings that a client may not have, and answers that it never takes.

    data_sharing_test.py
"""

import mmap
import os
import unittest

import api
import data_channel as data
import unittest_main
from data_hostile import DataChannelTest

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 3, 8, 12
MIB = 1 << 20

HOST_MIB = 4

HUGE = (1 << 40, 1 << 63, (1 << 64) - 1)


def alloc_host(size_bytes):
    return data.frame(data.ALLOC_HOST, data.numbers(size_bytes))


def free_host(host):
    return data.frame(data.FREE_HOST, data.numbers(host))


def map_memory(address):
    return data.frame(data.MAP, data.numbers(address))


def export_handle(address):
    return data.frame(data.EXPORT_HANDLE, data.numbers(address))


class SharingTest(DataChannelTest):
    CONFIG = f"limits {{ max_host_memory_bytes: {HOST_MIB * MIB} }}"

    def setUp(self):
        super().setUp()
        self.channel = self.attach(shared_memory=True)

    def assert_fails(self, command, code, reason=None):
        (result,) = self.channel.do(command)
        status = data.status_of(result.payload)
        self.assertEqual(status[0], code, status)
        if reason is not None:
            self.assertEqual(status[1], reason, status)

    def test_host_memory_of_sizes_that_cannot_be(self):
        self.assert_fails(alloc_host(0), INVALID_ARGUMENT)
        for size in (HOST_MIB * MIB, *HUGE):
            self.assert_fails(alloc_host(size), RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        self.channel.alloc_host(MIB)

    def test_host_memory_up_to_the_limit(self):
        hosts = [self.channel.alloc_host(MIB)[0] for _ in range(HOST_MIB - 1)]
        for _ in range(3):
            self.assert_fails(alloc_host(MIB), RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        self.channel.do(free_host(hosts.pop()))
        # It goes when the daemon comes to it.
        self.channel.alloc_host(1)
        hosts.append(self.channel.alloc_host(MIB)[0])

    def test_many_pieces_of_host_memory(self):
        """Each has a descriptor, of which the daemon has just so many for all."""
        with self.assertRaises(AssertionError):
            for count in range(1000):
                self.channel.alloc_host(1)
        self.assertGreater(count, 60)
        self.assert_fails(alloc_host(1), RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        self.assertLess(self.daemon.descriptor_count(), self._descriptors + 400)

    def test_copies_from_host_memory_that_is_none(self):
        for host in (0, 2, *HUGE):
            channel = self.attach(shared_memory=True)
            channel.alloc_host(4096)
            address = channel.value(data.alloc(4096))
            channel.send(data.shared_copy(data.WRITE_SHARED, address, 8, host))
            self.assert_ends(channel, INVALID_ARGUMENT)

    def test_copies_beyond_host_memory(self):
        for offset, size in (
            (0, 4097),
            (1, 4096),
            (4096, 1),
            (4097, 0),
            (8, (1 << 64) - 8),
            (8, (1 << 64) - 7),
            ((1 << 64) - 8, 16),
            (1 << 63, 1 << 63),
        ):
            for kind in (data.WRITE_SHARED, data.READ_SHARED):
                channel = self.attach(shared_memory=True)
                host, _ = channel.alloc_host(4096)
                address = channel.value(data.alloc(8192))
                channel.send(data.shared_copy(kind, address, size, host, offset))
                self.assert_ends(channel, INVALID_ARGUMENT)

    def test_copies_beyond_device_memory(self):
        host, _ = self.channel.alloc_host(4096)
        address = self.channel.value(data.alloc(64))
        for target in (0, address - 1, address + 1, address + 64, *HUGE):
            for kind in (data.WRITE_SHARED, data.READ_SHARED):
                self.assert_fails(data.shared_copy(kind, target, 64, host), INVALID_ARGUMENT)

    def test_empty_copies(self):
        host, _ = self.channel.alloc_host(4096)
        for kind in (data.WRITE_SHARED, data.READ_SHARED):
            self.channel.do(data.shared_copy(kind, self.channel.value(data.alloc(8)), 0, host, 4096))
        self.assert_answers(self.channel)

    def test_host_memory_that_is_freed(self):
        for again in (lambda host: free_host(host), lambda host: free_host(0)):
            channel = self.attach(shared_memory=True)
            host, _ = channel.alloc_host(4096)
            channel.do(free_host(host))
            channel.send(again(host))
            self.assert_ends(channel, INVALID_ARGUMENT)
        host, memory = self.channel.alloc_host(MIB)
        address = self.channel.value(data.alloc(MIB))
        # Those before it still copy.
        memory[:] = b"\7" * MIB
        self.channel.do(data.shared_copy(data.WRITE_SHARED, address, MIB, host), free_host(host))
        self.assertEqual(self.channel.do(data.read(address, 4))[0].payload, b"\7" * 4)
        self.channel.send(data.shared_copy(data.WRITE_SHARED, address, 8, host))
        self.assert_ends(self.channel, INVALID_ARGUMENT)

    def test_memory_that_the_client_keeps(self):
        # Whoever keeps the file of what is freed, or of a session that is over, has none of its memory.
        channel = self.attach(shared_memory=True)
        _, kept = channel.alloc_host(4096)
        freed, memory = channel.alloc_host(4096)
        for each in (kept, memory):
            each[:] = b"x" * 4096
        channel.do(free_host(freed))
        self.assertTrue(api.wait_until(lambda: memory[:] == bytes(4096)))
        self.assertEqual(kept[:4], b"xxxx")
        channel.close()
        self.assertTrue(api.wait_until(lambda: kept[:] == bytes(4096)))

    def test_maps_of_what_cannot_be_mapped(self):
        for address in (
            0,
            1 << 63,
            self.channel.value(data.alloc(64)),
            self._innocent_data + (1 << 20),
            (1 << 64) - 1,
        ):
            (result,) = self.channel.do(map_memory(address))
            self.assertNotEqual(data.status_of(result.payload)[0], 0)
        address = self.channel.value(data.alloc(64, mappable=1))
        self.channel.do(data.free(address))
        self.assert_fails(map_memory(address), INVALID_ARGUMENT)

    def test_exports_of_what_cannot_be_exported(self):
        for options in ({}, {"shared_memory": True}):
            channel = self.attach(**options)
            # The device has no such memory, whatever is named.
            addresses = [0, 1 << 63, self._innocent_data + (1 << 20), (1 << 64) - 1, channel.value(data.alloc(64))]
            for command in (*map(export_handle, addresses), data.alloc(64, openable=1)):
                (result,) = channel.do(command)
                self.assertEqual(data.status_of(result.payload)[0], UNIMPLEMENTED)

    def test_export_over_tcp(self):
        session = self.attacker(self.daemon.tcp_endpoint).open()
        channel = self.attach(session, over_tcp=True)
        channel.send(export_handle(0))
        self.assert_ends(channel, INVALID_ARGUMENT)

    def test_map_of_memory_that_is_freed_under_it(self):
        address = self.channel.value(data.alloc(4096, mappable=1))
        self.channel.value(map_memory(address))
        descriptor = self.channel.next_descriptor()
        memory = mmap.mmap(descriptor, 4096)
        os.close(descriptor)
        memory[:4] = b"mine"
        self.assertEqual(self.channel.do(data.read(address, 4))[0].payload, b"mine")
        self.channel.do(data.free(address))
        memory[:] = b"x" * 4096
        self.assert_answers(self.channel)

    def test_many_mappable_allocations(self):
        with self.assertRaises(AssertionError):
            for _ in range(1000):
                self.channel.value(data.alloc(64, mappable=1))
        self.assertLess(self.daemon.descriptor_count(), self._descriptors + 400)

    def test_descriptors_that_are_never_received(self):
        """They wait in the socket, which takes just so many."""
        address = self.channel.value(data.alloc(64, mappable=1))
        self.channel.send(map_memory(address) * 2000)
        self.channel.take_kicks = lambda: True
        self.channel.count += 2000
        while True:
            try:
                self.channel.finish(self.channel.count, 2)
                break
            except AssertionError:
                break
        self.assert_innocent_works()


class UntakenAnswersTest(DataChannelTest):
    """A client that sends and takes no answers: what waits for it is bounded, and comes when it does take."""

    CONFIG = "limits { max_in_flight_bytes: 33554432 }"
    MAX_GROWTH_BYTES = 128 << 20

    def flood(self, channel, command):
        """Sends it as often as the daemon takes it, in blocks of 100; returns how many blocks."""
        channel.socket.settimeout(0.3)
        for blocks in range(1, 10_000):
            if not self.send_all(channel, command * 100):
                self.assert_innocent_works()
                self.assert_bounded()
                return blocks
        self.fail("It takes everything.")

    def send_all(self, channel, block):
        """Sends it; what the daemon does not take now is kept for later."""
        if isinstance(channel, data.RingChannel):
            start = channel.written
            taken = channel.send(block, 0.3)
            self.rest = block[channel.written - start :]
            return taken
        view = memoryview(block)
        try:
            while view:
                view = view[channel.socket.send(view) :]
        except TimeoutError:
            pass
        self.rest = bytes(view)
        return not self.rest

    def take_all(self, channel, count):
        """Takes answers, and sends what is left as the daemon takes it."""
        results = 0
        channel.socket.settimeout(data.ANSWER_S)
        while True:
            each = channel.next()
            self.assertIsNotNone(each)
            if each.kind == data.FINISHED:
                if each.number >= count:
                    return results
            else:
                self.assertIn(each.kind, (data.RESULT, data.DATA))
                results += 1
            if self.rest:
                self.send_some(channel)

    def send_some(self, channel):
        if isinstance(channel, data.RingChannel):
            count = channel.write_some(self.rest)
        else:
            try:
                channel.socket.setblocking(False)
                count = channel.socket.send(self.rest)
            except BlockingIOError:
                count = 0
            channel.socket.settimeout(data.ANSWER_S)
        self.rest = self.rest[count:]

    def check(self, make_command):
        for channel in self.each_channel():
            done = channel.count + 1
            blocks = self.flood(channel, make_command(channel.value(data.alloc(4096))))
            self.assertEqual(self.take_all(channel, done + 100 * blocks), 100 * blocks)
            channel.count = done + 100 * blocks
            self.assert_answers(channel)

    def test_reads(self):
        self.check(lambda address: data.read(address, 1024))

    def test_large_reads(self):
        for channel in self.each_channel():
            address = channel.value(data.alloc(1 << 20))
            self.flood(channel, data.read(address, 1 << 20))
            for _ in range(20):
                self.assertIn(channel.next().kind, (data.DATA, data.FINISHED))

    def test_failures(self):
        self.check(lambda address: data.free(address + 1))

    def test_synchronizations(self):
        self.check(lambda address: data.synchronize())


# Not cases of their own.
del DataChannelTest

if __name__ == "__main__":
    unittest_main.main()
