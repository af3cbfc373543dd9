package onnx

func init() {
	along := definition{inputs: arity{3, 3}, host: 1<<1 | 1<<2, prepare: prepareTile1}
	tile := definition{inputs: arity{2, 2}, host: 1 << 1, prepare: prepareTile}
	register("Tile", along.versions(change{1, types1}), tile.versions(change{6, types5}, change{13, types13}))
}

func (c *call) tile(repeats []int64) error {
	var few [8]int64
	l, dims, err := c.x.Layout().Tile(c.d.name, repeats, few[:0])
	if err != nil {
		return err
	}
	return c.rearranged(l, dims...)
}

func prepareTile(_ *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		var few [8]int64
		repeats, err := c.ints(few[:0], 1, "repeats", false)
		if err != nil {
			return err
		}
		return c.tile(repeats)
	}, nil
}

// prepareTile1 prepares version 1, which repeats along one axis.
func prepareTile1(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		var few [2]int64
		n, err := c.floatInts(few[:0], 1, "tiles", 1)
		if err != nil {
			return err
		}
		axis, err := c.floatInts(few[1:1], 2, "axis", 1)
		if err != nil {
			return err
		}
		at, err := d.axis(axis[0], c.x.Rank(), c.x.Rank()-1)
		if err != nil {
			return err
		}
		repeats := make([]int64, c.x.Rank())
		for i := range repeats {
			repeats[i] = 1
		}
		repeats[at] = n[0]
		return c.tile(repeats)
	}, nil
}
