#include "cli/tokenizer_lines.h"

bool cmd_tokenize(CommandLine *line, Error *error)
{
    return tokenizer_lines(line, ferry_tokenize, error);
}
