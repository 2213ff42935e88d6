#include "tests/program.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"

/* The path of the program; free with mem_free. */
static char *find_program(void)
{
    const char *given = getenv("FERRY");
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1); /* BUILD/tests/run32 */
    ck_assert(given || n > 0);
    if (given) return mem_string(given);
    self[n] = '\0';
    for (int up = 0; up < 2; up++) *strrchr(self, '/') = '\0';
    return mem_format("%s/ferry", self);
}

static void redirect(int to, const char *path, int flags)
{
    const int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, to) < 0) _exit(126);
    close(file);
}

_Noreturn static void become(const char *program, char *const *argv, const char *in, int out, int err, size_t max_memory)
{
    redirect(STDIN_FILENO, in ? in : "/dev/null", O_RDONLY);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
#ifndef __SANITIZE_ADDRESS__
    if (max_memory) setrlimit(RLIMIT_AS, &(struct rlimit){max_memory, max_memory});
#else
    (void)max_memory;
#endif
    execv(program, argv);
    _exit(127);
}

static void read_all(FILE *file, Text *text)
{
    text->n = 0;
    rewind(file);
    size_t n;
    while ((n = fread(text_reserve(text, 65536), 1, 65536, file)) > 0) text->n += n;
    *text_reserve(text, 1) = '\0';
    fclose(file);
}

void program_run(ProgramOutput *output, const char *const *words, const char *in, size_t max_memory)
{
    char *program = find_program(), *argv[PROGRAM_MAX_WORDS + 2] = {program};
    int n = 0;
    for (; words[n]; n++) {
        ck_assert_int_lt(n, PROGRAM_MAX_WORDS);
        argv[n + 1] = (char *)words[n];
    }
    FILE *out = tmpfile(), *err = tmpfile();
    ck_assert(out && err);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) become(program, argv, in, fileno(out), fileno(err), max_memory);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    output->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_all(out, &output->out);
    read_all(err, &output->err);
    ck_assert_msg(output->code != 127, "%s can't be run; 'make' builds it", program);
    mem_free(program);
}

void program_free(ProgramOutput *output)
{
    text_free(&output->out);
    text_free(&output->err);
}

int program_says(const Text *text, const char *words)
{
    return memmem(text->data, text->n, words, strlen(words)) != NULL;
}
