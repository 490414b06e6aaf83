# Everything a user or a contributor runs. `make help` lists it.

GO                ?= go
BIN               := bin
VERSION           := $(shell cat VERSION)
REVISION          := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
BRANCH            := $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
VERSION_PKG       := github.com/prometheus/common/version
# -s -w: without symbols for a debugger, which are a third of a program; stack traces need none.
LDFLAGS           := -s -w -X $(VERSION_PKG).Version=$(VERSION) -X $(VERSION_PKG).Revision=$(REVISION) -X $(VERSION_PKG).Branch=$(BRANCH)
GOLANGCI_VERSION  := v2.15.0
GOLANGCI          := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
# As deploy/go.mod has it, where it is called v0.315.0.
PROMETHEUS_VERSION := 3.15.0
PROMETHEUS        := $(BIN)/tools/prometheus $(BIN)/tools/promtool
NFPM              := $(BIN)/tools/nfpm
FUZZTIME          ?= 30s
SOAK              ?= 10m
SEED              ?= 1
SEEDS             ?= 20
# What only draws, counts, compresses and matches, in one goroutine: the race detector made each picture take
# seconds. Nothing that instantiates a generic type of sync may be here: the linker would take its copy, and see races
# that are none.
UNWATCHED         := codeberg.org git.sr.ht github.com/ajstarks github.com/golang/freetype github.com/HdrHistogram gonum.org golang.org/x/image image compress regexp

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list.
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the programs into bin/.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...
	@mkdir -p $(BIN)/fake && for tool in mx-smi npu-smi hccn_tool nvidia-smi hy-smi ixsmi xpu_smi mthreads-gmi efsmi; do ln -sf ../fakehost $(BIN)/fake/$$tool; done

.PHONY: run
run: build ## Run the exporter against stand-ins for the cards of DEMO_VENDORS (metax ascend) and for vLLM; Ctrl-C ends it.
	@exec ./deploy/demo/run.sh $(BIN)

# -cpu 1: two threads that fire timers of one synctest bubble break the race detector (golang.org/issue/78156, Go 1.26).
.PHONY: test
test: ## Test the programs with the race detector: no network, no root, no accelerator.
	@command -v $${CC:-cc} >/dev/null || { echo "make test needs a C compiler for the race detector (Debian: gcc libc6-dev)" >&2; exit 1; }
	@[ -d ../shared/captures ] || echo "make test: no ../shared/captures, so outputs of real tools are not parsed" >&2
	$(GO) test -race -cpu 1 -vet=off $(UNWATCHED:%='-gcflags=%/...=-race=false') $$($(GO) list ./... | grep -v /dashboards) # make lint vets

.PHONY: test-deploy
test-deploy: ## Test dashboards, rules, units, image, compose files and chart: needs modules of Prometheus, Grafana and Helm.
	@command -v promtool >/dev/null || [ -x $(BIN)/tools/promtool ] || echo "make test-deploy: no promtool, so alert rules are not tested (Debian: prometheus; or make tools)" >&2
	$(GO) test -vet=off ./dashboards/...
	$(GO) test -C deploy -vet=off ./...

.PHONY: e2e
e2e: build $(PROMETHEUS) ## Run the programs as a user would, and the alerts with Prometheus and Alertmanager.
	$(GO) test -race -count=1 -timeout 30m -tags e2e -run '^TestEndToEnd$$' ./cmd/...
	GOGC=400 $(GO) test -count=1 -timeout 30m -tags e2e -run '^TestAFault|^TestSimulation$$' ./cmd/accelerator_exporter -seeds 20
	$(GO) test -C deploy -count=1 -timeout 30m -tags e2e -run '^TestEndToEnd$$' ./e2e ./dist

.PHONY: e2e-soak
e2e-soak: ## Let everything around the exporter misbehave for SOAK (10m), with real tools and servers, and look at what it holds.
	$(GO) test -count=1 -timeout 0 -v -tags e2e -run '^TestSoak$$' ./cmd/accelerator_exporter -soak $(SOAK)

.PHONY: simulate
simulate: ## Let everything around the exporter misbehave for a week of virtual time, with SEEDS random seeds (20) from SEED (1) on.
	GOGC=400 $(GO) test -count=1 -timeout 0 -tags e2e -run '^TestSimulation$$' ./cmd/accelerator_exporter -seed $(SEED) -seeds $(SEEDS)

.PHONY: e2e-numa
e2e-numa: $(BIN)/tools/numa ## Compare the exporter with numactl on a kernel with four NUMA nodes, in QEMU; takes minutes.
	$(GO) test -C deploy -count=1 -timeout 30m -tags e2e_numa -run '^TestEndToEnd$$' ./numa

# The guest's kernel and shell are Debian's, unpacked and not installed.
$(BIN)/tools/numa:
	rm -rf $@.new && mkdir -p $@.new/deb
	cd $@.new/deb && apt-get download busybox-static $$(apt-cache depends linux-image-cloud-amd64 | awk '$$1 == "Depends:" && $$2 ~ /^linux-image-/ {print $$2; exit}')
	for deb in $@.new/deb/*.deb; do dpkg -x $$deb $@.new || exit 1; done
	mv $@.new $@

# Prometheus 3 beside a distribution's 2: from its module, without the service discoveries.
$(PROMETHEUS) &: deploy/go.mod
	$(GO) build -C deploy -tags remove_all_sd -trimpath -ldflags='-s -w -X $(VERSION_PKG).Version=$(PROMETHEUS_VERSION)' -o ../$(BIN)/tools/ \
		github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
	@touch $(PROMETHEUS)

$(NFPM): deploy/go.mod
	env -u GOOS -u GOARCH $(GO) build -C deploy -trimpath -ldflags='-s -w' -o ../$@ github.com/goreleaser/nfpm/v2/cmd/nfpm
	@touch $@

.PHONY: tools
tools: $(PROMETHEUS) $(NFPM) ## Build Prometheus 3, its promtool and nfpm, which makes packages, into bin/tools.

.PHONY: image
image: ## Build the container image (BUILDER=docker, podman or buildah; PREBUILT=1 without a base image).
	./deploy/container/build.sh

.PHONY: dist
dist: ## Build a release into dist/: programs for linux/amd64 and arm64, packages, the chart, digests.
	rm -rf dist
	./deploy/dist/build.sh dist

.PHONY: dist-check
dist-check: ## Build the release of dist/ again, elsewhere and from nothing, and compare the digests.
	./deploy/dist/check.sh dist

.PHONY: dashboards
dashboards: ## Write dashboards/grafana from the Go code beside it.
	$(GO) run ./dashboards/generate

.PHONY: docs
docs: ## Write the golden expositions and the metrics reference from the code.
	$(GO) test ./cmd/accelerator_exporter ./cmd/accelbench ./bench/fakevllm -count=1 -run '^TestExposition$$' -update
	$(GO) test ./docs -count=1 -run '^TestMetricsReference$$' -update

.PHONY: lint
lint: $(GOLANGCI) ## Run the linters.
	$(GOLANGCI) run ./...
	cd deploy && $(CURDIR)/$(GOLANGCI) run --config ../.golangci.yml ./...
	@command -v shellcheck >/dev/null || { echo "make lint needs shellcheck for the scripts (Debian: shellcheck)" >&2; exit 1; }
	shellcheck --external-sources --source-path=. .ci/run deploy/*.sh deploy/*/*.sh

$(GOLANGCI):
	@mkdir -p $(BIN)
	GOBIN=$(CURDIR)/$(BIN)/.install GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/.install/golangci-lint $@

.PHONY: fuzz
fuzz: ## Fuzz every parser and the stream reader for FUZZTIME (30s) each.
	@$(GO) list ./... | while read -r package; do \
		for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$package" || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Run the benchmarks.
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-truth
bench-truth: ## Measure the error of the measurement against a server that knows the truth; takes 2 minutes.
	@$(GO) test -run '^$$' -bench '^BenchmarkTruth$$' -benchtime 1x ./bench/openai

.PHONY: oracle
oracle: ## Compare accelbench and vLLM's own tool with a real vLLM in the folder ORACLE (deploy/oracle/setup.sh FOLDER); takes minutes.
	$(GO) test -tags e2e,oracle -count=1 -timeout 1h -v -run '^TestOracle$$' ./cmd/accelbench -oracle $(abspath $(ORACLE))

.PHONY: bench-peers
bench-peers: ## Compare accelbench's errors with those of vLLM's tool and of its port to Rust in the folder ORACLE, as far as it has them; takes 20 minutes.
	$(GO) test -tags peers -count=1 -timeout 2h -v -run '^TestPeers$$' ./bench/openai -peers $(abspath $(ORACLE))

.PHONY: bench-capacity
bench-capacity: ## Ask accelbench capacity for answers that are known; takes 45 minutes.
	@$(GO) test -tags e2e -run '^$$' -bench '^BenchmarkCapacity$$' -benchtime 1x -timeout 3h ./cmd/accelbench
