package planner

import "errors"

// In CUDA a launch's parameters are an argument by value, whose size is a kernel's
// constant, and the driver copies all of it at each launch. So kernels have room for
// the parameters of usual layouts; the general forms have kernels with Spec.ManyAxes, too,
// for the rest: layouts of dozens of axes.

// The axes for which parameters by value have room.
const (
	usualRoom    = 12  // 512 bytes; of layouts of up to 12 axes in any order, one in a thousand needs more
	takeRoom     = 28  // axes twice, and indices; those of a where are as many
	joinRoom     = 36  // the same, with axes of rows
	scalingRoom  = 32  // axes three times, and meanings
	shuffleRoom  = 28  // the axes of a tile, in the order of either side
	manyAxesRoom = 121 // with the other arguments, within the 4 KiB that every driver takes
)

// room is how many axes the parameters have room for.
func (s Spec) room() int {
	if s.ManyAxes {
		return manyAxesRoom
	}
	if room := s.form().room; room > 0 {
		return room
	}
	return usualRoom
}

// ParameterBytes is the size of a launch's parameters where they are an argument by
// value: those of most launches are shorter.
func (s Spec) ParameterBytes() int { return headerBytes + s.room()*axisBytes }

// fits reports whether a kernel has room for the parameters.
func (k *parameters) fits(s Spec) bool { return k.bytes() <= s.ParameterBytes() }

// manyAxesSpecs lists the kernels for launches of many parameters, one for each operation
// and width of the others.
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
