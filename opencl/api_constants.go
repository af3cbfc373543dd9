package opencl

// The constants of CL/cl.h and CL/cl_gl.h in use.
const (
	deviceNotFound             = -1
	memObjectAllocationFailure = -4
	outOfResources             = -5
	outOfHostMemory            = -6
	argInfoNotAvailable        = -19
	invalidKernelName          = -46
	platformNotFound           = -1001

	platformVersion    = 0x0901
	platformName       = 0x0902
	platformExtensions = 0x0904

	deviceType              = 0x1000
	deviceMaxWorkGroupSize  = 0x1004
	deviceMaxComputeUnits   = 0x1002
	deviceMaxClock          = 0x100C
	deviceMaxMemAllocSize   = 0x1010
	deviceMemBaseAddrAlign  = 0x1019
	deviceSingleFPConfig    = 0x101B
	deviceGlobalMemSize     = 0x101F
	deviceTimerResolution   = 0x1025
	deviceEndianLittle      = 0x1026
	deviceAvailable         = 0x1027
	deviceCompilerAvailable = 0x1028
	deviceQueueProperties   = 0x102A
	deviceName              = 0x102B
	deviceVendor            = 0x102C
	driverVersion           = 0x102D
	deviceVersion           = 0x102F
	deviceExtensions        = 0x1030
	devicePlatform          = 0x1031
	deviceDoubleFPConfig    = 0x1032
	deviceHostUnifiedMemory = 0x1035

	fpDenorm                 = 1 << 0
	fpInfNaN                 = 1 << 1
	fpRoundToNearest         = 1 << 2
	fpCorrectlyRoundedDivide = 1 << 7

	typeCPU = 1 << 1
	typeGPU = 1 << 2
	typeAll = 0xFFFFFFFF

	contextDevices    = 0x1081
	contextProperties = 0x1082
	contextPlatform   = 0x1084
	devicesForGL      = 0x2007
	glContext         = 0x2008

	queueContext    = 0x1090
	queueDevice     = 0x1091
	queueProperties = 0x1093
	outOfOrder      = 1 << 0
	profilingEnable = 1 << 1

	memReadWrite    = 1 << 0
	memWriteOnly    = 1 << 1
	memReadOnly     = 1 << 2
	memUseHostPtr   = 1 << 3
	memAllocHostPtr = 1 << 4
	memCopyHostPtr  = 1 << 5
	memHostPtr      = 0x1103
	memType         = 0x1100
	memFlags        = 0x1101
	memSize         = 0x1102
	memContext      = 0x1106
	memObjectBuffer = 0x10F0

	bufferCreateRegion = 0x1220

	mapRead  = 1 << 0
	mapWrite = 1 << 1

	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programKernelNames = 0x1168
	programBuildLog    = 0x1183

	kernelNumArgs             = 0x1191
	kernelArgAddressQualifier = 0x1196
	kernelArgTypeName         = 0x1198
	kernelArgName             = 0x119A
	kernelWorkGroupSize       = 0x11B0
	addressGlobal             = 0x119B
	addressLocal              = 0x119C
	addressConstant           = 0x119D

	eventCommandExecutionStatus = 0x11D3
	profilingCommandEnd         = 0x1283

	yes = 1
)
