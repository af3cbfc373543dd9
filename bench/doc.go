// Package bench says how fast a device moves elements between layouts, beside
// how fast it moves them at all.
//
// A [Case] is a layout operation at any size; [Cases] is the list that everybody's
// figures are about. [Run] takes a device through them: first what bounds it (the
// roofline: dense copies by our kernel, by the driver, on processors by two
// goroutines; fills, transfers, launches), then each case:
//
//   - It is verified first. Small operations are held against the index walk of
//     package oracle, bit by bit, with what lies around them. Of larger ones that
//     is done at a smaller size, and at full size with elements picked at random,
//     in a destination that was filled with something else before.
//   - It is warmed up, and timed in batches, by the device's clock where it has
//     one, on buffers that take turns, so that caches do not flatter it.
//   - What is reported is the median, how far the samples spread, and ratios to
//     the roofline of the same run.
//
// The [Report] is also a file of JSON, as that of another library is, a [Peer],
// which is measured on the same list: see peers.
package bench
