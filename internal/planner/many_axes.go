package planner

import "errors"

// In CUDA a launch's parameters are an argument by value. Its size is a constant of the kernel,
// and the driver copies all of it at each launch. So kernels have room for the parameters of usual
// layouts, and the general forms also have kernels with Spec.ManyAxes for the rest: layouts of
// dozens of axes.

// The number of axes that parameters by value have room for.
const (
	usualRoom    = 12  // 512 bytes; 1 in 1,000 layouts of up to 12 axes in any order needs more
	takeRoom     = 28  // axes twice, and indices; a where needs as many
	joinRoom     = 36  // the same, plus axes of rows
	scalingRoom  = 32  // axes three times, plus meanings
	shuffleRoom  = 28  // the axes of a tile, in either side's order
	manyAxesRoom = 121 // with the other arguments, within the 4 KiB that every driver accepts
)

// room is the number of axes that the parameters have room for.
func (s Spec) room() int {
	if s.ManyAxes {
		return manyAxesRoom
	}
	if room := s.form().room; room > 0 {
		return room
	}
	return usualRoom
}

// ParameterBytes is the size of a launch's parameters where they are an argument by value. Most
// launches need less.
func (s Spec) ParameterBytes() int { return headerBytes + s.room()*axisBytes }

// fits reports whether a kernel has room for the parameters.
func (k *parameters) fits(s Spec) bool { return k.bytes() <= s.ParameterBytes() }

// manyAxesSpecs lists the kernels for launches with many parameters: one for each operation and
// width of the others.
func manyAxesSpecs(all []Spec) []Spec {
	var long []Spec
	for _, s := range all {
		general := s.form().general && !s.pair() && (s.Form != Join || s.DstBits < 8)
		if general && !s.CPUTarget && !s.Wide && !s.Periodic && s.Step == 0 {
			s.ManyAxes = true
			long = append(long, s)
		}
	}
	return long
}

var errTooLong = errors.New("too many axes and indices for the parameters of a launch")
