#!/bin/sh
# Writes the Go code of onnx.proto to the file named by the first argument.
# Needs protoc 3.21 (Debian: protobuf-compiler); the Go plugin is built from
# the version of google.golang.org/protobuf in go.mod. Both versions are part
# of the output, so the same ones give the same bytes.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
# The long virtual path becomes the file's name in protobuf's global registry,
# where a plain "onnx.proto" would meet that of other ONNX packages.
pkg=github.com/restride/restride/internal/onnxpb
protoc --plugin="$tmp/protoc-gen-go" --proto_path="$pkg=." \
	--go_out="$tmp" --go_opt=module="$pkg" "$pkg/onnx.proto"
mv "$tmp/onnx.pb.go" "$1"
