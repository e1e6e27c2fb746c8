"""What every test of a hostile data channel does around it, besides what hostile.py does.

An innocent client of shared memory goes on beside the attacker, and no mapping of the daemon's stays.
"""

import time

import api
import data_channel
from hostile import INNOCENT_S, HostileTest


class DataChannelTest(HostileTest):
    @classmethod
    def setUpClass(cls):
        cls._innocent_channel = None
        super().setUpClass()
        session = cls.innocent_client.open(client_name="innocent with a data channel")
        channel = data_channel.attach(cls.daemon, session.info.secret, shared_memory=True)
        cls.addClassCleanup(channel.close)
        cls._innocent_data = channel.value(data_channel.alloc(4096))
        cls._innocent_channel = channel
        cls._usage = cls.innocent_client.usage()
        cls._descriptors = cls.daemon.descriptor_count()
        cls._threads = cls.daemon.thread_count()
        cls._maps = cls.mapping_count()

    @classmethod
    def mapping_count(cls):
        """How much memory the daemon shares with anybody, in mappings."""
        with open(f"/proc/{cls.daemon.pid}/maps", encoding="utf-8") as file:
            return sum("memfd:acceld" in line for line in file)

    def assert_innocent_works(self):
        super().assert_innocent_works()
        if self._innocent_channel is None:
            return
        start = time.monotonic()
        results = self._innocent_channel.do(
            data_channel.write(self._innocent_data, b"data" * 1024),
            data_channel.read(self._innocent_data, 4096),
            data_channel.synchronize(),
        )
        self.assertEqual(results[1].payload, b"data" * 1024)
        self.assertLess(time.monotonic() - start, INNOCENT_S)

    def assert_unharmed(self):
        super().assert_unharmed()
        self.assertTrue(
            api.wait_until(lambda: self.mapping_count() <= self._maps),
            f"{self.mapping_count()} mappings, {self._maps} before",
        )

    # ---- Attackers ----

    def open(self):
        """An attacker's session."""
        return self.attacker().open(client_name="attacker")

    def attach(self, session=None, **options):
        session = session or self.open()
        channel = data_channel.attach(self.daemon, session.info.secret, **options)
        self.addCleanup(channel.close)
        return channel

    def each_channel(self):
        """A channel of each kind, each of a session of its own."""
        for options in ({}, {"over_tcp": True}, {"shared_memory": True}):
            endpoint = self.daemon.tcp_endpoint if "over_tcp" in options else None
            yield self.attach(self.attacker(endpoint).open(), **options)

    def assert_ends(self, channel, *codes, reason=None, says=None):
        """The daemon ends the channel with an error, and says which."""
        why = channel.end()
        self.assertIsNotNone(why, "It is closed without a word.")
        self.assertNotEqual(why[0], 0)
        if codes:
            self.assertIn(why[0], codes, why)
        if reason is not None:
            self.assertEqual(why[1], reason, why)
        if says is not None:
            self.assertIn(says, why[2])

    def assert_closes(self, channel):
        """The daemon ends the channel, whether or not it can say why."""
        channel.end()

    def assert_answers(self, channel):
        """The channel still works."""
        channel.do(data_channel.synchronize())
