/* The program. Nothing else prints an Error or ends the process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/startup.h"
#include "core/error.h"
#include "core/memory.h"
#include "system/signals.h"

/* A standard file that was closed must not become the number of a file that we open. Its place is taken so that reading or
 * writing it is an error. */
static void occupy_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Output that can't be written (a full disk, a closed file) is a failure, and shows here at the latest. */
static bool close_output(Error *error)
{
    if (ferror(stdout)) return error_set(error, "cannot write to standard output");
    if (fclose(stdout)) return error_set(error, "cannot write to standard output: %s", strerror(errno));
    return true;
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "ferry: warning: %s\n", text);
}

typedef struct Program {
    int argc;
    char **argv;
    bool good;
    Error error;
} Program;

static void run(void *context)
{
    Program *program = context;
    CommandLine line;
    program->good = command_parse(&line, program->argc, program->argv, &program->error);
    if (!program->good) return;
    program->good = command_run(&line, &program->error);
    command_free(&line);
}

int main(int argc, char **argv)
{
    startup(argv);
    occupy_standard_files();
    signal(SIGPIPE, SIG_DFL); /* `ferry ... | head` ends quietly */
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with a message */
    if (argc < 2) {
        fputs("usage: ferry COMMAND [FLAG]... [ARGUMENT]...\n'ferry help' lists the commands.\n", stderr);
        return ERROR_USAGE;
    }
    warnings_to(&(WarningSink){.take = print_warning});
    Program program = {.argc = argc, .argv = argv};
    MemScope scope = {0};
    size_t wanted;
    if (!mem_run(&scope, run, &program, &wanted)) {
        fprintf(stderr, "ferry: out of memory: %zu bytes could not be had; use a smaller model or fewer batch_tokens\n", wanted);
        return ERROR_FAILED;
    }
    if (program.good) program.good = close_output(&program.error);
    if (!program.good) {
        fprintf(stderr, "ferry: %s\n", program.error.text);
        return program.error.code;
    }
    int stopped_by = signals_stop_requested();
    return stopped_by ? 128 + stopped_by : 0;
}
