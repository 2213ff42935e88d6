# Debian packages, built of a copy of the tree, so that nothing of the tree is touched or gets into them by accident.
.PHONY: deb test-deb
DEB_FOLDER = $(BUILD)/deb

deb: ## build Debian packages into build/deb/
	@./install-packages.sh deb
	@rm -rf '$(DEB_FOLDER)' && mkdir -p '$(DEB_FOLDER)/ferry-$(VERSION)'
	@{ git ls-files -z --cached --others --exclude-standard 2>/dev/null | grep -z . || \
	    find . -path './build*' -prune -o -path ./runs -prune -o ! -type d -print0; } | \
	    tar --null --no-recursion --ignore-failed-read -T - -c | tar -x -C '$(DEB_FOLDER)/ferry-$(VERSION)'
	cd '$(DEB_FOLDER)/ferry-$(VERSION)' && unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS LDLIBS && \
	    dpkg-buildpackage -b --no-sign $(or $(filter -j%,$(MAKEFLAGS)),$(JOBS))
	rm -r '$(DEB_FOLDER)/ferry-$(VERSION)'
	lintian --fail-on error '$(DEB_FOLDER)'/*.changes
	@ls -l '$(DEB_FOLDER)'/*.deb

test-deb: deb ## install these packages in a fresh system (by debootstrap), train there, and remove them
	@DEBS='$(DEB_FOLDER)' tests/deb.sh
