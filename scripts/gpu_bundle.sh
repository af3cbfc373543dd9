#!/bin/sh
# Makes build/gpu-bundle, and a .tar.gz of it, for a machine with a GPU and without Go. Its
# programs are dynamically linked to glibc alone, by which purego finds drivers. GOARCH=arm64
# makes one for such a machine.
set -eu
: "${GO:=go}"
cd "$(dirname "$0")/.."
dir=build/gpu-bundle
rm -rf $dir $dir.tar.gz
mkdir -p $dir
export CGO_ENABLED=0 GOOS=linux
$GO build -trimpath -ldflags '-s -w' -o $dir/restride ./cmd/restride
tests="./cuda ./opencl ./internal/gpu ./onnx"
for pkg in $tests; do
	$GO test -c -trimpath -ldflags '-s -w' -o $dir/${pkg##*/}.test $pkg
done
# Variants of the cases' kernels: registers for that many blocks at a time.
for blocks in 2 4 6; do
	GOOS='' $GO run ./kernels/plans --ptx $dir/variants/blocks-$blocks >/dev/null
	sed -i "s/^\\.maxntid 256, 1, 1\$/&\\n.minnctapersm $blocks/" $dir/variants/blocks-$blocks/*.ptx
done
cp LICENSE $dir
# The licences of foreign code are shipped with the programs that contain it.
$GO list -deps -test -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/restride $tests |
	sort -u | { echo "Go $($GO env GOVERSION) $($GO env GOROOT)"; cat; } | while read -r name version at; do
	for text in "$at"/LICENSE* "$at"/licenses/*; do
		[ -f "$text" ] || continue
		printf '===== %s %s: %s\n\n' "$name" "$version" "${text##*/}"
		cat "$text"
		echo
	done
done >$dir/NOTICES
cp kernels/model/cases.txt $dir
cp scripts/gpu_run.sh $dir/run.sh
cp scripts/gpu_variants.sh $dir/variants.sh
chmod +x $dir/run.sh $dir/variants.sh
tar -C build -czf $dir.tar.gz gpu-bundle
size=$(du -k $dir.tar.gz | cut -f 1)
echo "$dir: $(($(du -sk $dir | cut -f 1) / 1024)) MiB; $dir.tar.gz: $((size / 1024)) MiB"
[ "$size" -lt 48000 ] || { echo "the archive of the bundle is too large: 48 MB at most" >&2; exit 1; }
