//go:build !amd64

package simd

const detected = None

func (k *Kernels) fill() {}
