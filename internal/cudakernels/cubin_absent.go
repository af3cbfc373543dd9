//go:build !cubins

package cudakernels

const cubinArchive = ""
