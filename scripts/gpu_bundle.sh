#!/bin/sh
# Makes build/gpu-bundle, and a .tar.gz of it: what runs on a machine with a GPU and
# without Go. Its programs are dynamically linked to glibc alone, as purego finds
# drivers by it. GOARCH=arm64 makes one for such a machine.
set -eu
: "${GO:=go}"
cd "$(dirname "$0")/.."
dir=build/gpu-bundle
rm -rf $dir $dir.tar.gz
mkdir -p $dir
export CGO_ENABLED=0 GOOS=linux
$GO build -trimpath -ldflags '-s -w' -o $dir/restride ./cmd/restride
for pkg in cuda opencl internal/engine onnx; do
	$GO test -c -trimpath -ldflags '-s -w' -o $dir/${pkg##*/}.test ./$pkg
done
cp LICENSE $dir
cp scripts/gpu_run.sh $dir/run.sh
chmod +x $dir/run.sh
tar -C build -czf $dir.tar.gz gpu-bundle
size=$(du -sk $dir | cut -f 1)
echo "$dir: $((size / 1024)) MiB; $dir.tar.gz: $(($(du -k $dir.tar.gz | cut -f 1) / 1024)) MiB"
[ "$size" -lt 60000 ] || { echo "the bundle is too large: 60 MB at most" >&2; exit 1; }
