#!/bin/sh
# Installs other libraries, as far as they can be had, and measures them beside
# Restride: restride bench with --peer. What can be installed is, once, into
# build/peers/lib; what cannot is said, and the others go on. build/peers has a
# program for each then, as --peer takes them. Arguments are for restride bench, as
# --json FILE. Variables:
#
#	PEERS      which of: plain numpy torch onnxruntime cupy gomlx gorgonia; plain is
#	           Restride's own cpu device without vector kernels
#	DEVICE     as restride bench has it: cpu, cuda:0, cpu,opencl:0
#	FILTER     only cases whose name matches
#	GO_FILTER  the same for gomlx and gorgonia, which take long
#	SIZE TIME  as restride bench has them
#	TORCH      what pip installs as PyTorch, as torch==2.9.0: by default the newest, whose
#	           libraries for GPUs take 3 GB. any: that of a python3 of the machine, or
#	           Debian's, as for a trial
#
# numpy and ONNX Runtime are the newest, too. The report says which versions they are.
set -u
cd "$(dirname "$0")/.." || exit
: "${GO:=go}" "${PYTHON:=python3}" "${DEVICE:=cpu}" "${FILTER:=.}" "${SIZE:=}" "${TIME:=}" "${TORCH:=}"
: "${PEERS:=plain numpy torch onnxruntime cupy gomlx gorgonia}"
[ -n "${GO_FILTER:-}" ] || { [ "$FILTER" = . ] && GO_FILTER='^[a-f]-.*/32$' || GO_FILTER=$FILTER; }
dir=$PWD/build/peers lib=$PWD/build/peers/lib
mkdir -p "$lib"
all=

say() { echo "peers: $*"; }

# pip installs packages into a folder, once.
pip() { # folder, packages
	into=$lib/$1
	shift
	[ "$(cat "$into/.packages" 2>/dev/null)" = "$*" ] && return
	rm -rf "$into"
	$PYTHON -m pip install -q --disable-pip-version-check --root-user-action ignore --no-compile --target "$into" "$@" || return
	echo "$*" >"$into/.packages"
}

# newest is the latest version of a package that pip finds, as torch==2.9.0; the package
# alone where it finds none.
newest() { # package
	version=$($PYTHON -m pip index versions "$1" 2>/dev/null | sed -n '1s/.*(\(.*\)).*/\1/p')
	echo "$1${version:+==$version}"
}

# has finds a Python with modules: has MODULES, in $found.
has() {
	for found in "$PYTHON" python3 /usr/bin/python3; do
		"$found" -c "import $1" 2>/dev/null && return
	done
	return 1
}

# quoted is a text as --peer takes it, whatever commas it has: as in CSV.
quoted() { printf '"%s"' "$(printf %s "$1" | sed 's/"/""/g')"; }

# launcher leaves a program that runs a command, and has it measured if it starts
# for one of the devices: launcher NAME CASES COMMAND...
launcher() {
	name=$1 only=$2
	shift 2
	{
		echo '#!/bin/sh'
		printf exec
		printf " '%s'" "$@"
		echo ' "$@"'
	} >"$dir/$name"
	chmod +x "$dir/$name"
	for device in $(echo "$DEVICE" | tr , ' '); do
		if "$dir/$name" --device "$device" </dev/null >/dev/null 2>"$lib/$name.log"; then
			all=$all${all:+,}$(quoted "$dir/$name${only:+=$only}")
			return
		fi
	done
	say "$name: it does not run on $DEVICE: $(tail -n 1 "$lib/$name.log")"
}

script() { # peer, Python, the folder in build/peers/lib with its packages
	launcher "$1" "" env PYTHONPATH="${3:+$lib/$3}" "$2" "$PWD/internal/bench/peers/peer.py" "$1"
}

case $DEVICE in *cuda*) gpu=1 ;; *) gpu= ;; esac
case ,$DEVICE, in *,cpu,*) cpu=1 ;; *) cpu= ;; esac
for peer in $PEERS; do
	rm -rf "${dir:?}/$peer"
	case ${cpu:+cpu}${gpu:+cuda}:$peer in
	cpu*:numpy)
		if pip numpy "$(newest numpy)"; then
			script numpy "$PYTHON" numpy
		elif has numpy; then
			script numpy "$found"
		else
			say "numpy: there is none, and pip cannot install it"
		fi
		;;
	*:torch)
		if [ "$TORCH" != any ]; then
			[ -n "$TORCH" ] || TORCH=$(newest torch)
			if pip torch numpy "$TORCH"; then
				script torch "$PYTHON" torch
				continue
			fi
			say "torch: pip cannot install $TORCH"
		fi
		if ! has torch,numpy && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
			apt-get install -y -qq --no-install-recommends python3-torch python3-numpy >/dev/null
		fi
		if has torch,numpy; then
			script torch "$found"
		else
			say "torch: no python3 has PyTorch and numpy; TORCH=torch==2.9.0 installs one by pip"
		fi
		;;
	*:onnxruntime)
		package=onnxruntime${gpu:+-gpu}
		if pip $package numpy onnx "$(newest $package)"; then
			script onnxruntime "$PYTHON" $package
		else
			say "onnxruntime: pip cannot install $package"
		fi
		;;
	*cuda:cupy)
		# The wheel is that of the driver's version of CUDA.
		cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')
		if has cupy,numpy; then
			script cupy "$found"
		elif [ -n "$cuda" ] && pip cupy "cupy-cuda${cuda}x"; then
			script cupy "$PYTHON" cupy
		else
			say "cupy: it cannot be installed"
		fi
		;;
	cpu*:plain | cpu*:gomlx | cpu*:gorgonia)
		if ! (cd internal/bench/peers/go && $GO build -o "$lib/go" .); then
			say "$peer: it cannot be built"
		elif [ "$peer" = plain ]; then
			launcher plain "" env RESTRIDE_SIMD=go "$lib/go" --library restride
		else
			launcher "$peer" "$GO_FILTER" "$lib/go" --library "$peer"
		fi
		;;
	*) say "$peer: not on $DEVICE" ;;
	esac
done
$GO build -o build/restride ./cmd/restride || exit
exec build/restride bench --device "$DEVICE" --filter "$FILTER" ${SIZE:+--size "$SIZE"} ${TIME:+--time "$TIME"} ${all:+--peer "$all"} "$@"
