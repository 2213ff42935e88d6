/* pages PAGE: prints a manual page (ferry.1, ferry-train.1, ferry.ini.5, ferry.3) or a completion (bash, zsh), from the
 * tables that feed the help, and ferry.3 from the comments of include/ferry.h. DATE in the environment is theirs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tables.h"

/* One character of text; what roff would read as its own is escaped. */
static void print_character(char c)
{
    if (c == '\\') fputs("\\e", stdout);
    else if (c == '-') fputs("\\-", stdout);
    else if (c == '\'') fputs("\\(aq", stdout);
    else if (c == '^') fputs("\\(ha", stdout);
    else if (c == '~') fputs("\\(ti", stdout);
    else if (c == '`') fputs("\\(ga", stdout);
    else putchar(c);
}

/* A word such as fork() is marked as a function, with what stands behind it; false if it is none. */
static bool print_function(const char *word, size_t n, bool midline)
{
    size_t name = 0;
    while (name < n && (isalnum((unsigned char)word[name]) || word[name] == '_')) name++;
    if (!name || name + 2 > n || strncmp(word + name, "()", 2)) return false;
    if (midline) putchar('\n');
    printf(".Fn %.*s", (int)name, word);
    for (size_t i = name + 2; i < n; i++) printf(" %c", word[i]);
    putchar('\n');
    return true;
}

/* Filled text: short lines, a new one after each sentence, as mandoc likes it. */
static void print_filled(const char *text, size_t n)
{
    size_t column = 0;
    for (size_t i = 0; i < n;) {
        while (i < n && isspace((unsigned char)text[i])) i++;
        size_t begin = i;
        while (i < n && !isspace((unsigned char)text[i])) i++;
        if (i == begin) break;
        if (print_function(text + begin, i - begin, column > 0)) {
            column = 0;
            continue;
        }
        if (column && column + 1 + 4 * (i - begin) > 78) {
            putchar('\n');
            column = 0;
        }
        if (column) putchar(' ');
        else if (text[begin] == '.') fputs("\\&", stdout);
        for (size_t k = begin; k < i; k++) {
            print_character(text[k]);
            column += strchr("\\-'^~`", text[k]) ? 4 : 1;
        }
        column++;
        if (strchr(".!?", text[i - 1]) || (i - begin > 1 && text[i - 1] == ')' && strchr(".!?", text[i - 2]))) {
            putchar('\n');
            column = 0;
        }
    }
    if (column) putchar('\n');
}

static void print_line(const char *text, size_t n)
{
    if (n && text[0] == '.') fputs("\\&", stdout);
    for (size_t i = 0; i < n; i++) print_character(text[i]);
    putchar('\n');
}

/* Help as it stands in the table: paragraphs, lines indented by two blanks that stay as they are, and examples. */
static void print_help(const char *help)
{
    bool literal = false, first = true;
    while (*help) {
        size_t n = strcspn(help, "\n");
        if (!n) {
            if (literal) puts(".Ed");
            literal = false;
            help++;
            if (strncmp(help, "Example", 7)) puts(".Pp");
            continue;
        }
        if (!strncmp(help, "Example", 7) && help[n - 1] == ':') {
            puts(".Sh EXAMPLES");
            first = true;
        } else if (!strncmp(help, "  ", 2)) {
            if (!literal) puts(first ? ".Bd -literal -compact" : ".Bd -literal");
            literal = true;
            print_line(help + 2, n - 2);
        } else {
            if (literal) puts(".Ed");
            literal = false;
            const char *end = help;
            while (*end && *end != '\n' && strncmp(end, "  ", 2)) {
                end += strcspn(end, "\n");
                if (*end) end++;
            }
            print_filled(help, (size_t)(end - help));
            first = false;
            help = end;
            continue;
        }
        help += n + (help[n] == '\n');
    }
    if (literal) puts(".Ed");
}

static void print_head(const char *title, int section, const char *name, const char *summary)
{
    const char *date = getenv("DATE");
    printf(".\\\" Made by tools/pages.c from the tables that feed the help.\n.Dd %s\n.Dt ", date ? date : "$Mdocdate$");
    for (; *title; title++) putchar(toupper((unsigned char)*title));
    printf(" %d\n.Os\n.Sh NAME\n.Nm %s\n.Nd %s\n", section, name, summary);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const Command *const *)a)->name, (*(const Command *const *)b)->name);
}

/* All pages but `self`, by name. */
static void print_see_also(const char *self)
{
    const Command *sorted[64] = {NULL};
    int n = 0;
    for (int c = 0; c < n_commands && n < 64; c++)
        if (strcmp(self, commands[c].name)) sorted[n++] = &commands[c];
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    puts(".Sh SEE ALSO");
    if (strcmp(self, "ferry")) puts(".Xr ferry 1 ,");
    bool is_last = !strcmp(self, "ferry.ini");
    for (int c = 0; c < n; c++) printf(".Xr ferry-%s 1%s\n", sorted[c]->name, is_last && c + 1 == n ? "" : " ,");
    if (!strcmp(self, "ferry")) puts(".Xr ferry 3 ,");
    if (!is_last) puts(".Xr ferry.ini 5");
}

static void print_exit_status(void)
{
    puts(".Sh EXIT STATUS\n"
         "0: done.\n1: it failed, and standard error says why.\n2: wrong usage or configuration.\n"
         "128 and the number of a signal: that signal ended it.");
}

static void print_flags(const Command *command)
{
    puts(".Bl -tag -width Ds");
    for (int f = 0; f < n_flags; f++) {
        if (!(command->takes >> f & 1)) continue;
        fputs(".It ", stdout);
        if (flags[f].letter) {
            printf("Fl %c", flags[f].letter);
            if (flags[f].value) printf(" Ar %s", flags[f].value);
            fputs(" , ", stdout);
        }
        printf("Fl Fl %s", flags[f].name);
        if (flags[f].value) printf(" Ar %s", flags[f].value);
        putchar('\n');
        print_filled(flags[f].help, strlen(flags[f].help));
    }
    puts(".It Fl Fl set Ar section.key=value\nSet an option of\n.Xr ferry.ini 5 ;\n"
         "each is a flag of its own, too\n.Pq Fl Fl batch\\-tokens Ar 4096 .\n.El");
}

static void print_command(const Command *command)
{
    char name[100];
    snprintf(name, sizeof name, "ferry-%s", command->name);
    print_head(name, 1, name, command->summary);
    printf(".Sh SYNOPSIS\n.Nm ferry %s\n", command->name);
    print_filled(command->usage, strlen(command->usage));
    puts(".Sh DESCRIPTION");
    const char *examples = strstr(command->help, "\nExample");
    size_t n = examples ? (size_t)(examples - command->help) : strlen(command->help);
    char *description = malloc(n + 1);
    if (!description) exit(1);
    memcpy(description, command->help, n);
    description[n] = '\0';
    while (n && description[n - 1] == '\n') description[--n] = '\0';
    print_help(description);
    free(description);
    puts(".Pp\nFlags:");
    print_flags(command);
    print_exit_status();
    if (examples) print_help(examples + 1);
    print_see_also(command->name);
}

static void print_program(void)
{
    print_head("ferry", 1, "ferry", "train a Transformer on parallel text, and translate with it");
    puts(".Sh SYNOPSIS\n.Nm ferry\n.Ar command\n.Op Ar argument ...\n.Sh DESCRIPTION\nThe commands are:\n"
         ".Bl -tag -width detokenize");
    for (int c = 0; c < n_commands; c++) {
        printf(".It Cm %s\n", commands[c].name);
        print_filled(commands[c].summary, strlen(commands[c].summary));
    }
    puts(".El\n.Pp\nResults go to standard output, everything else to standard error.");
    print_exit_status();
    print_see_also("ferry");
}

static void print_values(const Option *option)
{
    if (option->words) {
        for (const char *c = option->words; *c; c++)
            if (*c == '|') fputs(", ", stdout);
            else print_character(*c);
    } else if (!option->low) {
        fputs("text", stdout);
    } else if (strstr(option->high, "LIMIT")) {
        printf("%s or more", option->low);
    } else {
        printf("%s to %s", option->low, option->high);
    }
}

static void print_options(void)
{
    print_head("ferry.ini", 5, "ferry.ini", "configuration of a model and its training");
    puts(".Sh DESCRIPTION\nA configuration has sections, and in them a line\n.Ql key = value\nfor each option; "
         "what stands behind # at the beginning of a line\nis a comment.\n"
         "On the command line an option is\n.Fl Fl set Ar section.key=value\nor in short\n.Fl Fl key Ar value .");
    for (int s = 0; s < n_sections; s++) {
        printf(".Ss Section %s\n", sections[s].name);
        print_filled(sections[s].help, strlen(sections[s].help));
        puts(".Bl -tag -width Ds");
        for (int i = 0; i < n_options; i++) {
            if (strcmp(options[i].section, sections[s].name)) continue;
            printf(".It Cm %s No = ", options[i].name);
            print_values(&options[i]);
            putchar('\n');
            print_filled(options[i].help, strlen(options[i].help));
            puts(".br");
            if (*options[i].standard) printf("Default: %s.\n", options[i].standard);
            else puts("Not set by default.");
        }
        puts(".El");
    }
    print_see_also("ferry.ini");
}

/* The page of the library is its header: comments that stand alone are text, what follows them is shown as code. */
typedef struct LibraryPage {
    bool comment, code; /* within one */
    bool begins;        /* nothing stands yet under the heading */
    bool blank;         /* a blank line is due before more code */
    size_t shift;       /* columns that the lines of a declaration lose with the FERRY_API before it */
} LibraryPage;

static void end_code(LibraryPage *page)
{
    if (page->code) puts(".Ed");
    page->code = page->blank = false;
}

static void start_paragraph(LibraryPage *page)
{
    if (!page->begins) puts(".Pp");
    page->begins = true;
}

static void print_comment(LibraryPage *page, const char *text)
{
    const char *end = strstr(text, "*/");
    const size_t n = end ? (size_t)(end - text) : strcspn(text, "\n");
    if (strspn(text, " ") >= n) start_paragraph(page);
    else page->begins = false;
    print_filled(text, n);
    page->comment = !end;
}

static void print_code(LibraryPage *page, const char *line)
{
    static const char api[] = "FERRY_API ";
    if (*line != ' ') page->shift = strncmp(line, api, strlen(api)) ? 0 : strlen(api);
    size_t blanks = strspn(line, " ");
    if (!blanks) line += page->shift;
    else line += blanks < page->shift ? blanks : page->shift;
    if (!page->code) puts(".Bd -literal");
    else if (page->blank) putchar('\n');
    print_line(line, strcspn(line, "\n"));
    page->code = true;
    page->begins = page->blank = false;
}

/* Of what is the preprocessor's, macros with arguments are shown, without what they stand for. */
static void print_macro(LibraryPage *page, char *line)
{
    if (strncmp(line, "#define ", 8)) return;
    char *name = line + 8, *end = name;
    while (isalnum((unsigned char)*end) || *end == '_') end++;
    if (*end != '(') return;
    end += strcspn(end, ")");
    if (!*end) return;
    end[1] = '\0';
    print_code(page, name);
}

static void print_header_line(LibraryPage *page, char *line)
{
    static const char rule[] = "/* ---- ";
    if (page->comment) {
        char *begin = line + strspn(line, " ");
        print_comment(page, begin + (*begin == '*' && begin[1] != '/'));
    } else if (!strncmp(line, rule, strlen(rule))) {
        end_code(page);
        char *title = line + strlen(rule), *end = strstr(title, " ----");
        if (end) *end = '\0';
        *title = (char)toupper((unsigned char)*title);
        printf(".Ss %s\n", title);
        page->begins = true;
    } else if (!strncmp(line, "/*", 2)) {
        end_code(page);
        start_paragraph(page);
        print_comment(page, line + 2);
    } else if (*line == '#') {
        print_macro(page, line);
    } else if (*line == '\n') {
        page->blank = page->code;
    } else {
        print_code(page, line);
    }
}

static bool print_library(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return false;
    print_head("ferry", 3, "ferry", "translate with models of Ferry from a program");
    puts(".Sh LIBRARY\nlibferry (\\-lferry, pkg\\-config: ferry)\n.Sh SYNOPSIS\n.In ferry.h\n.Sh DESCRIPTION");
    char line[4096];
    bool only_cpp = false;
    LibraryPage page = {.begins = true};
    while (fgets(line, sizeof line, file)) {
        if (!strcmp(line, "#ifdef __cplusplus\n")) only_cpp = true;
        if (!only_cpp) print_header_line(&page, line);
        else if (!strcmp(line, "#endif\n")) only_cpp = false;
    }
    end_code(&page);
    fclose(file);
    puts(".Sh SEE ALSO\n.Xr ferry 1");
    return true;
}

int main(int argc, char **argv)
{
    const char *page = argc == 2 ? argv[1] : "";
    if (!strcmp(page, "bash")) print_bash();
    else if (!strcmp(page, "zsh")) print_zsh();
    else if (!strcmp(page, "ferry.1")) print_program();
    else if (!strcmp(page, "ferry.ini.5")) print_options();
    else if (!strcmp(page, "ferry.3") && print_library("include/ferry.h")) return 0;
    else {
        for (int c = 0; c < n_commands; c++) {
            size_t n = strlen(commands[c].name);
            if (strncmp(page, "ferry-", 6) || strncmp(page + 6, commands[c].name, n)) continue;
            if (strcmp(page + 6 + n, ".1")) continue;
            print_command(&commands[c]);
            return 0;
        }
        fprintf(stderr, "usage: %s ferry.1|ferry-COMMAND.1|ferry.ini.5|ferry.3|bash|zsh\n", argv[0]);
        return 2;
    }
    return 0;
}
