package devicetest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// quotients quantises rows by scales of every magnitude, to reveal a quotient that is not the
// nearest float: close to half way between two codes, or in the remainder after a zero point.
func (r runner) quotients(shared rig) {
	random := rand.New(rand.NewPCG(r.seed, 5))
	scales := []float32{1, 3, 0, math.Float32frombits(1), math.MaxFloat32, float32(math.Inf(-1)), float32(math.NaN())}
	apart := uint32(1)
	switch {
	case r.Small:
		apart = 32
	case r.few():
		apart = 4
	}
	for exponent := random.Uint32() % apart; exponent < 255; exponent += apart {
		for _, significand := range []uint32{0, 1, 1<<23 - 1, random.Uint32() % (1 << 23)} {
			scales = append(scales, math.Float32frombits(exponent<<23|significand|random.Uint32()&(1<<31)))
		}
	}
	for _, x := range []struct{ to, zero layout.DType }{
		{layout.Int8, layout.Invalid}, {layout.Uint8, layout.Uint8}, {layout.Int4, layout.Int4}, {layout.Int8, layout.Int16},
		{layout.Float8E4M3FN, layout.Invalid}, {layout.Float8E5M2, layout.BFloat16}, {layout.Float4E2M1, layout.Float16},
	} {
		shared.quotients(random, scales, x.to, x.zero)
	}
}

// quotients quantises a row of floats by each scale, with zero points of a type.
func (r rig) quotients(random *rand.Rand, scales []float32, to, zero layout.DType) {
	const row = 64
	rows := int64(len(scales))
	each, all := strided([]int64{rows, row}, []int64{1, 0}, 0), dense(0, rows, row)
	terms := oracle.Terms{Scale: oracle.Term{Layout: each, Type: layout.Float32}}
	if zero != layout.Invalid {
		terms.Zero = oracle.Term{Layout: each, Type: zero}
	}
	var src []byte
	for _, scale := range scales {
		terms.Scale.Data = binary.LittleEndian.AppendUint32(terms.Scale.Data, math.Float32bits(scale))
		power := math.Ldexp(1, random.IntN(290)-150) // of which bfloat16 has most
		for range row {
			q := float64(random.IntN(600)-300) / 2
			if isFloat(to) {
				q *= math.Ldexp(1, random.IntN(24)-20)
			}
			switch random.IntN(4) {
			case 0:
				q = math.Ldexp(random.Float64(), random.IntN(300)-150)
			case 1:
				q = -power
			}
			x := float32(q * float64(scale))
			src = binary.LittleEndian.AppendUint32(src, math.Float32bits(x)+uint32(random.IntN(5)-2))
		}
		point := random.Uint64()
		if isFloat(to) && random.IntN(4) > 0 {
			point = uint64(math.Float32bits(float32(power)) >> 16)
		}
		switch zero {
		case layout.Int16, layout.Float16, layout.BFloat16:
			terms.Zero.Data = binary.LittleEndian.AppendUint16(terms.Zero.Data, uint16(point))
		default:
			terms.Zero.Data = append(terms.Zero.Data, byte(point))
		}
	}
	want := make([]byte, rows*row*int64(to.Bits())/8)
	oracle.Scale(oracle.OpQuantize, want, all, to, src, all, layout.Float32, &terms, device.Rounding{})
	buffers := []device.Buffer{r.buffer(make([]byte, len(want))), r.buffer(src), r.buffer(terms.Scale.Data), r.buffer(terms.Zero.Data)}
	by := device.Quantization{Scale: operand(buffers[2], layout.Float32, each)}
	if zero != layout.Invalid {
		by.Zero = operand(buffers[3], zero, each)
	}
	r.ok(r.q.Quantize(operand(buffers[0], to, all), operand(buffers[1], layout.Float32, all), by))
	r.same("src / scale + zero", to, r.bytes(buffers[0]), want, func(i int64) string {
		what := hexOf(src, layout.Float32, i) + " / " + hexOf(terms.Scale.Data, layout.Float32, i/row)
		if zero != layout.Invalid {
			what += " + " + hexOf(terms.Zero.Data, zero, i/row)
		}
		return what
	})
	for _, b := range buffers {
		r.ok(b.Free())
	}
}
