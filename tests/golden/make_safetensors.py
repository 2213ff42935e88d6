"""Makes tests/data/python.safetensors: a file as Python's safetensors writes it (pip install safetensors numpy)."""
import numpy
from safetensors.numpy import save_file

save_file(
    {
        "weight": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4,
        "moments.wide": numpy.array([1e-300, -2.5, 3e200]),
        "count": numpy.array(7, dtype=numpy.int32),
        "long": numpy.array([2**40, -1], dtype=numpy.int64),
        "nothing": numpy.zeros((0, 5), dtype=numpy.float32),
    },
    "tests/data/python.safetensors",
    {"made by": "Python", "accent": "é"},
)
