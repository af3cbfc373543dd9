// Package backend is shared by implementations of package device, and not needed by users of
// devices: the rules of a queue's calls as checks, a pool of memory, counters for Stats, and
// the kinds of conversion.
package backend
