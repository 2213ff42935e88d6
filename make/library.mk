# The library: all rooms but train/ and cli/, and of system/ not what is a program's (signals, progress on a terminal).
# It has no other symbols than ferry_*: objects are compiled with hidden visibility, and libferry.a is one object whose
# hidden symbols are local, or they would meet those of programs.
.PHONY: lib
LIB_ROOMS   = $(filter-out train cli,$(ROOMS))
LIB_SRC     = $(filter-out $(KERNEL_SRC) system/signals.c system/progress.c,$(wildcard $(LIB_ROOMS:%=%/*.c)))
LIB_OBJECTS = $(LIB_SRC:%.c=$(BUILD)/%.o) $(foreach isa,$(ISAS),$(KERNEL_SRC:%.c=$(BUILD)/%.$(isa).o))
LIB_REAL    = libferry.so.0
LIBRARY     = $(addprefix $(BUILD)/,libferry.so $(LIB_REAL) libferry.a ferry.pc)
LIBDIR      = $(PREFIX)/lib
INCLUDEDIR  = $(PREFIX)/include
OBJCOPY    ?= objcopy

lib: $(LIBRARY) ## the library: build/libferry.so, libferry.a, ferry.pc; its header is include/ferry.h

$(BUILD)/$(LIB_REAL): $(LIB_OBJECTS) translate/ferry.map
	$(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script,translate/ferry.map -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/libferry.so: $(BUILD)/$(LIB_REAL)
	ln -sf $(<F) $@
$(BUILD)/libferry.a: $(LIB_OBJECTS)
	$(LD) -r -o $(BUILD)/libferry.o $^
	$(OBJCOPY) --localize-hidden $(BUILD)/libferry.o
	rm -f $@ && $(AR) rcs $@ $(BUILD)/libferry.o

$(BUILD)/ferry.pc: $(BUILD)/flags $(BUILD)/places Makefile make/library.mk
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' 'Name: ferry' \
	    'Description: machine translation with models that ferry trained' 'Version: $(VERSION)' \
	    'Libs: -L$${libdir} -lferry' 'Libs.private: $(LIBS) -fopenmp -lpthread' 'Cflags: -I$${includedir}' >$@
# Where it is to be installed.
$(BUILD)/places: always
	@mkdir -p $(@D)
	@echo '$(PREFIX) $(LIBDIR) $(INCLUDEDIR)' | cmp -s - $@ || echo '$(PREFIX) $(LIBDIR) $(INCLUDEDIR)' >$@

.PHONY: test-library-long
test-library-long: test-packages ## the library for longer: 8 threads for 10 seconds, 1,000 opens; also with sanitizers
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/ferry lib
	@BUILD='$(BUILD)' FERRY='$(BUILD)/ferry' tests/library.sh long
	@$(MAKE) --no-print-directory $(JOBS) BUILD='$(BUILD)/sanitize' EXTRA='$(EXTRA) $(SANITIZE)' \
	    $(BUILD)/sanitize/ferry lib
	@BUILD='$(BUILD)/sanitize' FERRY='$(BUILD)/sanitize/ferry' tests/library.sh long
