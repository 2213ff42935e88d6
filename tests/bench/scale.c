#include "tests/bench/bench.h"
bool bench_scale(Error *error){(void)error;return true;}
bool bench_translate(Error *error){(void)error;return true;}
bool bench_vocabulary(Error *error){(void)error;return true;}
