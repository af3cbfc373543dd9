// Package opencl is the OpenCL device.
package opencl
