/* What a program has to settle about its libraries before it does anything else. */
#ifndef FERRY_CLI_STARTUP_H
#define FERRY_CLI_STARTUP_H

/* For main, first of all; what the user has set in the environment stands.
 *
 * GNU OpenMP's threads wait for each other by spinning for milliseconds, which costs ten times the time when other programs want
 * the processor, and gains little when none does. It reads its environment only while it loads: let them spin for microseconds
 * only, and start this program again. Where that can't be done, go on.
 *
 * OpenBLAS builds that are older than the processor fall back to a kernel of 2004 on it: name the kernel that fits, for the time
 * when it is loaded. */
void startup(char **argv);

#endif
