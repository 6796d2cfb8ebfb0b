# make soak    builds, makes 60 audio files and tiny models, soaks the pipeline over them, reports
# make test    linter, vet, every test, a short soak of the real pipeline: minutes
#
# make check-fast tests what a change touches, in seconds. make test-all runs every test that this
# machine can run, in a night. docs/reference/testing.md says what each of them finds.
#
# make soak FAULT=leak:4MiB shows a failure. ARGS='--isolate whisper' adds flags for the pipeline;
# see README.md and bin/gpupipeline --help. If a recipe fails, make itself exits with 2; the exit
# code of the verdict is in make's message: "Error 1".

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.ONESHELL:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# The folder of whisper.cpp; NATIVE=none builds and tests without it.
NATIVE ?= .build/native
FAULT ?=
ARGS ?=
FILES ?= 60
# Size of the model that measures voices.
EMBEDDING ?= 48MiB

# go-nvml's headers deprecate functions that its bindings still use.
export CGO_CFLAGS := -O2 -g -Wno-deprecated-declarations

# with_native sets up the environment and the build tag of the native pipeline, if it is available.
with_native = tags=; if [ "$(NATIVE)" != none ] && [ -f $(NATIVE)/env ]; then . $(NATIVE)/env; tags=-tags=whisper; fi

.PHONY: build
build: bin/vramsoak pipeline

# Always run go build: Go knows which files have changed, make does not.
.PHONY: bin/vramsoak
bin/vramsoak:
	go build -buildvcs=auto -o $@ ./cmd/vramsoak

.PHONY: native
native:
	@if [ "$(NATIVE)" = none ]; then echo "NATIVE=none: without whisper.cpp, and so without bin/gpupipeline"; exit 0; fi
	ci/native.sh $(NATIVE) || [ $$? -eq 3 ]

.PHONY: pipeline
pipeline: native
	@$(with_native)
	if [ "$$tags" ]; then go build $$tags -o bin/gpupipeline ./cmd/gpupipeline; ci/sherpa.sh bin/lib; else rm -f bin/gpupipeline; fi

.PHONY: fixtures
fixtures: bin/vramsoak
	@bin/vramsoak fixtures audio .build/audio-$(FILES) --count $(FILES) --seconds 5-20 --seed 1
	bin/vramsoak fixtures model .build/model --embedding-size $(EMBEDDING)

.PHONY: soak
soak: build fixtures
	@[ -x bin/gpupipeline ] || { echo "make soak: not run: whisper.cpp is not available here (see above)" >&2; exit 2; }
	nvidia-smi -L 2>/dev/null || echo "no GPU here: the device is this machine's memory, the readings are the C allocator's"
	ci/soak-policy.sh >.build/soak.yaml
	bin/vramsoak soak --files .build/audio-$(FILES) --feed stdin --timeout 20s --policy .build/soak.yaml -- \
	  bin/gpupipeline --model .build/model/ggml-soak.bin --segmentation .build/model/segmentation.onnx \
	  --embedding .build/model/embedding.onnx --text-model .build/model/text.onnx \
	  --text-model-fast .build/model/text-small.onnx --out .build/transcripts --formats json,srt,vtt,rttm \
	  --truth .build/audio-$(FILES)/manifest.json --stdin $(addprefix --fault ,$(FAULT)) $(ARGS)

.PHONY: test
test: build lint vet unit short-soak

# For work on the code: builds and vets everything, and runs the quick tests (-short, without -race)
# of the packages that a change since BASE touches. See ci/touched.sh.
BASE ?= $(shell git rev-parse -q --verify main || git rev-parse -q --verify origin/main || echo HEAD)
.PHONY: check-fast
check-fast:
	@$(with_native)
	touched=$$(ci/touched.sh $(BASE) $$tags)
	if [ ! "$$touched" ]; then echo "check-fast: no package is touched by the changes since $(BASE)"; exit 0; fi
	go build $$tags ./...
	go vet $$tags ./...
	go test -short $$tags $$touched

.PHONY: lint
lint:
	@$(with_native)
	go tool -modfile=ci/lint/go.mod golangci-lint run $${tags:+--build-tags=whisper} ./...

.PHONY: vet
vet:
	@$(with_native)
	go vet $$tags ./...

# ci/race.sh lists the packages that start goroutines. They are tested with the race detector, which
# cannot find anything in the others. The scripts of cmd/vramsoak run without it: they start the
# program hundreds of times, and its packages have their own tests. A process with the race detector
# waits a second before it exits, unless GORACE says otherwise.
TESTFLAGS ?=
export GORACE ?= atexit_sleep_ms=0
scripts = vramsoak/cmd/vramsoak
.PHONY: unit
unit:
	@$(with_native)
	python3 -c '' 2>/dev/null || echo "Python: not run: no python3 here; vramlog.py and the Python examples are not tested"
	command -v tmux >/dev/null || echo "tmux: not run: no tmux here; the live view is not tested in a terminal"
	go test -race -timeout 30m $(TESTFLAGS) $$tags $$(ci/race.sh $$tags | grep -vx $(scripts))
	go test -timeout 30m $(TESTFLAGS) $$tags $$(ci/race.sh -v $$tags) $(scripts)

# Runs the tests of every package with the race detector, also of packages that start no goroutines.
.PHONY: test-race
test-race:
	@$(with_native)
	go test -race -count=1 -timeout 60m $$tags ./...

# Injects each fault into the batch of each program, and into each log of fixtures/ that passes, in
# every wrapper (fixtures/wrapper). None may pass, and no wrapper may change a clean log. make test
# tries a fixed sample of this.
.PHONY: test-mutated
test-mutated:
	go test -count=1 -v -run 'Mutated|WrappersChangeNothing' ./harness/check -mutate.all | \
		grep -Ev '^ *(=== |--- PASS)'

# Breaks the code on purpose, one way at a time (ci/breaks.txt), and shows which test catches each
# break. At the sizes of make test, a test must catch every one.
.PHONY: test-breaks
test-breaks:
	@ci/breaks.sh

# Makes N small breaks in a package, drawn by SEED, and lists those that the package's own tests do
# not catch.
PKG ?= ./harness/shape
N ?= 50
SEED ?= 1
.PHONY: test-mutants
test-mutants:
	@go run ./ci/mutants -n $(N) -seed $(SEED) $(PKG)

# Soaks a batch in shards on a Slurm cluster of two nodes, which it starts here, and kills tasks and
# nodes. Installs Slurm if it is missing and this user may do so; else says that it did not run.
.PHONY: test-slurm
test-slurm:
	@ci/slurm/install.sh || { echo "make test-slurm: not run: see above"; exit 0; }
	SLURM=1 go test -count=1 -timeout 20m -v ./ci/slurm

# Soaks a batch in shards with Indexed Jobs, on the real control plane of Kubernetes, which it builds
# and starts here. Pods and nodes are killed. ci/kubernetes/README.md says what takes how long.
.PHONY: test-kubernetes
test-kubernetes: bin/vramsoak
	@ci/kubernetes/run.sh

# Runs shards in a bucket of a real S3 server (versitygw, data on the disk), which is killed and
# started again while they write. Proxies before it are slow, break connections and cut answers off.
.PHONY: test-s3
test-s3:
	@ci/s3/build.sh .build/versitygw || { echo "make test-s3: not run: see above"; exit 0; }
	VERSITYGW=$(CURDIR)/.build/versitygw go test -count=1 -timeout 20m -v -run TestServer ./harness/bucket ./cmd/vramsoak

# Opens HTML reports in Chromium, without a network. What is missing is named and not run.
.PHONY: test-browser
test-browser: bin/vramsoak
	@ci/test-browser.sh

# Runs every test that this machine can run, in a night: make test, the race detector everywhere,
# hundreds of killed runs, the statistics on large samples, the model of the allocator against
# PyTorch's own allocator, and a GPU. The last lines name each part: ok, FAILED or not run.
.PHONY: test-all
test-all:
	@ci/test-all.sh

# Prints the seconds that each package takes in make test, without cached results: the wall time,
# and the processor time of all cores together. The longest come first.
.PHONY: test-times
test-times:
	@mkdir -p .build
	ci/test-times.sh .build/test-times

# Kills runs at any instant and resumes them: 200 runs of each kind, more than in make test.
.PHONY: test-kill
test-kill:
	KILL_CASES=200 go test -race -count=1 -timeout 60m -run KilledAtAnyInstant -v ./harness
	KILL_CASES=100 go test -count=1 -timeout 60m -run ShardsKilledAtAnyInstant -v ./cmd/vramsoak

# Soaks the real pipeline over 8 files and checks the verdicts: pass if clean, fail if it leaks.
.PHONY: short-soak
short-soak: build
	@if [ ! -x bin/gpupipeline ]; then echo "short soak: not run: whisper.cpp is not available here"; exit 0; fi
	ci/short-soak.sh

# Runs the tests that need a GPU: NVML's readings, and soaks of both pipelines (ci/gpu-soak.sh).
# Without a GPU it says so.
.PHONY: test-gpu
test-gpu: build
	@if nvidia-smi -L >/dev/null 2>&1; then go test -tags=gpu -count=1 -v ./pipeline/meter; fi
	ci/gpu-soak.sh

# Opens traces of vramsoak export in Perfetto's own trace processor, which ci/perfetto/fetch.sh gets.
.PHONY: test-perfetto
test-perfetto:
	@ci/perfetto/fetch.sh .build/perfetto || { echo "make test-perfetto: not run: see above" >&2; exit 3; }
	TRACE_PROCESSOR=$(CURDIR)/.build/perfetto go test -count=1 -v -run TraceProcessor ./reports/export

# Starts a Prometheus that scrapes a soak, and runs each query of Grafana's dashboard. Reads exports
# with Prometheus's own parser, from the module in ci/prometheus.
.PHONY: test-prometheus
test-prometheus:
	@command -v prometheus >/dev/null || { echo "make test-prometheus: not run: prometheus is missing; on Debian: apt-get install prometheus" >&2; exit 3; }
	PROMETHEUS=1 go test -count=1 -v -run 'Prometheus|Promtool|HostileNames' ./cmd/vramsoak ./reports/export

# Runs the same 60 files through the pipeline alone and under soak, in turn. Prints both times and
# their ratio.
.PHONY: bench-overhead
bench-overhead: build fixtures
	@ci/bench-overhead.sh .build/audio-$(FILES) .build/model/ggml-soak.bin

# Measures the harness itself: its memory over 10,000 files, and its share of a core.
.PHONY: bench-harness
bench-harness: bin/vramsoak
	@mkdir -p .build
	ci/bench-harness.sh

# Measures how long Chromium needs to draw the report of 5,000 files with 95,000 checkpoints, and of
# 60 files, and prints their ratio.
.PHONY: bench-page
bench-page: bin/vramsoak
	@CHROMIUM=$$(ci/chromium.sh) || { echo "make bench-page: not run" >&2; exit 3; }
	export CHROMIUM
	cd ci/browser
	go test -count=1 -run '^$$' -bench Draw -benchtime 10x ./...

# Compares the model of PyTorch's allocator with PyTorch's own, built by ci/oracle: on TRACES random
# traces of EVENTS operations over all settings, on the fuzzer's findings, and on recorded programs
# (the snapshots in fixtures/logs/torch_snapshot, h100 and h200). It takes some minutes.
TRACES ?= 200
EVENTS ?= 100000
.PHONY: oracle
oracle: bin/vramsoak
	@ci/oracle/build.sh .build/oracle || { echo "make oracle: not run: see above" >&2; exit 3; }
	ci/oracle/record.sh .build/oracle/recorded
	ORACLE=$(CURDIR)/.build/oracle/replay nice go test -count=1 -timeout 120m -v -run 'Oracle|Recorded|Golden|RandomTraces|Fuzz' \
	  ./pipeline/allocator/trace -oracle.traces=$(TRACES) -oracle.events=$(EVENTS) -oracle.keep=$(CURDIR)/.build/oracle/differences \
	  -oracle.recorded=$(CURDIR)/.build/oracle/recorded | grep -vE '^(=== RUN|=== NAME| *--- PASS)'

# Measures PyTorch's own allocator and the model on the same traces, in turn: events per second, and
# the model's memory.
.PHONY: bench-allocator
bench-allocator: bin/vramsoak
	@ci/oracle/build.sh .build/oracle || { echo "make bench-allocator: not run: see above" >&2; exit 3; }
	ORACLE=$(CURDIR)/.build/oracle/replay VRAMSOAK=$(CURDIR)/bin/vramsoak go test -count=1 -run Speed -bench Model -timeout 60m -v \
	  ./pipeline/allocator/trace | grep -vE '^(=== RUN|--- PASS|PASS|goos|goarch|pkg)'

# Simulates runs of up to SHARDS shards of 1,000 files each (about 900 kB of log a shard) and judges
# each. Prints time and memory by the number of shards.
SHARDS ?= 10000
.PHONY: bench-shards
bench-shards: bin/vramsoak
	@ci/bench-shards.sh $(SHARDS)

# Compares vramsoak check on large logs of four kinds (SIZE each) with ripgrep and with grep and
# awk, in turn. Prints the table of docs/explanation/reading-speed.md.
SIZE ?= 1GB
.PHONY: bench-parse
bench-parse: bin/vramsoak
	@ci/bench-parse.sh $(SIZE)

# Draws all pictures of README.md and docs/, except for screenshots of the HTML report. make test
# fails if one of them is not what the program draws.
.PHONY: docs-pictures
docs-pictures:
	UPDATE=1 go test -count=1 -run 'DocsPictures$$' ./docs ./reports/plots/overfiles ./reports/plots/overruns

# Measures how often change points are false alarms, and how often real changes are found. Prints
# the tables of docs/explanation/change-points.md.
.PHONY: bench-history
bench-history:
	nice go test -timeout 60m -run 'TestFalseAlarms|TestPower' -bench Find -benchtime 2x -v ./harness/history/changepoint -args -histories 2000 -tries 100
	nice go test -timeout 60m -run TestNightByNight -v ./harness/history -args -nightly.tries 40

# Judges labelled series of other projects. Clone each into a folder of REFERENCE:
#   TCPD                          https://github.com/alan-turing-institute/TCPD
#   signal-processing-algorithms  https://github.com/mongodb/signal-processing-algorithms
#   otava                         https://github.com/apache/otava
# The target downloads nothing. It says NOT RUN for what is not there.
REFERENCE ?= .build/reference
.PHONY: bench-reference
bench-reference:
	VRAMSOAK_REFERENCE=$(abspath $(REFERENCE)) go test -count=1 -run 'TestTuring|TestMongoDB|TestOtava' -v ./harness/history/changepoint

# Judges a labelled corpus of clean and leaking runs, 10,000 of each clean kind. Prints the tables
# of docs/explanation/false-alarms.md.
RUNS ?= 10000
.PHONY: bench-verdicts
bench-verdicts:
	@mkdir -p .build
	go test ./harness/shape -count=1 -run TestFrontier -v -frontier.runs=400000 | grep 'the best rule'
	go test ./harness/compare -count=1 -run TestFalseAlarms -timeout 60m -alarms.runs=$(RUNS)
	go test ./harness/shape -count=1 -run TestCritical -timeout 60m -critical.runs=100000
	go test ./harness/check -count=1 -run 'Verdicts$$' -timeout 150m -verdicts.runs=$(RUNS) -family.runs=3000 -verdicts.table=$$PWD/.build/verdicts.md
	go test ./harness/pool -count=1 -run 'Verdicts$$' -timeout 150m -pool.series=$(RUNS) -pool.runs=1000 -pool.table=$$PWD/.build/verdicts-pool.md
	cat .build/verdicts.md .build/verdicts-printed.md .build/verdicts-resources.md .build/verdicts-families.md \
		.build/verdicts-readings.md .build/verdicts-slowdowns.md .build/verdicts-pool.md

.PHONY: clean
clean:
	rm -rf bin .build
