/* A tiny training, for tests of what may happen to one. Each run of it is a process of its own: it may die, and its
 * threads are not ours. */
#ifndef FERRY_TESTS_TRAINING_H
#define FERRY_TESTS_TRAINING_H

#include <stdbool.h>
#include <stddef.h>

#include "options/options.h"

/* A new folder with a corpus, for the runs to lie in; and its removal. */
void training_setup(void);
void training_teardown(void);
const char *training_folder(void);

/* The options of such a run, with an option more (section.key=value; NULL: none); free with options_free. */
void training_options(Options *options, int max_steps, const char *option);

/* Train in the run folder `run` to max_steps, with an option more (or NULL), and call `act` at the nth
 * call of files_act_at_call. Returns what the program's exit code would be. */
int training_run(const char *run, int max_steps, const char *option, int nth, int (*act)(void));
/* In the processes of trainings from now on these system calls (SYS_symlink ..), up to a -1, fail with the error
 * number; NULL: none. False if this system can't do that. */
bool training_refuse(const int *calls, int error_number);
/* What the last run said on standard error; free with mem_free. And how many calls it made. */
char *training_said(void);
int training_calls(void);

/* The path of a file in a run folder ("": of the folder itself); free with mem_free. */
char *training_path(const char *run, const char *name);
/* Remove a run, if it is there. */
void training_remove(const char *run);

/* Every checkpoint of the run, and what its links point to, is sound. `when` is for the message. */
void training_assert_sound(const char *run, const char *when);
/* The two runs' files are the same, timing columns aside, and no temporary is left. */
void training_assert_same(const char *run, const char *wanted, const char *when);

#endif
