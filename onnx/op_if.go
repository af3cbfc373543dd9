package onnx

// prepareIf prepares an If that no engine runs. Its graphs have no inputs of their own.
func prepareIf(u *unit) error {
	u.d.host = 1
	if n := u.given(); n != 1 {
		return u.d.invalid("%d inputs are given; it takes 1", n)
	}
	var branches [2]*subgraph
	for i, attr := range []string{"then_branch", "else_branch"} {
		var err error
		if branches[i], err = u.subgraph(attr, 0, len(u.node.Outputs)); err != nil {
			return err
		}
	}
	u.kernel = func(c *call) error {
		chosen, err := c.condition(c.in[0])
		if err != nil {
			return err
		}
		b := branches[1]
		if chosen {
			b = branches[0]
		}
		a := b.enter(c)
		defer a.leave()
		made, err := a.run()
		copy(c.out, made)
		return err
	}
	return nil
}
