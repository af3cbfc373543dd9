package onnx

// opIdentity is the operator's name, and the operation name for additional references that
// a session returns.
const opIdentity = "Identity"

func init() {
	tensors := definition{inputs: arity{1, 1}, prepare: prepareIdentity}
	withSequences, withOptionals := tensors, tensors
	withSequences.containers = sequences
	withOptionals.containers = sequences | optionals
	register(opIdentity, tensors.versions(change{1, types5}, change{13, types13}), withSequences.versions(change{14, types13}),
		withOptionals.versions(change{16, types13}), withOptionals.growing(19, MaxOpset))
}

func prepareIdentity(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		v, err := alias(d.name, c.in[0])
		c.out[0] = v
		return err
	}, nil
}
