// Package report holds the figures of package bench: as a file, as text, and compared
// with those of another run.
//
// A [Report] is a file of JSON, whose form is in ../report.schema.json. [Read] reads it
// and checks it; [Report.WriteBenchmarks] writes it for benchstat. A [Table] prints the
// [Result] of one device. [Compare] finds what has become slower since an older report.
//
// # How far figures can be trusted
//
// Samples of one burst agree with each other, but not with those of a minute later,
// when a neighbour uses the memory. So the spread of a figure is that of its passes,
// which are apart in time. The median of all possible passes lies between the fastest
// and the slowest of six with a chance of 31 in 32, whatever their distribution. Two runs
// of the same code agree where these ranges meet. Ranges of ratios meet more often, since
// both times of a ratio are of one pass.
package report
