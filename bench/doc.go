// Package bench measures how fast a device moves elements between layouts, relative to
// its fastest plain copy.
//
// [Run] measures the cases of package cases on a device, in several passes ([Passes]). First in
// each pass come the device's bounds (the roofline): dense copies by our kernel, by the driver
// and, on processors, by two goroutines; fills, transfers, launches, and reshapes that are
// views. Then come the cases:
//
//   - A case is verified first, in the first pass. Small operations are compared with the
//     index walk of package oracle, every bit and the bytes around them. Larger ones are
//     compared so at a smaller size, and at full size in a random sample of elements and gaps.
//     Sources hold random bits, and indices are uniform.
//   - It is warmed up, and timed in batches, by the device's clock where it has one.
//   - Its figures are medians of all passes, their spread, and ratios to the roofline of
//     the same pass.
//
// Sizes up to 512 KiB measure caches: all calls use the same buffers, which the second-level
// cache of a core holds. At larger sizes buffers rotate, so that caches hold little of them.
//
// Each pass also has a reading of the machine: clocks, temperature, throttling, and the
// processors' time that other guests and other processes took.
//
// Subpackages: package cases is the list of cases, package report the figures, package peers
// other libraries, which measure each case directly after the device in every pass. Package
// page shows a report in a browser; the command in results keeps reports and writes the tables
// of documentation.
package bench
