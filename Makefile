# `make` prints what there is. Every target does its own set-up.
SHELL := /bin/bash
BIN := bin/syncsql
CACHE := $(CURDIR)/.cache
GOLANGCI := $(CACHE)/bin/golangci-lint
GOLANGCI_VERSION := v2.15.0
FUZZTIME ?= 5s
SEEDS ?= 20000
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# package:target of every fuzzer; `make fuzz FUZZTIME=5m` runs each for five minutes.
FUZZ := $(shell grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | \
	sed -E 's|^(.*)/[^/]+:[0-9]+:func (Fuzz.*)$$|\1:\2|')

.PHONY: help setup demo test build race sqllogic sim fuzz bench chaos lint verify docs

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## bin/syncsql
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/syncsql

demo: build ## the main job end to end on this machine: a changelog, an exactly-once sink, a kill in the middle
	$(BIN) demo

setup: ## what the tests need and the machine lacks (a Postgres server)
	@./scripts/setup.sh

test: setup ## every test: unit with -race, sqllogic, simulation, connectors, real Postgres
	go vet ./...
	go test -race -timeout 20m ./...

race: test ## the same as test: the race detector is always on there

sqllogic: ## the scripts in tests/sqllogic alone
	go test -count=1 ./tests/sqllogic

sim: ## the simulator over SEEDS seeds (20,000)
	go test -count=1 -timeout 60m ./exec -run 'TestSimulation' -sim.seeds=$(SEEDS)

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for t in $(FUZZ); do echo "fuzz $$t $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${t#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $${t%%:*} > $(CACHE)/fuzz.log 2>&1 || { cat $(CACHE)/fuzz.log; exit 1; }; done

bench: build setup ## syncsql against native replication and psql | psql, two real clusters, ratios (BENCH_ARGS: see tests/bench)
	go run ./tests/bench -bin $(BIN) $(BENCH_ARGS)

chaos: build setup ## 50 kills of syncsql under pgbench, then every row compared (CHAOS_ARGS: see tests/chaos)
	go run ./tests/chaos -bin $(BIN) $(CHAOS_ARGS)

lint: $(GOLANGCI) ## golangci-lint with the rules of .golangci.yml
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@mkdir -p $(CACHE)/bin
	@if command -v golangci-lint >/dev/null; then ln -sf "$$(command -v golangci-lint)" $@; else \
		echo "building golangci-lint $(GOLANGCI_VERSION)"; GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION); fi

docs: build ## the generated pages in docs/
	./scripts/docs.sh

verify: build test lint ## what CI runs: test, lint, generated docs, a short fuzz, the demo
	@mkdir -p $(CACHE)
	./scripts/docs.sh --check
	$(MAKE) fuzz FUZZTIME=3s
	$(BIN) demo
