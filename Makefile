# All set-up is in these targets: a machine with Go needs nothing else.
.PHONY: test race lint fuzz bench conform generate cuda-sim cuda-sim-test

GO ?= go
FUZZTIME ?= 20s
CASES ?= ../shared/onnx-node-tests
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Every test, and the CPU device against the oracle. ONNX's backend test cases
# (onnx/backend/test/data/node of an ONNX checkout) are run from the folder CASES,
# if there is one.
test:
	$(GO) test ./...
	$(GO) run ./cmd/restride verify --device cpu --cases 20000 --seed 1
	@if [ -d "$(CASES)" ]; then set -x; $(GO) run ./cmd/restride conform "$(CASES)" --device cpu; \
	else echo "conform: skipped, there is no folder $(CASES); name one with CASES="; fi

race:
	$(GO) test -race -short ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# Each fuzz target for FUZZTIME.
fuzz:
	GO=$(GO) FUZZTIME=$(FUZZTIME) sh scripts/fuzz.sh

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Generated files: the protobuf code (needs protoc: Debian's protobuf-compiler)
# and the example model.
generate:
	$(GO) generate ./internal/onnxpb
	$(GO) run ./examples/attention examples/attention/attention.onnx

# The CUDA driver simulator, for tests (see cuda/simulator): needs g++. Its own
# test runs plain and under the sanitizers.
cuda-sim:
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim

cuda-sim-test:
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim test
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim/asan SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined" test
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim/tsan SANITIZE=-fsanitize=thread test
