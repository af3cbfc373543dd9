//go:build cubins

package cuda

import _ "embed" // for the archive

//go:embed cubins.zip
var cubinArchive string
