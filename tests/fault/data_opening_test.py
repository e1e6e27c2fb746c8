"""Openable memory of a card that is not there, with clients that take no descriptors, or too many.

    data_opening_test.py
"""

import os
import resource

import data_channel as data
import unittest_main
from data_hostile import DataChannelTest

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 3, 8, 13
GRANULE = 64 << 10

FAKE_CARD = os.path.abspath("tests/testing/plugins/fake_card")


def export_handle(address):
    return data.frame(data.EXPORT_HANDLE, data.numbers(address))


class OpeningTest(DataChannelTest):
    CONFIG = f'plugin_folder: "{FAKE_CARD}" allow_direct_opening: true'

    def channels(self):
        """Frames on a socket, and in rings."""
        for options in ({}, {"shared_memory": True}):
            yield self.attach(**options)

    def test_what_is_exported_ends_with_free(self):
        for channel in self.channels():
            address = channel.value(data.alloc(64, openable=1))
            results = channel.do(
                export_handle(address), data.free(address), export_handle(address), data.no_op()
            )
            self.assertEqual(data.status_of(results[0].payload)[0], 0)
            self.assertEqual(data.status_of(results[2].payload)[0], INVALID_ARGUMENT)
            self.assert_answers(channel)

    def test_descriptors_that_are_never_received(self):
        """They wait in the socket, which takes just so many, or make the daemon wait, with one."""
        for channel in self.channels():
            address = channel.value(data.alloc(64, openable=1))
            before = self.daemon.descriptor_count()
            channel.send(export_handle(address) * 3000)
            self.assert_innocent_works()
            self.assertLessEqual(self.daemon.descriptor_count(), before + 1)
            channel.close()

    def test_a_client_that_reads_late_gets_them_all(self):
        channel = self.attach()
        address = channel.value(data.alloc(64, openable=1))
        channel.send(export_handle(address) * 1000)
        self.assert_innocent_works()
        channel.count += 1000
        results = channel.finish(channel.count)
        codes = [data.status_of(frame.payload)[0] for frame in results.values()]
        self.assertEqual(codes, [0] * 1000)

    def test_without_descriptors(self):
        """Those who ask are told, and the next one gets what it asks for."""
        with open(f"/proc/{self.daemon.pid}/maps", encoding="utf-8") as maps:
            if "libubsan" in maps.read():
                self.skipTest("UndefinedBehaviorSanitizer needs descriptors for its own checks.")
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        self.addCleanup(resource.prlimit, self.daemon.pid, resource.RLIMIT_NOFILE, before)
        for channel in self.channels():
            address = channel.value(data.alloc(64, openable=1))
            # Every number below is in use, or soon will be.
            resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
            for command in (export_handle(address), data.alloc(64, openable=1)):
                (result,) = channel.do(command)
                self.assertIn(
                    data.status_of(result.payload)[0], (RESOURCE_EXHAUSTED, INTERNAL), result
                )
            resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, before)
            channel.value(export_handle(address))

    def test_memory_counts_in_granules(self):
        for channel in self.channels():
            _, before = self.innocent_client.usage()
            address = channel.value(data.alloc(1, openable=1))
            self.assertEqual(self.innocent_client.usage()[1], before + GRANULE)
            channel.do(data.free(address))
            self.assertEqual(self.innocent_client.usage()[1], before)

    def test_garbage_addresses(self):
        for channel in self.channels():
            address = channel.value(data.alloc(GRANULE, openable=1))
            for wrong in (0, address + 1, address + 256, address + GRANULE, (1 << 64) - 1):
                (result,) = channel.do(export_handle(wrong))
                self.assertEqual(data.status_of(result.payload)[0], INVALID_ARGUMENT)

    def test_frames_of_a_wrong_length(self):
        for payload in (b"", bytes(7), bytes(9), bytes(16)):
            for channel in self.channels():
                channel.send(data.frame(data.EXPORT_HANDLE, payload))
                self.assert_ends(channel, INVALID_ARGUMENT)


# Not cases of their own.
del DataChannelTest

if __name__ == "__main__":
    unittest_main.main()
