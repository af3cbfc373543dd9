package restride

import (
	_ "github.com/restride/restride/cpu"
	_ "github.com/restride/restride/cuda"
	_ "github.com/restride/restride/opencl"
)
