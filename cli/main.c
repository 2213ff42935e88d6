/* The program. Nothing else prints an Error or ends the process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/error.h"
#include "core/threads.h"
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

int main(int argc, char **argv)
{
    threads_wait_politely(argv);
    occupy_standard_files();
    signal(SIGPIPE, SIG_DFL); /* `ferry ... | head` ends quietly */
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with a message */
    if (argc < 2) {
        fputs("usage: ferry COMMAND [FLAG]... [ARGUMENT]...\n'ferry help' lists the commands.\n", stderr);
        return ERROR_USAGE;
    }
    Error error = {0};
    CommandLine line;
    bool good = command_parse(&line, argc, argv, &error);
    if (good) {
        good = command_run(&line, &error);
        command_free(&line);
    }
    if (good) good = close_output(&error);
    if (!good) {
        fprintf(stderr, "ferry: %s\n", error.text);
        return error.code;
    }
    int stopped_by = signals_stop_requested();
    return stopped_by ? 128 + stopped_by : 0;
}
