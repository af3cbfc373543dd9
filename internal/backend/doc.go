// Package backend holds what implementations of package device have in common, and
// users of devices do without: the rules of a queue's calls as checks, a pool of
// memory, counters for Stats, and how a conversion can be carried out.
package backend
