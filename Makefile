# SPDX-License-Identifier: Apache-2.0 OR MIT
# `make demo` and `make test` do everything on a machine with cargo and apt; `make help` lists all.

CARGO ?= cargo
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
# Network namespaces, cgroups and eBPF need root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -E)
INSTALL := $(if $(DESTDIR),,$(AS_ROOT)) install
TARGET := $(or $(CARGO_TARGET_DIR),target)
EBB := $(TARGET)/release/ebb
DOCS := $(DESTDIR)$(PREFIX)/share/doc/ebb
COMPLETIONS := $(DESTDIR)$(PREFIX)/share
# What `ebb reproduce` and `ebb score` run: scenarios beside experiments, traces, and known values.
DATA = $(wildcard experiments/*/*.toml experiments/*/*.trace experiments/results/*.csv)
# Figures: many runs at a time, all of them new.
MEASURED := --fresh --parallel 20 --out $(TARGET)/figures
# The law's defaults on the link of the other figures, with buffers and sockets as downloads have
# them, where the paper's experiments have their own.
OF_VULTURE := --policy vulture --set bottleneck.rate=10mbit
AS_DOWNLOADS := --engine lab --runs 5 --set tcp.receive_buffer=auto --set tcp.send_buffer=auto \
	--set tcp.shrink_window=false --set flow.lbe.connects=receiver
BY_TWO = --set flow.$(1).write=2896 --set flow.$(1).backlog=750kB --set flow.$(1).connects=receiver
# Beside plain TCP and strict priority.
BESIDE := --policy none --policy priority --policy ebb --case constant --case 'greedy, BE first' \
	--case 'greedy, BE second' --case 'greedy, queue of 500' --case 'bursts of 1 s' \
	--case 'bursts of 3 s' --case 'bursts of 10 s'
# What uploads could yield by.
UPLOADS := --policy ebb-sender --policy ledbat:target_us=5000 --policy tcp-lp --policy ledbat++ \
	--policy ledbat++:target_us=10000,slowdown_interval=60 \
	--policy ledbat++:target_us=20000,slowdown_interval=60

# What of the papers the lab has run as often and as long as they say; the rest it only looks at.
IN_FULL := bwss/internet-1 bwss/internet-2 vulture/fig-3 vulture/fig-4 vulture/fig-6 vulture/fig-7 \
	vulture/fig-11 vulture/fig-12 vulture/fig-13 vulture/fig-14 vulture/fig-15 vulture/fig-16 \
	vulture/fig-17 vulture/fig-20 vulture/table-1 vulture/table-2

.DEFAULT_GOAL := build
LIBRARY_VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
.PHONY: help setup build library wheel test-research test-clients demo gateway test test-root test-kernels soak fuzz check-deep \
	lint format bench \
	figures reproduce reproduce-quick reproduce-lab results distances man install uninstall deb rpm \
	test-packages container test-container

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 17

setup: ## install the Debian packages that are missing
	@scripts/setup

build: setup ## build target/release/ebb
	$(CARGO) build --release --locked

library: setup ## build the library for programs, into target/release
	$(CARGO) build --release --locked --package ebb-library
	@scripts/shared-library $(TARGET)/release/libebb.a $(TARGET)/release

wheel: setup ## build the library for Python, into target/packages (maturin comes from PyPI)
	@scripts/wheel $(TARGET)

test-research: setup ## sweeps from Python on processes and on dask, the notebook, the wheel; what these need comes from PyPI
	@scripts/test-research $(TARGET)

test-clients: setup ## the library in curl, requests, reqwest and others, in the lab (as root)
	-@EBB_PACKAGES_FILE=scripts/packages-test.txt scripts/setup
	@scripts/test-clients $(TARGET)

demo: build ## a download steps aside, everything emulated on this machine, 75 seconds; no root needed
	$(EBB) demo

gateway: setup ## build the gateway alone, static and small, into target/gateway/ebb, and try it
	@EBB_PACKAGES_FILE=scripts/packages-gateway.txt scripts/setup
	@scripts/gateway

test: setup ## lints and every test (those that need root are skipped unless you are)
	-@EBB_PACKAGES_FILE=scripts/packages-test.txt scripts/setup
	@scripts/lint
	@scripts/test

test-root: setup ## the tests, without lints and figures, as root through sudo
	@scripts/test --as-root

test-kernels: setup ## the kernel backend's tests on kernels from 5.10 on, in QEMU (KERNELS=6.1: that one)
	@EBB_PACKAGES_FILE=scripts/packages-kernels.txt scripts/setup
	@scripts/test-kernels $(KERNELS)

soak: setup ## kill Ebb at 1000 points, make 10 000 transfers over bad paths, into docs/soak.md (as root)
	@scripts/soak --as-root

fuzz: setup ## search every law and the parser of packets, a minute each (EBB_FUZZ_LAW=cubic: that law)
	EBB_FUZZ_SECONDS=$${EBB_FUZZ_SECONDS:-60} $(CARGO) test --locked -p ebb-algorithms --test fuzz \
		-- --nocapture the_fuzzer_finds_nothing
	EBB_FUZZ_SECONDS=$${EBB_FUZZ_SECONDS:-60} $(CARGO) test --locked -p ebb-packets --test packet \
		-- --nocapture the_parser

check-deep: setup ## what tests of minutes do not find: sanitizers, fuzzers, stress (as root through sudo)
	@scripts/check-deep --as-root

lint: setup ## formatting, clippy, licences, sources of constants
	@scripts/lint

format: ## format Rust and C
	$(CARGO) fmt --all
	git ls-files -z '*.c' '*.h' | xargs -0 --no-run-if-empty clang-format -i

bench: setup ## costs of the kernel programs, the emulated link, the simulator (as root through sudo)
	@scripts/measure --as-root bench

figures: build ## every figure of docs/figures.md, measured again (as root through sudo; 50 minutes)
	$(AS_ROOT) $(EBB) reproduce ebb $(MEASURED)
	$(AS_ROOT) $(EBB) reproduce ebb/kernel $(MEASURED) --runs 2 $(BESIDE)
	$(EBB) reproduce ebb/kernel-uploads --engine sim --fresh --out $(TARGET)/figures-sim --runs 3 $(UPLOADS)
	$(AS_ROOT) $(EBB) reproduce vulture/kernels $(MEASURED) $(OF_VULTURE)
	$(AS_ROOT) $(EBB) reproduce vulture/fig-15 vulture/fig-16 $(MEASURED) $(OF_VULTURE) $(AS_DOWNLOADS) \
		$(call BY_TWO,be) $(call BY_TWO,reverse)
	$(AS_ROOT) $(EBB) reproduce vulture/table-1 $(MEASURED) $(OF_VULTURE) $(AS_DOWNLOADS) \
		$(call BY_TWO,reverse) --set flow.be.connects=receiver --set flow.be.start=5s
	$(AS_ROOT) $(EBB) reproduce vulture/table-2 $(MEASURED) $(OF_VULTURE) $(AS_DOWNLOADS)
	@scripts/measure --as-root both-ways

reproduce: build ## every table and figure of the papers in the simulator, with all runs, into target/reproduced-all
	$(EBB) reproduce --engine sim --out target/reproduced-all --html target/reproduced-all/pages \
		--check experiments/results/sim.csv

reproduce-lab: build ## what the lab runs in full, in real time; goes on where it was broken off (as root through sudo)
	$(AS_ROOT) $(EBB) reproduce $(IN_FULL) --engine lab --out target/reproduced-lab \
		--values target/reproduced-lab/lab.csv

results: build ## experiments/results/: every value with few runs and with all
	$(EBB) reproduce --quick --engine sim --out target/reproduced --values experiments/results/sim-quick.csv
	$(EBB) reproduce --engine sim --out target/reproduced-all --values experiments/results/sim.csv

distances: build ## how far the lab is from the simulator, into experiments/results/distances.csv (as root through sudo; 12 minutes)
	$(AS_ROOT) $(EBB) reproduce engines --engine lab --out target/reproduced-lab \
		--distances experiments/results/distances.csv

reproduce-quick: $(if $(findstring command,$(origin EBB)),setup,build) ## every table and figure of the papers in the simulator, with few runs, into target/pages
	$(EBB) reproduce --quick --engine sim --out target/reproduced --html target/pages \
		--check experiments/results/sim-quick.csv

man: build ## manual pages and what shells complete, into target/man and target/completions
	@$(EBB) man $(TARGET)/man
	@$(EBB) completions $(TARGET)/completions

install: build man library ## install ebb, the service, the library, pages, completions, experiments under PREFIX (/usr/local)
	$(INSTALL) -D -m 755 $(EBB) $(DESTDIR)$(PREFIX)/bin/ebb
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man8 \
		$(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/lib/ebb $(DESTDIR)/etc/ebb $(DOCS)/examples
	$(INSTALL) -m 644 $(TARGET)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	$(INSTALL) -m 644 packaging/ebbd.8 $(DESTDIR)$(PREFIX)/share/man/man8
	$(if $(DESTDIR),,$(AS_ROOT)) ln -sf ../bin/ebb $(DESTDIR)$(PREFIX)/sbin/ebbd
	sed 's|/usr/|$(PREFIX)/|' packaging/ebbd.service > $(TARGET)/ebbd.service
	$(INSTALL) -D -m 644 $(TARGET)/ebbd.service $(DESTDIR)$(PREFIX)/lib/systemd/system/ebbd.service
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/include library/include/ebb.h library/include/ebb_laws.h
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(TARGET)/release/libebb.a $(TARGET)/release/libebb.so.$(LIBRARY_VERSION) $(DESTDIR)$(LIBDIR)
	$(if $(DESTDIR),,$(AS_ROOT)) cp -d $(TARGET)/release/libebb.so $(TARGET)/release/libebb.so.0 $(DESTDIR)$(LIBDIR)
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(LIBRARY_VERSION)|' library/ebb.pc.in \
		> $(TARGET)/ebb.pc
	$(INSTALL) -m 644 $(TARGET)/ebb.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	$(if $(DESTDIR),,$(AS_ROOT) ldconfig)
	$(INSTALL) -m 644 packaging/rules/*.toml $(DOCS)/examples
	$(INSTALL) -m 644 packaging/grafana/ebb.json $(DOCS)/examples/grafana.json
	$(INSTALL) -m 644 docs/administration.md $(DOCS)
	$(INSTALL) -D -m 644 $(TARGET)/completions/ebb.bash $(COMPLETIONS)/bash-completion/completions/ebb
	$(INSTALL) -D -m 644 $(TARGET)/completions/_ebb $(COMPLETIONS)/zsh/site-functions/_ebb
	$(INSTALL) -D -m 644 $(TARGET)/completions/ebb.fish \
		$(COMPLETIONS)/fish/vendor_completions.d/ebb.fish
	for file in $(DATA); do \
		$(INSTALL) -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/ebb/$$file || exit 1; \
	done

uninstall: ## remove what install put there
	$(if $(DESTDIR),,$(AS_ROOT)) rm -f $(DESTDIR)$(PREFIX)/bin/ebb $(DESTDIR)$(PREFIX)/share/man/man1/ebb.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/ebb-*.1
	$(if $(DESTDIR),,$(AS_ROOT)) rm -f $(DESTDIR)$(PREFIX)/sbin/ebbd \
		$(DESTDIR)$(PREFIX)/share/man/man8/ebbd.8 $(DESTDIR)$(PREFIX)/lib/systemd/system/ebbd.service \
		$(COMPLETIONS)/bash-completion/completions/ebb $(COMPLETIONS)/zsh/site-functions/_ebb \
		$(COMPLETIONS)/fish/vendor_completions.d/ebb.fish
	$(if $(DESTDIR),,$(AS_ROOT)) rm -f $(DESTDIR)$(PREFIX)/include/ebb.h $(DESTDIR)$(PREFIX)/include/ebb_laws.h \
		$(DESTDIR)$(LIBDIR)/libebb.* $(DESTDIR)$(LIBDIR)/pkgconfig/ebb.pc
	$(if $(DESTDIR),,$(AS_ROOT)) rm -rf $(DESTDIR)$(PREFIX)/share/ebb $(DOCS)
	-$(if $(DESTDIR),,$(AS_ROOT)) rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/lib/ebb $(DESTDIR)/etc/ebb

deb: build man library ## a Debian package, into target/packages
	@EBB_PACKAGES_FILE=scripts/packages-packaging.txt scripts/setup
	@scripts/package deb $(EBB)

rpm: build man library ## a package for RPM, into target/packages
	@EBB_PACKAGES_FILE=scripts/packages-packaging.txt scripts/setup
	@scripts/package rpm $(EBB)

container: deb ## an image of the service, with Podman, of the Debian package (BASE=IMAGE: of that one)
	@scripts/container "$$(ls -t $(TARGET)/packages/ebb_*.deb | head -n 1)"

test-container: build man library ## build that image without a registry, and have it govern what is outside (as root)
	@EBB_PACKAGES_FILE=scripts/packages-packaging.txt scripts/setup
	@EBB_PACKAGES_FILE=scripts/packages-test.txt scripts/setup
	@$(AS_ROOT) scripts/test-container $(EBB)

test-packages: build man library ## install, upgrade and purge the Debian package in a clean root (as root)
	@EBB_PACKAGES_FILE=scripts/packages-packaging.txt scripts/setup
	@$(AS_ROOT) scripts/test-packages $(EBB)

