#!/bin/sh
# Installs other libraries, as far as available, and measures them next to Restride: restride
# bench with --peer. Each is installed once, into build/peers/lib; failures are reported, and
# the others continue. build/peers then has a program for each, for --peer. Arguments are for
# restride bench, such as --json FILE. Variables:
#
#	PEERS      which of: plain numpy torch onnxruntime cupy gomlx gorgonia; plain is
#	           Restride's own cpu device without vector kernels
#	DEVICE     like restride bench's: cpu, cuda:0, cpu,opencl:0
#	FILTER     only cases whose name matches
#	GO_FILTER  the same for gomlx and gorgonia, which are slow
#	SIZE TIME  like restride bench's
#	TORCH      PyTorch for pip to install, such as torch==2.9.0: by default the newest, whose
#	           libraries for GPUs need 3 GB. any: the one of a python3 of the machine, or
#	           Debian's, for a trial
#
# numpy and ONNX Runtime are the newest, too. The report has their versions.
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

# newest is the latest version of a package that pip finds, such as torch==2.9.0; the package
# alone if it finds none.
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

# quoted is a text for --peer, with any commas: as in CSV.
quoted() { printf '"%s"' "$(printf %s "$1" | sed 's/"/""/g')"; }

# launcher writes a program that runs a command, and measures it if it starts for one of the
# devices: launcher NAME CASES COMMAND...
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
		# The wheel for the driver's version of CUDA.
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
