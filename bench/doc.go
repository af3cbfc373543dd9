// Package bench says how fast a device moves elements between layouts, beside
// how fast it moves them at all.
//
// A [Case] is a copy, conversion, fill or take at any size, and an [Operation] at
// one; [Cases] is the list that everybody's figures are about. [Run] takes a device
// through them, in passes ([Passes]): first what bounds it (the roofline: dense copies
// by our kernel, by the driver, on processors by two goroutines; fills, transfers,
// launches, and what a reshape costs that moves nothing), then each case:
//
//   - It is verified first, in the first pass. Small operations are held against
//     the index walk of package oracle, bit by bit, with what lies around them. Of
//     larger ones that is done at a smaller size, and at full size with elements
//     picked at random, in a destination that was filled with something else before.
//     Sources hold random bits, and a take's indices are as likely one as another.
//   - It is warmed up, and timed in batches, by the device's clock where it has
//     one.
//   - What is reported is the median of all samples, how far single passes are from
//     it, and ratios to the roofline of the same pass.
//
// Sizes up to 512 KiB are about caches: all calls use one pair of buffers, which
// the second-level cache of a core holds. At larger ones so many pairs take turns
// that caches hold little of them.
//
// # How far figures can be trusted
//
// Samples of one burst agree with each other, and not with those of a minute
// later, when a neighbour uses the memory. So the spread is that of the passes,
// which are apart in time by as long as a pass takes: between the fastest and the
// slowest of six passes lies the median of all that there might be with 31 chances
// of 32, whatever their distribution. Two runs of the same agree where these ranges
// meet; those of ratios meet more often, since both of a ratio are of one pass.
//
// [Compare] holds a report against an older one, and says what has become slower
// beyond that, by time and by ratio: see there for the rule. What only the machine
// changed is not a regression, and is said.
//
// What the machine did in each pass, as far as it tells, is in [Reading]: clocks,
// heat, why a device was held back, and how much of the processors other guests of
// the same machine and other processes took.
//
// # Other libraries
//
// A [PeerProcess] is another library in a process of its own, which is asked for each
// case right after the device has been measured, in every pass. What it did is a
// [Peer] of the [Result]; how much faster we are is the median of the passes' ratios.
// Package peers starts those that there are, and its README.md has the protocol.
//
// # Files
//
// The [Report] is also a file of JSON, whose form is in report.schema.json and
// which [ReadReport] reads; it is written after each case, so that an interrupted
// run keeps what it has, marked as unfinished. [Report.WriteBenchmarks] writes it
// for benchstat. Reports of machines are kept in the folder results,
// whose command writes the README's tables out of them.
package bench
