//go:build !amd64 && !arm64

package simd

var levelNames = [...]string{"go"}

const detected = None

func (k *Kernels) fill() {}

type lookUps struct{}
