"""A client of the data channel for hostile tests, written from proto/frames/frame.h alone.

    channel = data_channel.attach(daemon, session.info.secret, shared_memory=True)
    channel.send(alloc(64))
    channel.finish(1)[1].payload  # the result
"""

import collections
import mmap
import select
import socket
import struct
import time

# How soon the daemon answers, or ends what it has to.
ANSWER_S = 5

MAGIC, VERSION = b"ACCELDDC", 2

# The places of the commands, and the kinds of frames.
RUN, WRITE, READ, ALLOC, FREE = 1, 2, 3, 4, 5
SYNCHRONIZE, NO_OP, COMMAND_KINDS = 16, 17, 20
WRITE_SHARED, READ_SHARED, ALLOC_HOST, FREE_HOST, MAP, EXPORT_HANDLE = range(64, 70)
FINISHED, RESULT, DATA, WELCOME, END = range(128, 133)

# The places of ops.
GEMM, REDUCE, UNARY, GATHER = 1, 8, 10, 12
OPS = 15

# Where a ring's fields lie.
WRITTEN, READ_POSITION, READER_SLEEPS, WRITER_SLEEPS, RING_HEADER_BYTES = 0, 64, 128, 192, 256

HEADER = struct.Struct("<IHHQ")
Frame = collections.namedtuple("Frame", "kind detail number payload")


# ---- What a client sends ----


def numbers(*values):
    """Each in 8 bytes; negative ones in two's complement, floats as doubles."""
    return b"".join(
        struct.pack("<d", value) if isinstance(value, float) else struct.pack("<Q", value % (1 << 64))
        for value in values
    )


def frame(kind, payload=b"", detail=0, number=0, length=None):
    return HEADER.pack(len(payload) if length is None else length, kind, detail, number) + payload


def alloc(size_bytes, address=0, mappable=0, openable=0):
    return frame(ALLOC, numbers(address, size_bytes, mappable, openable))


def free(address):
    return frame(FREE, numbers(address))


def write(target, data, stream=0):
    return frame(WRITE, numbers(target) + data, number=stream)


def read(source, size_bytes, keep_error=0):
    return frame(READ, numbers(source, size_bytes, keep_error))


def synchronize():
    return frame(SYNCHRONIZE)


def no_op():
    return frame(NO_OP)


def square_gemm(n, a, b, c):
    """C = A B of [n, n] f64 matrices."""
    return frame(RUN, numbers(2, 1, 1, n, n, n, 1.0, a, n, b, n, 0.0, c, n), detail=GEMM)


def shared_copy(kind, address, size_bytes, host, offset=0, keep_error=0):
    return frame(kind, numbers(address, size_bytes, host, offset, keep_error))


# ---- Connections ----


def wait_for(connection, timeout_s):
    """Whether there is something to receive in time."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(1000 * timeout_s))


def hello(secret, shared_memory=0, version=VERSION, magic=MAGIC):
    return magic + struct.pack("<II", version, shared_memory) + secret


def connect(daemon, over_tcp=False):
    if over_tcp:
        host, port = daemon.tcp_endpoint.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=ANSWER_S)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ANSWER_S)
    connection.connect(daemon.socket_path)
    return connection


def attach(daemon, secret, shared_memory=False, over_tcp=False):
    connection = connect(daemon, over_tcp)
    connection.sendall(hello(secret, int(shared_memory)))
    channel = FrameChannel(connection)
    if not shared_memory:
        channel.welcome = channel.next()
        return channel
    data, descriptors, _, _ = socket.recv_fds(connection, 4096, 4)
    length, kind, _, _ = HEADER.unpack(data[: HEADER.size])
    assert kind == WELCOME and len(data) == HEADER.size + length and len(descriptors) == 1, data
    ring_bytes = struct.unpack_from("<Q", data, HEADER.size)[0]
    return RingChannel(connection, descriptors[0], ring_bytes)


def status_of(payload):
    """(code, reason, message) of a status in a frame."""
    (code,) = struct.unpack_from("<Q", payload)
    if code == 0:
        return 0, "", ""
    texts = []
    offset = 8
    for _ in range(2):
        (size,) = struct.unpack_from("<Q", payload, offset)
        texts.append(payload[offset + 8 : offset + 8 + size].decode())
        offset += 8 + (size + 7) // 8 * 8
    return code, *texts


class FrameChannel:
    """Frames on a socket."""

    def __init__(self, connection):
        self.socket = connection
        self.buffer = b""
        # Commands sent by `do`.
        self.count = 0

    def close(self):
        self.socket.close()

    def send(self, data, timeout_s=1):
        """Sends as much as the daemon takes; whether that was all."""
        try:
            self.socket.settimeout(timeout_s)
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def receive_some(self, timeout_s):
        """Bytes that have come; empty where the daemon has closed, None where nothing comes in time."""
        if not wait_for(self.socket, timeout_s):
            return None
        try:
            return self.socket.recv(1 << 20)
        except ConnectionError:
            return b""

    def next(self, timeout_s=ANSWER_S):
        """The next frame; None where the daemon has closed."""
        deadline = time.monotonic() + timeout_s
        while True:
            if len(self.buffer) >= HEADER.size:
                length, kind, detail, number = HEADER.unpack(self.buffer[: HEADER.size])
                if len(self.buffer) >= HEADER.size + length:
                    payload = self.buffer[HEADER.size : HEADER.size + length]
                    self.buffer = self.buffer[HEADER.size + length :]
                    return Frame(kind, detail, number, payload)
            data = self.receive_some(max(0, deadline - time.monotonic()))
            if data is None:
                raise TimeoutError("The daemon neither answers nor closes.")
            if not data:
                return None
            self.buffer += data

    def finish(self, number, timeout_s=ANSWER_S):
        """Takes frames until all commands up to `number` have finished; returns the others by number."""
        frames = {}
        while True:
            each = self.next(timeout_s)
            assert each is not None and each.kind != END, each
            if each.kind == FINISHED and each.number >= number:
                return frames
            if each.kind != FINISHED:
                frames[each.number] = each

    def do(self, *commands):
        """Runs commands; returns what frame each has sent back, or None."""
        first = self.count + 1
        self.count += len(commands)
        assert self.send(b"".join(commands))
        frames = self.finish(self.count)
        return [frames.get(number) for number in range(first, self.count + 1)]

    def value(self, command):
        """Runs a command; returns the number that is its result."""
        (result,) = self.do(command)
        code, value = struct.unpack("<QQ", result.payload[:16])
        assert code == 0, status_of(result.payload)
        return value

    def end(self, timeout_s=ANSWER_S):
        """Takes frames until the daemon ends the channel; its reason (code, reason, message), or None where
        it closes without one."""
        deadline = time.monotonic() + timeout_s
        while True:
            each = self.next(max(0, deadline - time.monotonic()))
            if each is None:
                return None
            if each.kind == END:
                return status_of(each.payload)


class RingChannel(FrameChannel):
    """Frames in rings: this side writes the first and reads the second."""

    def __init__(self, connection, descriptor, ring_bytes):
        super().__init__(connection)
        self.descriptor = descriptor
        # Received, and not yet asked for.
        self.descriptors = []
        self.ring_bytes = ring_bytes
        self.second = RING_HEADER_BYTES + ring_bytes
        self.memory = mmap.mmap(descriptor, 2 * self.second)
        # Written at once; struct would write byte by byte, and the daemon may look in between.
        self.words = memoryview(self.memory).cast("Q")
        self.written = 0
        self.read = 0

    def close(self):
        super().close()
        self.words.release()
        self.memory.close()
        if self.descriptor >= 0:
            socket.close(self.descriptor)
        self.descriptor = -1

    def get(self, offset):
        return self.words[offset // 8]

    def put(self, offset, value):
        self.words[offset // 8] = value % (1 << 64)

    def kick(self):
        try:
            self.socket.send(b"\1", socket.MSG_DONTWAIT)
        except OSError:
            pass

    def write_some(self, data):
        """Puts as much of `data` into the ring as there is room for; returns how much."""
        room = self.ring_bytes - (self.written - self.get(READ_POSITION))
        count = max(0, min(room, len(data)))
        position = self.written % self.ring_bytes
        first = min(count, self.ring_bytes - position)
        start = RING_HEADER_BYTES + position
        self.memory[start : start + first] = data[:first]
        self.memory[RING_HEADER_BYTES : RING_HEADER_BYTES + count - first] = data[first:count]
        self.written += count
        self.put(WRITTEN, self.written)
        if count > 0 and self.memory[READER_SLEEPS] != 0:
            self.memory[READER_SLEEPS] = 0
            self.kick()
        return count

    def send(self, data, timeout_s=1):
        deadline = time.monotonic() + timeout_s
        while data:
            count = self.write_some(data)
            data = data[count:]
            if count == 0:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.0005)
        return True

    def take(self):
        """Bytes that are in the ring."""
        count = min(self.get(self.second + WRITTEN) - self.read, self.ring_bytes)
        if count <= 0:
            return b""
        position = self.read % self.ring_bytes
        first = min(count, self.ring_bytes - position)
        start = self.second + RING_HEADER_BYTES
        data = self.memory[start + position : start + position + first]
        data += self.memory[start : start + count - first]
        self.read += count
        self.put(self.second + READ_POSITION, self.read)
        if self.memory[self.second + WRITER_SLEEPS] != 0:
            self.memory[self.second + WRITER_SLEEPS] = 0
            self.kick()
        return data

    def receive_some(self, timeout_s):
        deadline = time.monotonic() + timeout_s
        closed = False
        while True:
            data = self.take()
            if data or closed:
                return data
            self.memory[self.second + READER_SLEEPS] = 1
            data = self.take()
            if data:
                return data
            left = deadline - time.monotonic()
            if left < 0:
                return None
            # Never for long: this side's accesses to the memory are not ordered.
            if wait_for(self.socket, min(left, 0.05)):
                closed = not self.take_kicks()

    def take_kicks(self):
        """Takes what woke this side; false where the daemon has closed."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 4, socket.MSG_DONTWAIT)
            self.descriptors += descriptors
            return data != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def next_descriptor(self):
        """A descriptor that the daemon has sent, which it does before its result."""
        while not self.descriptors:
            assert self.take_kicks()
        return self.descriptors.pop(0)

    def alloc_host(self, size_bytes):
        """Host memory: its number, and a mapping of it."""
        host = self.value(frame(ALLOC_HOST, numbers(size_bytes)))
        descriptor = self.next_descriptor()
        memory = mmap.mmap(descriptor, size_bytes)
        socket.close(descriptor)
        return host, memory
