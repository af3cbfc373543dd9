#!/bin/sh
# Times other libraries on the cases of restride bench, for its --peer: one
# build/peers/NAME.json each. What can be installed is, once, into build/peers;
# what cannot is said, and the others go on. Variables:
#
#	PEERS      which of: numpy torch onnxruntime cupy gomlx gorgonia
#	DEVICE     cpu, or cuda:0
#	FILTER     only cases whose name matches
#	GO_FILTER  the same for the Go libraries, which take long
#	SIZE TIME  as restride bench has them; TIME in seconds
#	TORCH      what pip installs as PyTorch, as torch==2.9.0 (that for GPUs takes
#	           several GB); else that of a python3 of the machine, or Debian's
set -u
cd "$(dirname "$0")/.." || exit
: "${GO:=go}" "${PYTHON:=python3}" "${DEVICE:=cpu}" "${FILTER:=.}" "${SIZE:=}" "${TIME:=0.1}" "${TORCH:=}"
: "${PEERS:=numpy torch onnxruntime cupy gomlx gorgonia}"
[ -n "${GO_FILTER:-}" ] || { [ "$FILTER" = . ] && GO_FILTER='^[a-f]-.*/32$' || GO_FILTER=$FILTER; }
dir=$PWD/build/peers
mkdir -p "$dir/lists"
began=$(date +%s)

say() { echo "peers: $*"; }

# pip installs packages into a folder, once.
pip() { # folder, packages
	into=$dir/$1
	shift
	[ "$(cat "$into/.packages" 2>/dev/null)" = "$*" ] && return
	rm -rf "$into"
	$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --target "$into" "$@" || return
	echo "$*" >"$into/.packages"
}

# has finds a Python with modules: has MODULES, in $found.
has() {
	for found in "$PYTHON" python3 /usr/bin/python3; do
		"$found" -c "import $1" 2>/dev/null && return
	done
	return 1
}

# run writes a peer's file: run NAME COMMAND... Its exit status is 1 if a result
# was wrong: the file says which.
run() {
	name=$1
	shift
	"$@" >"$dir/$name.tmp"
	rc=$?
	if [ -s "$dir/$name.tmp" ]; then
		mv "$dir/$name.tmp" "$dir/$name.json"
		[ $rc = 0 ] || say "$name: some results were wrong, or failed"
	else
		rm -f "$dir/$name.tmp"
		say "$name: no figures (exit status $rc)"
	fi
}

script() { # peer, Python
	run "$1" "$2" "bench/peers/$1_peer.py" "$list" --device "$DEVICE" --time "$TIME" --check 2
}

$GO build -o build/restride ./cmd/restride || exit
set -- bench --device "$DEVICE" --list-json
[ -z "$SIZE" ] || set -- "$@" --size "$SIZE"
list=$dir/lists/cases.json golist=$dir/lists/go.json
build/restride "$@" --filter "$FILTER" >"$list" || exit

for peer in $PEERS; do
	rm -f "$dir/$peer.json"
	case $DEVICE:$peer in
	cpu:numpy)
		if pip numpy numpy; then
			PYTHONPATH=$dir/numpy script numpy "$PYTHON"
		elif has numpy; then
			script numpy "$found"
		else
			say "numpy: there is none, and pip cannot install it"
		fi
		;;
	*:torch)
		if [ -n "$TORCH" ]; then
			pip torch numpy "$TORCH" && PYTHONPATH=$dir/torch script torch "$PYTHON" || say "torch: pip cannot install $TORCH"
			continue
		fi
		if ! has torch,numpy && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
			apt-get install -y -qq --no-install-recommends python3-torch python3-numpy >/dev/null
		fi
		if has torch,numpy; then
			script torch "$found"
		else
			say "torch: no python3 has PyTorch and numpy; TORCH=torch installs it by pip"
		fi
		;;
	*:onnxruntime)
		case $DEVICE in cpu) package=onnxruntime ;; *) package=onnxruntime-gpu ;; esac
		if pip $package numpy onnx $package; then
			PYTHONPATH=$dir/$package script onnxruntime "$PYTHON"
		else
			say "onnxruntime: pip cannot install $package"
		fi
		;;
	cuda*:cupy)
		# The wheel is that of the driver's version of CUDA.
		cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')
		if has cupy,numpy; then
			script cupy "$found"
		elif [ -n "$cuda" ] && pip cupy "cupy-cuda${cuda}x"; then
			PYTHONPATH=$dir/cupy script cupy "$PYTHON"
		else
			say "cupy: it cannot be installed"
		fi
		;;
	cpu:gomlx | cpu:gorgonia)
		build/restride "$@" --filter "$GO_FILTER" >"$golist" || continue
		if (cd bench/peers/go && $GO build -o "$dir/go" .); then
			run "$peer" "$dir/go" --library "$peer" --time "${TIME}s" --check 2s "$golist"
		else
			say "$peer: it cannot be built"
		fi
		;;
	*) say "$peer: not on $DEVICE" ;;
	esac
done
say "$(ls "$dir" | grep -c '\.json$') files in build/peers, in $(($(date +%s) - began)) s"
