/* The number type of the engine: float in the program, double in the test build that checks gradients (make test compiles
 * the engine once more with -DFERRY_FP64). */
#ifndef FERRY_CORE_REAL_H
#define FERRY_CORE_REAL_H

#ifdef FERRY_FP64
typedef double real;
#else
typedef float real;
#endif

#endif
