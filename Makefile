# Ferry. `make help` lists what there is to make.
VERSION = 0.1.0
PREFIX  = /usr/local
CC      = gcc
BUILD   = build
WARN    = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# No -ffast-math: sums keep their order. Contraction gives fused multiply-adds, which -std=c11 alone forbids.
OPT     = -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math
EXTRA   =
CFLAGS  = -std=c11 -g $(OPT) $(WARN) -fopenmp $(EXTRA)
CPPFLAGS = -I. -D_GNU_SOURCE -DFERRY_VERSION='"$(VERSION)"' -MMD -MP
LDLIBS  = -lcjson -lutf8proc -lz -ldl -lm

# The kernels are compiled once for each instruction set; core/kernels.c picks at run time.
ifeq ($(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1),x86_64)
ISAS    = base avx2 avx512
UNIT_avx512 = -march=cooperlake -mprefer-vector-width=512
UNIT_amx    = $(UNIT_avx512) -mamx-tile -mamx-bf16 -mamx-int8
endif
ISAS   ?= base
ISA_base   =
ISA_avx2   = -march=haswell
ISA_avx512 = -march=skylake-avx512 -mprefer-vector-width=512

# One file each for the units that multiply in low precision, with the flags of their instructions.
$(BUILD)/core/unit_bf16.o $(BUILD)/core/unit_vnni.o: UNIT = $(UNIT_avx512)
$(BUILD)/core/unit_amx.o: UNIT = $(UNIT_amx)

KERNEL_SRC = $(wildcard core/kernel_*.c)
# Includes go one way, from each to those before it (tests/includes.sh).
ROOMS      = core text system data metrics autograd model options run translate train cli
ENGINE_SRC = $(filter-out $(KERNEL_SRC) cli/main.c,$(wildcard $(ROOMS:%=%/*.c)))
TEST_SRC   = $(wildcard tests/*.c tests/fuzz/*.c)
BENCH_SRC  = $(wildcard tests/bench/*.c)

# $(call objects,FOLDER): the engine's objects below FOLDER (build, build/fp64)
objects = $(ENGINE_SRC:%.c=$(1)/%.o) $(foreach isa,$(ISAS),$(KERNEL_SRC:%.c=$(1)/%.$(isa).o))

.PHONY: all help
all: ferry

help: ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

ferry: $(BUILD)/ferry
	@ln -sf $(BUILD)/ferry ferry

$(BUILD)/ferry: $(BUILD)/cli/main.o $(call objects,$(BUILD))
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# One rule for the program's objects, one for the fp64 build of the tests.
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(UNIT) -c -o $@ $<
$(BUILD)/fp64/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DFERRY_FP64 $(CFLAGS) -c -o $@ $<
define ISA_RULES
$$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) -DKERNEL_ISA=$(1) $$(CFLAGS) $$(ISA_$(1)) -c -o $$@ $$<
$$(BUILD)/fp64/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) -DFERRY_FP64 -DKERNEL_ISA=$(1) $$(CFLAGS) $$(ISA_$(1)) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call ISA_RULES,$(isa))))

$(BUILD)/tests/run32: $(TEST_SRC:%.c=$(BUILD)/%.o) $(call objects,$(BUILD)) | $(BUILD)/ferry
	$(CC) $(CFLAGS) -o $@ $^ -lcheck -lsubunit -lrt -lpthread $(LDLIBS)
$(BUILD)/tests/run64: $(TEST_SRC:%.c=$(BUILD)/fp64/%.o) $(call objects,$(BUILD)/fp64)
	$(CC) $(CFLAGS) -o $@ $^ -lcheck -lsubunit -lrt -lpthread $(LDLIBS)


# Objects that were made with other flags are made again.
$(BUILD)/flags: export BUILT_BY = $(CC) $(CPPFLAGS) $(CFLAGS)
$(BUILD)/flags: always
	+@mkdir -p $(@D)
	+@echo "$$BUILT_BY" | cmp -s - $@ || echo "$$BUILT_BY" >$@
$(call objects,$(BUILD)) $(call objects,$(BUILD)/fp64) $(BUILD)/cli/main.o: $(BUILD)/flags
$(TEST_SRC:%.c=$(BUILD)/%.o) $(TEST_SRC:%.c=$(BUILD)/fp64/%.o) $(BENCH_SRC:%.c=$(BUILD)/%.o): $(BUILD)/flags

# The goals below call make again, so that nothing is compiled before its packages are there; on all cores, unless the user
# said how many jobs there may be.
.PHONY: always packages test-packages toy multi30k test bench bench-scale bench-translate bench-peer sanitize fuzz coverage analyze valgrind tsan load install clean
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
packages: ## install the Debian packages that the program needs
	@CC='$(CC)' ./install-packages.sh build
test-packages: ## install those that the tests need
	@CC='$(CC)' ./install-packages.sh test

toy: packages ## train a small English-French model and show what it learned
	@$(MAKE) --no-print-directory $(JOBS) ferry
	./ferry train configs/toy.ini
	./ferry evaluate -m runs/toy data/toy/test.en.gz data/toy/test.fr.gz
	@echo
	@data/toy/show.sh runs/toy

multi30k: packages ## train on Multi30k, average, translate and score its tests: make multi30k DATA=folder
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@DATA='$(DATA)' RUN='$(RUN)' STEPS='$(STEPS)' LAST='$(LAST)' FLAGS='$(FLAGS)' DECODE='$(DECODE)' configs/multi30k.sh

TESTED = $(BUILD)/ferry $(BUILD)/tests/run32 $(BUILD)/tests/run64 $(BUILD)/tests/bench/bench

test: test-packages ## run all tests
	@$(MAKE) --no-print-directory $(JOBS) $(TESTED)
	@BUILD='$(BUILD)' tests/run.sh

.PHONY: torture
torture: packages ## kill training 100 times, also during a save, and compare what it ends in
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@FERRY='$(BUILD)/ferry' OMP_WAIT_POLICY=passive tests/resume.sh long

# They take SHAPES, THREADS, REPEAT, STEP_SECONDS, TSV, PRECISION, SET and others from make's command line: see README.md. With
# what bench-translate takes, bench goes on with that.
BENCH = $(BUILD)/tests/bench/bench
bench: packages ## measure training by op, beside this machine's peaks: make bench SHAPES="toy base" REPEAT=3
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH)
	@$(BENCH) train
	@[ -z '$(PEER)$(RUN)' ] || $(MAKE) --no-print-directory bench-translate
bench-scale: packages ## how cost grows with sentences, vocabulary, width, threads, batches of translation
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH)
	@$(BENCH) scale
bench-translate: packages ## translation, greedy and with beam 5, beside PyTorch: make bench-translate RUN=folder DATA=folder PEER=script
	@$(MAKE) --no-print-directory $(JOBS) $(BENCH) ferry
	@BENCH='$(BENCH)' RUN='$(RUN)' DATA='$(DATA)' PEER='$(PEER)' tests/bench/translate.sh
bench-peer: packages ## ferry beside another program: make bench-peer DATA=folder PEER='command'
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@DATA='$(DATA)' PEER='$(PEER)' FLAGS='$(FLAGS)' tests/bench/peer.sh

$(BUILD)/tests/bench/bench: $(BENCH_SRC:%.c=$(BUILD)/%.o) $(call objects,$(BUILD))
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# No finding is tolerated: the first one ends the process.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
sanitize: test-packages ## run all tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory $(JOBS) BUILD='$(BUILD)/sanitize' EXTRA='$(EXTRA) $(SANITIZE)' \
	    $(TESTED:$(BUILD)/%=$(BUILD)/sanitize/%)
	@BUILD='$(BUILD)/sanitize' tests/run.sh

# libFuzzer is clang's. Inputs that are found stay in build/fuzz/corpus, so that the next time goes on from them; one that is
# a fault is left in build/fuzz, and belongs into tests/fuzz/corpus once it is mended.
MINUTES = 1
FUZZ_TARGETS = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_BUILD = CC=clang BUILD='$(BUILD)/fuzz' OPT='-O1' EXTRA='$(EXTRA) $(SANITIZE) -fsanitize=fuzzer-no-link'
fuzz: ## feed the parsers inputs made to break them, MINUTES=1 each (FUZZ_TARGETS: which)
	@CC=clang ./install-packages.sh fuzz
	@$(MAKE) --no-print-directory $(JOBS) $(FUZZ_BUILD) $(FUZZ_TARGETS:%=$(BUILD)/fuzz/fuzz-%)
	@for target in $(FUZZ_TARGETS); do BUILD='$(BUILD)/fuzz' tests/fuzz/run.sh $$target $(MINUTES) || exit 1; done
$(BUILD)/fuzz-%: tests/fuzz/%.c $(BUILD)/tests/fuzz_file.o $(call objects,$(BUILD))
	$(CC) $(CPPFLAGS) $(CFLAGS) -Dfuzz_$*=LLVMFuzzerTestOneInput -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# Counters of processes that are killed are lost: what only they run counts as not run. Threads count without waiting for each
# other: counts are too low, but none is 0 that should not be. Counting makes training some twenty times slower, so resume.sh,
# which trains thirty times, is left out.
COVERAGE_BUILD = BUILD='$(BUILD)/coverage' OPT='$(OPT:-O3=-O2)' EXTRA='$(EXTRA) --coverage'
coverage: test-packages ## run all tests and show what part of each folder's lines they reach
	@$(MAKE) --no-print-directory $(JOBS) $(COVERAGE_BUILD) $(TESTED:$(BUILD)/%=$(BUILD)/coverage/%) \
	    $(BUILD)/coverage/data/toy/generate
	@find '$(BUILD)/coverage' -name '*.gcda' -delete
	@BUILD='$(BUILD)/coverage' WITHOUT=resume tests/run.sh
	@mkdir -p '$(BUILD)/coverage/toy' && $(BUILD)/coverage/data/toy/generate '$(BUILD)/coverage/toy' >/dev/null
	@BUILD='$(BUILD)/coverage' tests/coverage.sh

# What is no finding, and why: .clang-tidy, tests/cppcheck.txt. Kernels compute offsets within a tile, which are small, as int.
ANALYZE_FLAGS = -std=c11 -I. -D_GNU_SOURCE -DFERRY_VERSION='"x"' -DKERNEL_ISA=base -fopenmp
ANALYZED = $(wildcard $(ROOMS:%=%/*.c) data/toy/*.c)
analyze: ## look for faults without running: cppcheck, clang-tidy, shellcheck
	@./install-packages.sh analyze
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,style,performance,portability --inline-suppr \
	    --library=tests/cppcheck.cfg --suppressions-list=tests/cppcheck.txt -I. -D_GNU_SOURCE -DFERRY_VERSION='"x"' \
	    -D__BYTE_ORDER__=1 -D__ORDER_LITTLE_ENDIAN__=1 $(ANALYZED)
	clang-tidy --quiet $(filter-out $(KERNEL_SRC),$(ANALYZED)) -- $(ANALYZE_FLAGS)
	clang-tidy --quiet --checks=-bugprone-implicit-widening-of-multiplication-result $(KERNEL_SRC) -- $(ANALYZE_FLAGS)
	shellcheck -x -P SCRIPTDIR $(wildcard *.sh tests/*.sh tests/*/*.sh data/toy/*.sh configs/*.sh)

valgrind: packages ## a short training and translation under valgrind
	@./install-packages.sh valgrind
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/ferry
	@FERRY='$(BUILD)/ferry' tests/valgrind.sh

tsan: ## the same under ThreadSanitizer, with clang's OpenMP
	@CC=clang ./install-packages.sh fuzz
	@$(MAKE) --no-print-directory $(JOBS) CC=clang BUILD='$(BUILD)/tsan' OPT='$(OPT:-O3=-O1)' EXTRA='$(EXTRA) -fsanitize=thread' \
	    $(BUILD)/tsan/ferry
	@FERRY='$(BUILD)/tsan/ferry' tests/tsan.sh

load: packages ## translate N_LINES=200000 lines: order, the same bytes alone, memory that doesn't grow
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/ferry
	@FERRY='$(BUILD)/ferry' N_LINES='$(or $(N_LINES),200000)' tests/load.sh

install: all ## install below PREFIX (/usr/local), under DESTDIR
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/ferry/configs'
	install -m 755 $(BUILD)/ferry '$(DESTDIR)$(PREFIX)/bin/ferry'
	install -m 644 configs/*.ini '$(DESTDIR)$(PREFIX)/share/ferry/configs'

clean: ## remove what make made (not runs/)
	rm -rf '$(BUILD)' ferry

.PHONY: bench-corpus
bench-corpus: packages ## memory and start-up time on a large corpus: make bench-corpus [MB=2000] [DATA=folder]
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@DATA='$(DATA)' MB='$(MB)' STEPS='$(STEPS)' tests/bench/corpus.sh

# The toy corpus: its generator is no part of ferry.
TOY_SRC = $(wildcard data/toy/*.c) core/error.c core/memory.c core/random.c
.PHONY: toy-data
toy-data: $(BUILD)/data/toy/generate ## write data/toy/*.gz anew from its grammar
	$< data/toy
$(BUILD)/data/toy/generate: $(TOY_SRC:%.c=$(BUILD)/%.o)
	$(CC) $(CFLAGS) -o $@ $^ -lz -lm

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
