# What is installed: the program and the library, its manual pages and completions, configurations, the toy corpus.
.PHONY: man man-packages install uninstall
BINDIR   = $(PREFIX)/bin
SHAREDIR = $(PREFIX)/share
MANDIR   = $(SHAREDIR)/man

# Manual pages and completions are written by tools/pages.c from the tables that feed the help.
COMMANDS = $(shell sed -n 's/^COMMAND.\([a-z_]*\),.*/\1/p' cli/commands.def)
MAN1 = ferry.1 $(COMMANDS:%=ferry-%.1)
MAN5 = ferry.ini.5
MAN3 = ferry.3
PAGES = $(MAN1) $(MAN5) $(MAN3)
PAGE_DATE = LC_ALL=C date -u -d "@$${SOURCE_DATE_EPOCH:-$$(stat -c %Y cli/commands.def)}" '+%B %-d, %Y'

$(BUILD)/tools/pages: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/*.c))
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(LDLIBS)
$(BUILD)/man/%: $(BUILD)/tools/pages include/ferry.h
	@mkdir -p $(@D)
	@DATE="$$($(PAGE_DATE))" $< $* >$@.part && mv $@.part $@
$(BUILD)/completion/%: $(BUILD)/tools/pages
	@mkdir -p $(@D)
	@$< $* >$@.part && mv $@.part $@

COMPLETIONS = $(BUILD)/completion/bash $(BUILD)/completion/zsh
man: $(PAGES:%=$(BUILD)/man/%) $(COMPLETIONS) ## write manual pages and completions below build/

man-packages: ## install mandoc and zsh, which the test of pages and completions looks for
	@./install-packages.sh man

TOY_TEXTS = $(wildcard data/toy/*.gz)
BASH_COMPLETION = $(SHAREDIR)/bash-completion/completions/ferry
ZSH_COMPLETION  = $(SHAREDIR)/zsh/site-functions/_ferry

install: $(BUILD)/ferry $(LIBRARY) man ## install below PREFIX (/usr/local), under DESTDIR
	install -d $(addprefix '$(DESTDIR)',$(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) $(SHAREDIR)/ferry/configs \
	    $(SHAREDIR)/ferry/toy $(MANDIR)/man1 $(MANDIR)/man3 $(MANDIR)/man5 $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION)))
	install -m 755 $(BUILD)/ferry '$(DESTDIR)$(BINDIR)/ferry'
	install -m 755 $(BUILD)/$(LIB_REAL) '$(DESTDIR)$(LIBDIR)'
	ln -sf $(LIB_REAL) '$(DESTDIR)$(LIBDIR)/libferry.so'
	install -m 644 $(BUILD)/libferry.a '$(DESTDIR)$(LIBDIR)'
	install -m 644 $(BUILD)/ferry.pc '$(DESTDIR)$(LIBDIR)/pkgconfig'
	install -m 644 include/ferry.h '$(DESTDIR)$(INCLUDEDIR)'
	install -m 644 $(MAN1:%=$(BUILD)/man/%) '$(DESTDIR)$(MANDIR)/man1'
	install -m 644 $(MAN3:%=$(BUILD)/man/%) '$(DESTDIR)$(MANDIR)/man3'
	install -m 644 $(MAN5:%=$(BUILD)/man/%) '$(DESTDIR)$(MANDIR)/man5'
	install -m 644 $(BUILD)/completion/bash '$(DESTDIR)$(BASH_COMPLETION)'
	install -m 644 $(BUILD)/completion/zsh '$(DESTDIR)$(ZSH_COMPLETION)'
	install -m 644 $(TOY_TEXTS) '$(DESTDIR)$(SHAREDIR)/ferry/toy'
	@# There is no folder of the source then: paths of the toy corpus and of configurations are those after installation.
	for config in configs/*.ini; do \
	    sed -e 's|data/toy/|$(SHAREDIR)/ferry/toy/|g' -e 's|configs/|$(SHAREDIR)/ferry/configs/|g' "$$config" \
	        >'$(DESTDIR)$(SHAREDIR)/ferry/'"$$config" && chmod 644 '$(DESTDIR)$(SHAREDIR)/ferry/'"$$config" || exit 1; done

uninstall: ## remove what install put there
	rm -f $(addprefix '$(DESTDIR)$(LIBDIR)'/,$(LIB_REAL) libferry.so libferry.a pkgconfig/ferry.pc) \
	    '$(DESTDIR)$(INCLUDEDIR)/ferry.h' $(MAN3:%='$(DESTDIR)$(MANDIR)/man3/%') \
	    '$(DESTDIR)$(BINDIR)/ferry' '$(DESTDIR)$(BASH_COMPLETION)' '$(DESTDIR)$(ZSH_COMPLETION)' \
	    $(MAN1:%='$(DESTDIR)$(MANDIR)/man1/%') $(MAN5:%='$(DESTDIR)$(MANDIR)/man5/%') \
	    $(patsubst %,'$(DESTDIR)$(SHAREDIR)/ferry/%',$(wildcard configs/*.ini) $(TOY_TEXTS:data/%=%))
	-rmdir $(addprefix '$(DESTDIR)$(SHAREDIR)'/,ferry/configs ferry/toy ferry) 2>/dev/null
