# What looks for faults for longer than `make test` does.
.PHONY: torture sanitize fuzz coverage analyze valgrind tsan load

torture: packages ## kill training 100 times, also during a save, and compare what it ends in
	@$(MAKE) --no-print-directory $(JOBS) ferry
	@FERRY='$(BUILD)/ferry' OMP_WAIT_POLICY=passive tests/resume.sh long

# No finding is tolerated: the first one ends the process.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
sanitize: test-packages ## run all tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory $(JOBS) BUILD='$(BUILD)/sanitize' EXTRA='$(EXTRA) $(SANITIZE)' \
	    $(TESTED:$(BUILD)/%=$(BUILD)/sanitize/%)
	@BUILD='$(BUILD)/sanitize' tests/run.sh

# libFuzzer is clang's. Inputs that are found stay in build/fuzz/corpus, so that the next time goes on from them; one
# that is a fault is left in build/fuzz, and belongs into tests/fuzz/corpus once it is mended.
MINUTES = 1
FUZZ_TARGETS = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_BUILD = CC=clang BUILD='$(BUILD)/fuzz' OPT='-O1' EXTRA='$(EXTRA) $(SANITIZE) -fsanitize=fuzzer-no-link'
fuzz: ## feed the parsers inputs made to break them, MINUTES=1 each (FUZZ_TARGETS: which)
	@CC=clang ./install-packages.sh fuzz
	@$(MAKE) --no-print-directory $(JOBS) $(FUZZ_BUILD) $(FUZZ_TARGETS:%=$(BUILD)/fuzz/fuzz-%)
	@for target in $(FUZZ_TARGETS); do BUILD='$(BUILD)/fuzz' tests/fuzz/run.sh $$target $(MINUTES) || exit 1; done
$(BUILD)/fuzz-%: tests/fuzz/%.c $(BUILD)/tests/fuzz_file.o $(call objects,$(BUILD))
	$(COMPILE) $(LDFLAGS) -Dfuzz_$*=LLVMFuzzerTestOneInput -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) $(LIBS)

# Counters of processes that are killed are lost: what only they run counts as not run. Threads count without waiting
# for each other: counts are too low, but none is 0 that should not be. Counting makes training some twenty times
# slower, so resume.sh, which trains thirty times, is left out.
COVERAGE_BUILD = BUILD='$(BUILD)/coverage' OPT='$(OPT:-O3=-O2)' EXTRA='$(EXTRA) --coverage'
coverage: test-packages ## run all tests and show what part of each folder's lines they reach
	@$(MAKE) --no-print-directory $(JOBS) $(COVERAGE_BUILD) $(TESTED:$(BUILD)/%=$(BUILD)/coverage/%) \
	    $(BUILD)/coverage/data/toy/generate
	@find '$(BUILD)/coverage' -name '*.gcda' -delete
	@BUILD='$(BUILD)/coverage' WITHOUT=resume tests/run.sh
	@mkdir -p '$(BUILD)/coverage/toy' && $(BUILD)/coverage/data/toy/generate '$(BUILD)/coverage/toy' >/dev/null
	@BUILD='$(BUILD)/coverage' tests/coverage.sh

# What is no finding, and why: .clang-tidy, tests/cppcheck.txt. Kernels compute offsets within a tile, which are small,
# as int.
ANALYZE_FLAGS = -std=c11 -I. -D_GNU_SOURCE -DFERRY_VERSION='"x"' -DKERNEL_ISA=base -fopenmp
ANALYZED = $(wildcard $(ROOMS:%=%/*.c) data/toy/*.c tools/*.c)
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
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/ferry lib
	@FERRY='$(BUILD)/ferry' BUILD='$(BUILD)' tests/valgrind.sh

tsan: ## the same under ThreadSanitizer, with clang's OpenMP
	@CC=clang ./install-packages.sh fuzz
	@$(MAKE) --no-print-directory $(JOBS) CC=clang BUILD='$(BUILD)/tsan' OPT='$(OPT:-O3=-O1)' \
	    EXTRA='$(EXTRA) -fsanitize=thread' $(BUILD)/tsan/ferry
	@FERRY='$(BUILD)/tsan/ferry' tests/tsan.sh

load: packages ## translate N_LINES=200000 lines: order, the same bytes alone, memory that doesn't grow
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/ferry
	@FERRY='$(BUILD)/ferry' N_LINES='$(or $(N_LINES),200000)' tests/load.sh
