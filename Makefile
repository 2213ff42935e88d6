# Ferry. `make help` lists what there is to make.
VERSION = 0.1.0
PREFIX  = /usr/local
BUILD   = build
# make's own default, cc, doesn't count; a CC of the environment or of the command line does.
ifeq ($(origin CC),default)
CC      = gcc
endif
WARN    = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPT     = -O3
EXTRA   =
# CFLAGS, CPPFLAGS, LDFLAGS and LDLIBS are the user's, also from the environment, and stand behind what Ferry can't do
# without.
CFLAGS ?= -g $(OPT)
# No -ffast-math: sums keep their order. Contraction gives fused multiply-adds, which -std=c11 alone forbids.
FLOAT   = -ffp-contract=fast -fno-math-errno -fno-trapping-math
OUR_CPPFLAGS = -I. -D_GNU_SOURCE -DFERRY_VERSION='"$(VERSION)"' -MMD -MP
OUR_CFLAGS   = -std=c11 -fopenmp -fPIC -fvisibility=hidden $(FLOAT) $(WARN) $(EXTRA)
OUR_LDLIBS   = -lcjson -lutf8proc -lz -ldl -lm
COMPILE = $(CC) $(OUR_CPPFLAGS) $(CPPFLAGS) $(OUR_CFLAGS) $(CFLAGS)
LINK    = $(CC) $(OUR_CFLAGS) $(CFLAGS) $(LDFLAGS)
LIBS    = $(OUR_LDLIBS) $(LDLIBS)

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
	@sed -nE 's/^([a-z0-9-]+)[a-z0-9 -]*:.*## (.*)/  make \1\t\2/p' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | expand -t 24

ferry: $(BUILD)/ferry
	@ln -sf $(BUILD)/ferry ferry

$(BUILD)/ferry: $(BUILD)/cli/main.o $(call objects,$(BUILD))
	$(LINK) -o $@ $^ $(LIBS)

# One rule for the program's objects, one for the fp64 build of the tests.
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) $(UNIT) -c -o $@ $<
$(BUILD)/fp64/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -DFERRY_FP64 -c -o $@ $<
define ISA_RULES
$$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(COMPILE) -DKERNEL_ISA=$(1) $$(ISA_$(1)) -c -o $$@ $$<
$$(BUILD)/fp64/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(COMPILE) -DFERRY_FP64 -DKERNEL_ISA=$(1) $$(ISA_$(1)) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call ISA_RULES,$(isa))))

$(BUILD)/tests/run32: $(TEST_SRC:%.c=$(BUILD)/%.o) $(call objects,$(BUILD)) | $(BUILD)/ferry
	$(LINK) -o $@ $^ -lcheck -lsubunit -lrt -lpthread $(LIBS)
$(BUILD)/tests/run64: $(TEST_SRC:%.c=$(BUILD)/fp64/%.o) $(call objects,$(BUILD)/fp64)
	$(LINK) -o $@ $^ -lcheck -lsubunit -lrt -lpthread $(LIBS)

# Objects that were made with other flags are made again.
$(BUILD)/flags: export BUILT_BY = $(COMPILE)
$(BUILD)/flags: always
	+@mkdir -p $(@D)
	+@echo "$$BUILT_BY" | cmp -s - $@ || echo "$$BUILT_BY" >$@
$(call objects,$(BUILD)) $(call objects,$(BUILD)/fp64) $(BUILD)/cli/main.o: $(BUILD)/flags
$(TEST_SRC:%.c=$(BUILD)/%.o) $(TEST_SRC:%.c=$(BUILD)/fp64/%.o) $(BENCH_SRC:%.c=$(BUILD)/%.o): $(BUILD)/flags

# The goals below call make again, so that nothing is compiled before its packages are there; on all cores, unless the
# user said how many jobs there may be.
.PHONY: always packages test-packages toy multi30k test check clean
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

TESTED = $(BUILD)/ferry $(LIBRARY) $(BUILD)/tests/run32 $(BUILD)/tests/run64 $(BUILD)/tests/bench/bench

test check: test-packages ## run all tests
	@$(MAKE) --no-print-directory $(JOBS) $(TESTED)
	@BUILD='$(BUILD)' tests/run.sh

clean: ## remove what make made (not runs/)
	rm -rf '$(BUILD)' ferry

# The toy corpus: its generator is no part of ferry.
TOY_SRC = $(wildcard data/toy/*.c) core/error.c core/memory.c core/random.c
.PHONY: toy-data
toy-data: $(BUILD)/data/toy/generate ## write data/toy/*.gz anew from its grammar
	$< data/toy
$(BUILD)/data/toy/generate: $(TOY_SRC:%.c=$(BUILD)/%.o)
	$(LINK) -o $@ $^ -lz -lm $(LDLIBS)

include make/library.mk make/measure.mk make/faults.mk make/install.mk make/deb.mk

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
