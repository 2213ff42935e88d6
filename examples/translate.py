#!/usr/bin/env python3
"""Translates standard input with a model that `ferry train` made; nothing is to be built:
    python3 translate.py runs/toy <input.txt
FERRY_LIBRARY may name another libferry.so.0 than the system's."""
import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int64, c_size_t, c_void_p

CANCEL = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t)


class Struct(ctypes.Structure):
    """A struct of ferry.h: its first field is its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class Error(Struct):
    _fields_ = [("size", c_size_t), ("code", c_int), ("line", c_int64), ("text", c_char * 2048)]


class Call(Struct):
    _fields_ = [("size", c_size_t), ("settings", POINTER(c_char_p)), ("n_best", c_size_t), ("distinct_tokens", c_int),
                ("tokenized", c_int), ("token_scores", c_int), ("alignments", c_int), ("prefixes", POINTER(c_char_p)),
                ("prefix_lengths", POINTER(c_size_t)), ("name", c_char_p), ("other_name", c_char_p), ("first_line", c_int64), ("progress", CANCEL),
                ("progress_context", c_void_p)]


ferry = ctypes.CDLL(os.environ.get("FERRY_LIBRARY", "libferry.so.0"))
ferry.ferry_open.restype = ferry.ferry_translate.restype = c_void_p
ferry.ferry_open.argtypes = [POINTER(c_char_p), c_size_t, c_void_p, POINTER(Error)]
ferry.ferry_translate.argtypes = [c_void_p, POINTER(c_char_p), POINTER(c_size_t), c_size_t, POINTER(Call), POINTER(Error)]
ferry.ferry_text.restype = c_char_p
ferry.ferry_text.argtypes = [c_void_p, c_size_t]
ferry.ferry_free.argtypes = ferry.ferry_close.argtypes = [c_void_p]


class Model:
    def __init__(self, *names):
        error = Error()
        self.model = ferry.ferry_open((c_char_p * len(names))(*map(os.fsencode, names)), len(names), None, byref(error))
        if not self.model:
            raise ValueError(error.text.decode())

    def translate(self, lines, *settings):
        """Lines, and settings such as "beam=5", to lines."""
        texts, error = [line.encode() for line in lines], Error()
        call = Call(settings=(c_char_p * (len(settings) + 1))(*(s.encode() for s in settings), None))
        result = ferry.ferry_translate(self.model, (c_char_p * len(texts))(*texts), (c_size_t * len(texts))(*map(len, texts)),
                                       len(texts), byref(call), byref(error))
        if not result:
            raise ValueError(error.text.decode())
        try:
            return [ferry.ferry_text(result, i).decode() for i in range(len(texts))]
        finally:
            ferry.ferry_free(result)

    def close(self):
        ferry.ferry_close(self.model)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: translate.py MODEL [beam=5]... <text")
    model = Model(sys.argv[1])
    text = sys.stdin.buffer.read().decode(errors="replace")
    print(*model.translate(text.removesuffix("\n").split("\n") if text else [], *sys.argv[2:]), sep="\n")
    model.close()
