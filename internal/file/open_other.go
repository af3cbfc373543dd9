//go:build !unix

package file

// nonblock: no file of these systems' folders waits when it is opened.
const nonblock = 0
