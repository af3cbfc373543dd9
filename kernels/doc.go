// Package kernels holds the kernels that move elements on a GPU, and a planner
// that chooses one: pure Go, from two layouts to a launch, which a device then
// gives to its driver.
package kernels
