//go:build !cubins

package cuda

const cubinArchive = ""
