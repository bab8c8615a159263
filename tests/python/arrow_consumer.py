"""Reads a table through Arrow's C data interface with nothing but ctypes: a consumer that knows
the specification and nothing of retrysim.

SPDX-License-Identifier: MIT
"""

import ctypes
import struct

POINTER = ctypes.POINTER


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", POINTER(POINTER(Schema))), ("dictionary", POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Schema))), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", POINTER(ctypes.c_void_p)), ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, POINTER(Array))),
    ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, POINTER(Stream), POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, POINTER(Stream), POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, POINTER(Stream))), ("private_data", ctypes.c_void_p)]

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

KINDS = {b"g": ("d", 8), b"l": ("q", 8), b"i": ("i", 4)}


def metadata_of(address):
    """The pairs of a schema's metadata."""
    pairs, at = {}, address

    def take():
        nonlocal at
        (length,) = struct.unpack("i", ctypes.string_at(at, 4))
        text = ctypes.string_at(at + 4, length).decode()
        at += 4 + length
        return text

    if not address:
        return {}
    (count,) = struct.unpack("i", ctypes.string_at(at, 4))
    at += 4
    for _ in range(count):
        key = take()
        pairs[key] = take()
    return pairs


def bit(bits, row):
    return bool(bits[row // 8] >> row % 8 & 1)


def bits_of(address, rows):
    return ctypes.string_at(address, (rows + 7) // 8) if address and rows else b"\xff" * (rows + 1)


def texts_of(array):
    """The strings of a dictionary."""
    offsets = struct.unpack(f"{array.length + 1}i",
                            ctypes.string_at(array.buffers[1], 4 * (array.length + 1)))
    data = ctypes.string_at(array.buffers[2], offsets[-1]) if offsets[-1] else b""
    return [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]


def values_of(schema, array):
    rows = array.length
    present = bits_of(array.buffers[0], rows)
    if schema.format == b"b":
        truths = bits_of(array.buffers[1], rows)
        values = [bit(truths, row) for row in range(rows)]
    else:
        letter, size = KINDS[schema.format]
        data = ctypes.string_at(array.buffers[1], size * rows) if rows else b""
        values = list(struct.unpack(f"{rows}{letter}", data))
    missing = [not bit(present, row) for row in range(rows)]
    assert sum(missing) == array.null_count, (schema.name, sum(missing), array.null_count)
    if schema.dictionary:
        texts = texts_of(array.dictionary[0])
        values = [None if gone else texts[value] for value, gone in zip(values, missing)]
    return [None if gone else value for value, gone in zip(values, missing)]


def read(table):
    """({column: (unit, values)}, how many rows) of anything with __arrow_c_stream__."""
    capsule = table.__arrow_c_stream__()
    stream = Stream.from_address(get_pointer(capsule, b"arrow_array_stream"))
    schema, array, end = Schema(), Array(), Array()
    assert stream.get_schema(stream, schema) == 0
    assert schema.format == b"+s"
    assert stream.get_next(stream, array) == 0 and array.release
    assert stream.get_next(stream, end) == 0 and not end.release
    stream.release(stream)
    columns = {}
    for i in range(schema.n_children):
        child = schema.children[i][0]
        columns[child.name.decode()] = (metadata_of(child.metadata).get("unit", ""),
                                        values_of(child, array.children[i][0]))
    rows = array.length
    schema.release(schema)
    assert not schema.release
    array.release(array)
    return columns, rows


def schema_names(table):
    capsule = table.__arrow_c_schema__()  # owns the schema
    schema = Schema.from_address(get_pointer(capsule, b"arrow_schema"))
    return [schema.children[i][0].name.decode() for i in range(schema.n_children)]
