//go:build !unix

package file

// nonblock: no file in these systems' folders blocks when it is opened.
const nonblock = 0

// nofollow: a check before and after finds a link.
const nofollow = 0
