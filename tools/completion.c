/* What bash and zsh complete: commands, their flags, the options as flags, and the words of choices. */
#include <stdio.h>
#include <string.h>

#include "tools/tables.h"

/* A name as a flag: dashes for underscores. */
static void print_dashed(const char *name)
{
    fputs("--", stdout);
    for (; *name; name++) putchar(*name == '_' ? '-' : *name);
}

/* The words of a choice, with blanks between them. */
static void print_words(const char *words)
{
    for (; *words; words++) putchar(*words == '|' ? ' ' : *words);
}

static bool takes(const Command *command, int flag)
{
    return command->takes >> flag & 1;
}

/* What 'ferry help' explains: commands, flags, sections and options. */
static void print_topics(void)
{
    fputs("options", stdout);
    for (int c = 0; c < n_commands; c++) printf(" %s", commands[c].name);
    for (int s = 0; s < n_sections; s++) printf(" %s", sections[s].name);
    for (int f = 0; f < n_flags; f++) printf(" %s", flags[f].name);
    for (int i = 0; i < n_options; i++)
        if (option_is_first(i)) printf(" %s", options[i].name);
}

void print_bash(void)
{
    puts("# Completion of ferry for bash, made from the tables that feed its help.\n"
         "_ferry() {\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} flags words\n"
         "    COMPREPLY=()\n"
         "    # Bash cuts --flag=value into three words.\n"
         "    if [ \"$current\" = = ]; then\n"
         "        current=\n"
         "    elif [ \"$flag\" = = ]; then\n"
         "        flag=${COMP_WORDS[COMP_CWORD-2]}\n"
         "    fi");
    fputs("    local commands='", stdout);
    for (int c = 0; c < n_commands; c++) printf("%s%s", c ? " " : "", commands[c].name);
    puts("'\n"
         "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$commands --help --version\" -- \"$current\")\n"
         "        return\n"
         "    fi\n"
         "    case $flag in");
    for (int i = 0; i < n_options; i++) {
        if (!option_is_first(i)) continue;
        fputs("    ", stdout);
        print_dashed(options[i].name);
        if (options[i].words) {
            fputs(") words='", stdout);
            /* Sections may have options of one name with different words: all of them. */
            for (int j = i; j < n_options; j++) {
                if (strcmp(options[i].name, options[j].name) || !options[j].words) continue;
                if (j > i) putchar(' ');
                print_words(options[j].words);
            }
            puts("' ;;");
        } else {
            puts(options[i].low ? ") return ;;" : ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;");
        }
    }
    for (int f = 0; f < n_flags; f++) {
        if (!flags[f].value) continue;
        fputs("    ", stdout);
        if (flags[f].letter) printf("-%c|", flags[f].letter);
        print_dashed(flags[f].name);
        if (!strcmp(flags[f].value, "KIND")) puts(") words='hard soft coverage' ;;");
        else puts(strcmp(flags[f].value, "N")
                      ? ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;"
                      : ") return ;;");
    }
    puts("    esac\n"
         "    if [ -n \"$words\" ]; then\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]} in");
    for (int c = 0; c < n_commands; c++) {
        printf("    %s) flags='--set", commands[c].name);
        for (int f = 0; f < n_flags; f++) {
            if (!takes(&commands[c], f)) continue;
            putchar(' ');
            print_dashed(flags[f].name);
        }
        for (int i = 0; i < n_options; i++) {
            if (!command_uses(&commands[c], &options[i])) continue;
            if (!strcmp(commands[c].name, "train") && !option_is_first(i)) continue;
            putchar(' ');
            print_dashed(options[i].name);
        }
        puts("' ;;");
    }
    fputs("    esac\n"
          "    if [[ $current == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
          "    elif [ \"${COMP_WORDS[1]}\" = help ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    print_topics();
    puts("\" -- \"$current\")\n"
         "    else\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "    fi\n"
         "}\n"
         "complete -o filenames -F _ferry ferry");
}

/* Text within single quotes and the brackets of an _arguments specification. */
static void print_zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text)) printf("\\%c", *text);
        else putchar(*text);
    }
}

static void print_zsh_flag(const Flag *flag)
{
    if (flag->letter) {
        printf("        '-%c+[", flag->letter);
        print_zsh_text(flag->help);
        printf("]:%s:_files' \\\n", flag->value);
    }
    fputs("        '*", stdout);
    print_dashed(flag->name);
    fputs(flag->value ? "=[" : "[", stdout);
    print_zsh_text(flag->help);
    putchar(']');
    if (flag->value && !strcmp(flag->value, "KIND")) fputs(":KIND:(hard soft coverage)", stdout);
    else if (flag->value) printf(":%s:%s", flag->value, strcmp(flag->value, "N") ? "_files" : " ");
    puts("' \\");
}

static void print_zsh_option(const Option *option)
{
    fputs("        '", stdout);
    print_dashed(option->name);
    fputs("=[", stdout);
    print_zsh_text(option->help);
    fputs("]:", stdout);
    if (option->words) {
        fputs("word:(", stdout);
        print_words(option->words);
        putchar(')');
    } else {
        fputs(option->low ? "number: " : "text:_files", stdout);
    }
    puts("' \\");
}

void print_zsh(void)
{
    puts("#compdef ferry\n"
         "# Completion of ferry for zsh, made from the tables that feed its help.\n"
         "local -a commands\n"
         "commands=(");
    for (int c = 0; c < n_commands; c++) {
        printf("    '%s:", commands[c].name);
        print_zsh_text(commands[c].summary);
        puts("'");
    }
    puts(")\n"
         "if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "fi\n"
         "shift words\n"
         "(( CURRENT-- ))\n"
         "case $words[1] in");
    for (int c = 0; c < n_commands; c++) {
        printf("%s)\n    _arguments \\\n", commands[c].name);
        for (int f = 0; f < n_flags; f++)
            if (takes(&commands[c], f)) print_zsh_flag(&flags[f]);
        for (int i = 0; i < n_options; i++) {
            if (!command_uses(&commands[c], &options[i])) continue;
            if (!strcmp(commands[c].name, "train") && !option_is_first(i)) continue;
            print_zsh_option(&options[i]);
        }
        puts("        '*--set=[set an option]:section.key=value: ' \\");
        if (strcmp(commands[c].name, "help")) {
            puts("        '*:file:_files'\n    ;;");
            continue;
        }
        fputs("        '1:topic:(", stdout);
        print_topics();
        puts(")'\n    ;;");
    }
    puts("esac");
}
