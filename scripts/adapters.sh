#!/bin/sh
# Checks the adapters, each a separate module: vet, staticcheck, the tests with the race
# detector, on every available device; and builds with the newest versions of the adapted
# modules, whose failure counts only with "newest" in RESTRIDE_REQUIRE: new versions can appear
# at any time. Their setup.sh installs what their tests need besides Go. ADAPTERS names some of
# them.
set -eu
: "${GO:=go}" "${ADAPTERS:=$(ls adapters)}"
root=$PWD
sim=$root/build/cuda-sim/libcuda.so.1
[ ! -e "$sim" ] || export RESTRIDE_LIBCUDA="${RESTRIDE_LIBCUDA-$sim}"
staticcheck=$root/build/staticcheck # from make lint
newest=$(mktemp -d)
trap 'rm -rf "$newest"' EXIT

# hosts prints the modules that the one of this folder adapts: its requirements, except Restride
# and modules for tests.
hosts() {
	$GO list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all |
		grep -v -x -e '' -e github.com/restride/restride -e github.com/stretchr/testify
}

# Never changes the module's own files: go.mod and go.sum are copies.
with_newest() {
	cp go.mod go.sum "$newest"
	for host in $(hosts); do
		if ! version=$($GO list -m -f '{{.Version}}' "$host@latest" 2>"$newest/log"); then
			echo "newest $host: skipped, it cannot be found: $(tail -n 1 "$newest/log")"
			continue
		fi
		echo "newest $host: $version"
		$GO get -modfile="$newest/go.mod" "$host@$version" || return
	done
	$GO vet -mod=mod -modfile="$newest/go.mod" ./...
}

for name in $ADAPTERS; do
	echo "-- adapters/$name"
	cd "$root/adapters/$name"
	[ ! -e setup.sh ] || sh setup.sh
	$GO vet ./...
	if [ -x "$staticcheck" ]; then
		"$staticcheck" ./...
	else
		echo "staticcheck: skipped, make lint installs it"
	fi
	# GoMLX's matrix products compute addresses beyond their operands, which the race detector's
	# check of pointers rejects.
	$GO test -race -gcflags='github.com/gomlx/...=-d=checkptr=0' ./...
	if ! with_newest; then
		echo "adapters/$name does not build with the newest versions"
		case ,${RESTRIDE_REQUIRE-}, in *,newest,*) exit 1 ;; esac
	fi
done
