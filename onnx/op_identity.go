package onnx

import "github.com/restride/restride/tensor"

// opIdentity is the operator's name, and the operation of further references that a
// session hands out.
const opIdentity = "Identity"

func init() {
	tensors := definition{inputs: arity{1, 1}, prepare: prepareIdentity}
	withSequences, withOptionals := tensors, tensors
	withSequences.containers = sequences
	withOptionals.containers = sequences | optionals
	register(opIdentity, tensors.versions(change{1, types5}, change{13, types13}), withSequences.versions(change{14, types13}),
		withOptionals.versions(change{16, types13}), withOptionals.growing(19, MaxOpset))
}

// Identity returns a view of x (ONNX Identity-1 to -25).
func Identity(x *tensor.Tensor, v Opset) (*tensor.Tensor, error) {
	return one(opIdentity, v, x, func(d *definition) (*tensor.Tensor, error) { return x.WithLayout(d.name, x.Layout()) })
}

func prepareIdentity(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		v, err := alias(d.name, c.in[0])
		c.out[0] = v
		return err
	}, nil
}
