"""Protobuf's and HTTP/2's encodings by hand, so that a test can get them wrong.

Sources: protobuf.dev/programming-guides/encoding, RFC 9113 (HTTP/2), RFC 7541 (HPACK).
"""

import struct

# ---- Protobuf ----

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)


def varint(value):
    """`value` modulo 2^64."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number, wire_type):
    return varint(number << 3 | wire_type)


def integer(number, value):
    return tag(number, VARINT) + varint(value)


def fixed64(number, value):
    return tag(number, FIXED64) + struct.pack("<Q", value)


def message(number, *parts):
    """A field that holds bytes, a string, a message or packed numbers."""
    content = b"".join(parts)
    return tag(number, BYTES) + varint(len(content)) + content


# ---- HTTP/2 ----

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM, END_HEADERS = 1, 4


def frame(kind, payload=b"", flags=0, stream=0, length=None):
    """A frame; `length` is what its header claims, where that is not the truth."""
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name, value):
    """A header field as a literal without indexing."""
    return b"\x00" + b"".join(_hpack_string(text) for text in (name, value))


def _hpack_string(text):
    size = len(text)
    if size < 127:
        return bytes([size]) + text
    prefix, size = b"\x7f", size - 127
    while size > 127:
        prefix += bytes([size & 127 | 128])
        size >>= 7
    return prefix + bytes([size]) + text


def call_headers(method):
    """The header block of a call of acceld.v1.`method`."""
    return b"".join(
        header(name, value)
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", b"/acceld.v1." + method),
            (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )


def grpc_message(payload, length=None):
    """A gRPC message; `length` is what it claims."""
    size = len(payload) if length is None else length
    return b"\x00" + struct.pack(">I", size) + payload
