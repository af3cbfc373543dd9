//go:build race

package engine_test

// raced: the race detector makes sync.Pool, which purego uses, forget at random.
const raced = true
