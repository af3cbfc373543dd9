//go:build race

package cuda

// raced: the race detector makes sync.Pool, which purego uses, forget at random.
const raced = true
