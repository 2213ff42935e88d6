#include "cli/tokenizer_lines.h"

bool cmd_detokenize(CommandLine *line, Error *error)
{
    return tokenizer_lines(line, ferry_detokenize, error);
}
