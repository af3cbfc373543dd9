#!/bin/sh
# Compares the speed of restride repack with cp: a generated checkpoint of SIZE is copied and
# repacked alternately, and the best of TRIES of each counts. It needs three times SIZE on the
# disk of DIR, and most of it in memory.
#
#   sh scripts/repack_speed.sh [FROM [TO]]
set -eu
GO=${GO:-go}
SIZE=${SIZE:-4G} TRIES=${TRIES:-3} DIR=${DIR:-build/repack}
from=${1:-gptq} to=${2:-marlin}
mkdir -p "$DIR"
$GO build -o "$DIR/restride" ./cmd/restride
[ -e "$DIR/$from-$SIZE/done" ] || $GO run ./quant/generate --format "$from" --size "$SIZE" --output "$DIR/$from-$SIZE"
touch "$DIR/$from-$SIZE/done"
file=$(ls "$DIR/$from-$SIZE"/model.*)
case $to in gguf) out=$DIR/out.gguf ;; *) out=$DIR/out.safetensors ;; esac
bytes=$(stat -c %s "$file")

# seconds COMMAND...: its duration.
seconds() {
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	end=$(date +%s%N)
	echo "$begin $end" | awk '{ printf "%.3f", ($2 - $1) / 1e9 }'
}

cp=999999 repack=999999
for _ in $(seq "$TRIES"); do
	cat "$file" >/dev/null
	t=$(seconds cp "$file" "$DIR/copy")
	cp=$(echo "$cp $t" | awk '{ print ($2 < $1) ? $2 : $1 }')
	rm -f "$DIR/copy"
	t=$(seconds "$DIR/restride" repack "$file" --to "$to" --output "$out")
	repack=$(echo "$repack $t" | awk '{ print ($2 < $1) ? $2 : $1 }')
	rm -f "$out"
done
echo "$from $to $bytes $cp $repack" | awk '{ printf "%s to %s, %.1f GiB: cp %.2f s, repack %.2f s: %.2f of its speed\n", $1, $2, $3 / 2^30, $4, $5, $4 / $5 }'
