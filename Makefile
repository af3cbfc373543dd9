# All set-up is in these targets: a machine with Go needs nothing else.
.PHONY: setup test soak adversary race lint fuzz bench bench-peers quant-peers onnx-peers results repack-speed generate ptx cuda-sim cuda-sim-test gl-shim cubins gorgonia gogl adapters emulated gpu-bundle gpu-bundle-test gpu-model

GO ?= go
TEST ?= $(GO) test
FUZZTIME ?= 20s
CASES ?= $(firstword $(wildcard ../shared/onnx-node-tests) build/onnx-cases)
# Modules of this repository that no other depends on. The generators of assembly import their
# dialect with a dot (ST1001).
MODULES = internal/bench/peers/go internal/simd/asm internal/licenses
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
# Besides this machine's: checks for one processor or system miss errors in code for another.
TARGETS = linux/arm64 windows/amd64

# Mesa's rusticl has no devices unless enabled.
export RUSTICL_ENABLE ?= llvmpipe

# The optional tools of the tests besides Go, where they can be installed.
setup:
	@sh scripts/setup.sh
	@sh scripts/cases.sh
	@sh adapters/onnxruntime/setup.sh

# Every test, and every device against the oracle. ONNX's backend test cases run from
# build/onnx-cases and, if it exists, from the folder CASES.
test: setup
	$(TEST) -timeout 30m ./...
	GO=$(GO) CASES="$(CASES)" sh scripts/devices.sh

# Everything that make test samples, at length: the suites in full; random cases and random
# input (make adversary) on every device, and every fuzz target, for SOAKTIME seconds each. It
# lasts hours.
SOAKTIME ?= 300
soak: setup
	GO=$(GO) CASES="$(CASES)" SOAKTIME=$(SOAKTIME) sh scripts/soak.sh

# Random input for every device (cmd/soak), ADVERSARYTIME seconds each.
ADVERSARYTIME ?= 60
adversary: setup
	GO=$(GO) SOAKTIME=$(ADVERSARYTIME) sh scripts/adversary.sh

# The packages that start goroutines or timers, themselves or in their tests: the race detector
# finds nothing in others, nor in what a browser shows (internal/bench/page). Adapters are always
# tested with it.
CONCURRENT = $$(grep -rlE --include='*.go' --exclude-dir=build --exclude-dir=go --exclude-dir=asm --exclude-dir=licenses --exclude-dir=adapters --exclude-dir=page \
	'\.Go\(|\bgo [A-Za-z_.]+\(|AfterFunc\(' . | xargs -n 1 dirname | sort -u)
race:
	$(TEST) -race -short -timeout 30m $(CONCURRENT)

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	GOBIN=$(CURDIR)/build $(GO) install $(STATICCHECK)
	build/staticcheck ./...
	for target in $(TARGETS); do GOOS=$${target%/*} GOARCH=$${target#*/} build/staticcheck ./... || exit; done
	for module in $(MODULES); do (cd $$module && $(GO) vet ./... && $(CURDIR)/build/staticcheck -checks inherit,-ST1001 ./...) || exit; done

# Each fuzz target for FUZZTIME.
fuzz:
	GO=$(GO) FUZZTIME=$(FUZZTIME) sh scripts/fuzz.sh

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# restride bench next to other libraries, as far as available: a program in build/peers for
# each, for --peer. See the script for PEERS, DEVICE, FILTER, SIZE, TIME.
bench-peers:
	GO=$(GO) sh scripts/bench_peers.sh

# restride repack of quantised weights, compared with gguf-py, ONNX Runtime, compressed-tensors
# and torchao, as far as available.
quant-peers:
	GO=$(GO) sh quant/peers/run.sh

# Random models with functions, loops and sequences beside ONNX Runtime: see the script for
# MODELS, SEED and DEVICES.
onnx-peers:
	GO=$(GO) sh scripts/onnx_peers.sh

# The figures of docs/speed.md and bench/results/README.md: measures the devices, next to other
# libraries, keeps the report in bench/results, and writes the tables. It needs an idle machine.
# A trial elsewhere, in a minute: make results FILTER='c-heads|pack' SIZE=1M TIME=20ms
# PEERS=numpy RESULTS=build/results, which then has copies of the pages. A lower level of vector
# kernels counts as another machine: RESTRIDE_SIMD=avx2 make results DEVICES=cpu
# MACHINE=epyc-2cores-avx2.
DEVICES ?= cpu,opencl:0
RESULTS ?= bench/results
results:
	GO=$(GO) sh scripts/results.sh "$(DEVICES)" "$(RESULTS)"

# restride repack compared with cp: a checkpoint of SIZE, made of random numbers, from FROM to
# TO.
FROM ?= gptq
TO ?= marlin
repack-speed:
	GO=$(GO) sh scripts/repack_speed.sh $(FROM) $(TO)

# Generated files: the protobuf code (needs protoc: Debian's protobuf-compiler), the example
# model, the assembly for processors, the kernels for CUDA and the table of their predicted
# times, and for the command the licences of linked modules and docs/cli.md.
generate: ptx gpu-model
	$(GO) generate ./internal/simd
	$(GO) generate ./internal/onnxpb
	$(GO) run ./examples/attention examples/attention/attention.onnx
	$(GO) generate ./cmd/restride

# The kernels in internal/cudakernels/ptx.zip (needs clang-16). The text is the same every time.
ptx:
	GO=$(GO) sh scripts/ptx.sh

# The table of docs/gpu-model.md: what a model says of the kernels in internal/cudakernels/ptx.zip.
gpu-model:
	GO=$(GO) sh scripts/gpu_model.sh

# The CUDA driver simulator, for tests (see cuda/simulator): needs g++. Its own test runs plain
# and under the sanitizers. Tests of several packages may need it concurrently: one of them
# builds it.
cuda-sim:
	@mkdir -p build
	flock build/cuda-sim.lock $(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim

cuda-sim-test:
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim test
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim/asan SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined" test
	$(MAKE) -f cuda/simulator/Makefile GO=$(GO) OUT=build/cuda-sim/tsan SANITIZE=-fsanitize=thread test

# An OpenCL library that makes the machine's drivers share buffers with OpenGL, for tests (see
# opencl/glshim): needs g++.
gl-shim:
	@mkdir -p build/glshim
	flock build/glshim.lock $(MAKE) build/glshim/libOpenCL.so

build/glshim/libOpenCL.so: opencl/glshim/glshim.cpp
	g++ -std=c++17 -O1 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -shared -o $@.new $< -Wl,--no-as-needed -l:libOpenCL.so.1 -ldl
	mv $@.new $@

# The kernels compiled for some GPUs: internal/cudakernels/cubins.zip, for builds with the tag cubins.
cubins:
	GO=$(GO) sh scripts/cubins.sh

# The CUDA device through gorgonia.org/cu (the tag gorgonia), on the simulator.
gorgonia:
	GO=$(GO) CASES="$(CASES)" sh scripts/gorgonia.sh

# Package gl (the tag gogl) on Mesa's llvmpipe, without a window, with all devices.
gogl:
	sh scripts/setup.sh libegl-dev pkg-config gcc
	GO=$(GO) sh scripts/gogl.sh

# The modules in adapters, which run other projects' programs on Restride. ADAPTERS="gorgonia"
# is one of them.
adapters: setup cuda-sim
	GO=$(GO) sh scripts/adapters.sh

# The CPU device on arm64, in an emulator (Debian's qemu-user-static): for results, not for
# speed.
emulated:
	sh scripts/setup.sh qemu-user-static
	GO=$(GO) sh scripts/emulated.sh

# Tests and benchmarks for a machine with a GPU and without Go: copy the folder (or
# the .tar.gz) there, and start its run.sh. Its own test runs it on the simulator.
gpu-bundle:
	GO=$(GO) sh scripts/gpu_bundle.sh

gpu-bundle-test: gpu-bundle cuda-sim
	CASES="$(CASES)" sh scripts/gpu_bundle_test.sh
