# SPDX-License-Identifier: Apache-2.0

# Every target runs on a fresh machine with Go (race: and a C compiler); what else it needs, it builds.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# How long each fuzz function runs. By default go test would spend most of it on making inputs smaller
# that reach new code: their size does not matter here.
FUZZTIME ?= 1m
# The modules with code of their own: this one and those inside it.
MODULES = $(shell find . -name go.mod -not -path '*/testdata/*' -not -path './.*' -not -path './internal/tools/*' | sort | xargs -n1 dirname)

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

.PHONY: check
check: format vet staticcheck style ## formatting, vet, staticcheck, sizes, documented exports, api.txt

.PHONY: format
format:
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w FILE):"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet:
	@for module in $(MODULES); do echo "vet $$module"; (cd "$$module" && $(GO) vet ./...); done

.PHONY: staticcheck
staticcheck:
	@$(GO) build -C internal/tools -o "$(CURDIR)/bin/staticcheck" honnef.co/go/tools/cmd/staticcheck
	@for module in $(MODULES); do echo "staticcheck $$module"; (cd "$$module" && "$(CURDIR)/bin/staticcheck" ./...); done

.PHONY: style
style:
	@echo "sizes, documentation, api.txt"
	@$(GO) run ./internal/check -sizes -docs -api=check

.PHONY: test
test: ## all tests of this module
	$(GO) test ./...

.PHONY: race
race: ## the same with the race detector, in random order
	$(GO) test -race -shuffle=on ./...

.PHONY: hammer
hammer: ## the model, the race hammer and the blocked handler at full length
	$(GO) test -race -timeout=30m -run='^(TestModel|TestHammer|TestHammerUnion)$$' . -model.steps=100000 -hammer.rounds=10000
	$(GO) test -run='^TestBlockedHandlerIsBounded$$' . -blocked.updates=1000000

.PHONY: e2e
e2e: ## tests against a real kube-apiserver and etcd, built on first use
	cd e2e && $(GO) test -timeout=45m ./...

.PHONY: bench
bench: ## the benchmarks and their figures
	cd bench && $(GO) run .

.PHONY: bench-quick
bench-quick: ## the short form of the benchmarks, with the check of memory
	cd bench && $(GO) run . -quick

.PHONY: fuzz
fuzz: ## each fuzz function for FUZZTIME (1m)
	@listed=$$($(GO) test -list '^Fuzz' ./...); \
	while read -r package name; do \
		echo "fuzz $$package $$name"; \
		GO="$(GO)" FUZZTIME="$(FUZZTIME)" .ci/fuzz "$$package" "$$name"; \
	done < <(awk '/^Fuzz/ { names[++n] = $$1 } $$1 == "ok" { for (i = 1; i <= n; i++) print $$2, names[i]; n = 0 }' <<<"$$listed")

.PHONY: api
api: ## write api.txt, the exported names
	$(GO) run ./internal/check -api=write

.PHONY: quickstart
quickstart: ## a mirror that follows a server through trouble
	$(GO) run ./examples/quickstart
