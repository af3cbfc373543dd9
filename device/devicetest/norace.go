//go:build !race

package devicetest

const raced = false
