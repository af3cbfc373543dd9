//go:build cubins

package cudakernels

import _ "embed" // for the archive

//go:embed cubins.zip
var cubinArchive string
