//go:build !unix

package file

// nonblock: no file of these systems' folders waits when it is opened.
const nonblock = 0

// nofollow: a link is found by a look before and after.
const nofollow = 0
