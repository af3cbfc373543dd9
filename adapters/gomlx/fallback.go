package gomlx

import "github.com/gomlx/compute"

// The operations with one or two operands that the Go backend runs.

type (
	unary  = func(compute.Function, compute.Value) (compute.Value, error)
	binary = func(g compute.Function, lhs, rhs compute.Value) (compute.Value, error)
	reduce = func(g compute.Function, x compute.Value, axes ...int) (compute.Value, error)
)

func (f *function) unary(op string, do unary, x compute.Value) (compute.Value, error) {
	return f.single(&node{op: op, build: one(do)}, x)
}

func (f *function) binary(op string, do binary, lhs, rhs compute.Value) (compute.Value, error) {
	return f.single(&node{op: op, build: func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		v, err := do(g, in[0], in[1])
		return []compute.Value{v}, err
	}}, lhs, rhs)
}

func (f *function) reduce(op string, do reduce, x compute.Value, axes []int) (compute.Value, error) {
	keep(&axes)
	return f.unary(op, func(g compute.Function, x compute.Value) (compute.Value, error) { return do(g, x, axes...) }, x)
}

func (f *function) Abs(x compute.Value) (compute.Value, error) {
	return f.unary("Abs", compute.Function.Abs, x)
}
func (f *function) BitCount(x compute.Value) (compute.Value, error) {
	return f.unary("BitCount", compute.Function.BitCount, x)
}
func (f *function) BitwiseNot(x compute.Value) (compute.Value, error) {
	return f.unary("BitwiseNot", compute.Function.BitwiseNot, x)
}
func (f *function) Ceil(x compute.Value) (compute.Value, error) {
	return f.unary("Ceil", compute.Function.Ceil, x)
}
func (f *function) Clz(x compute.Value) (compute.Value, error) {
	return f.unary("Clz", compute.Function.Clz, x)
}
func (f *function) Conj(x compute.Value) (compute.Value, error) {
	return f.unary("Conj", compute.Function.Conj, x)
}
func (f *function) Cos(x compute.Value) (compute.Value, error) {
	return f.unary("Cos", compute.Function.Cos, x)
}
func (f *function) Erf(x compute.Value) (compute.Value, error) {
	return f.unary("Erf", compute.Function.Erf, x)
}
func (f *function) Exp(x compute.Value) (compute.Value, error) {
	return f.unary("Exp", compute.Function.Exp, x)
}
func (f *function) Expm1(x compute.Value) (compute.Value, error) {
	return f.unary("Expm1", compute.Function.Expm1, x)
}
func (f *function) Floor(x compute.Value) (compute.Value, error) {
	return f.unary("Floor", compute.Function.Floor, x)
}
func (f *function) Imag(x compute.Value) (compute.Value, error) {
	return f.unary("Imag", compute.Function.Imag, x)
}
func (f *function) IsFinite(x compute.Value) (compute.Value, error) {
	return f.unary("IsFinite", compute.Function.IsFinite, x)
}
func (f *function) IsNaN(x compute.Value) (compute.Value, error) {
	return f.unary("IsNaN", compute.Function.IsNaN, x)
}
func (f *function) Log(x compute.Value) (compute.Value, error) {
	return f.unary("Log", compute.Function.Log, x)
}
func (f *function) Log1p(x compute.Value) (compute.Value, error) {
	return f.unary("Log1p", compute.Function.Log1p, x)
}
func (f *function) LogicalNot(x compute.Value) (compute.Value, error) {
	return f.unary("LogicalNot", compute.Function.LogicalNot, x)
}
func (f *function) Logistic(x compute.Value) (compute.Value, error) {
	return f.unary("Logistic", compute.Function.Logistic, x)
}
func (f *function) Neg(x compute.Value) (compute.Value, error) {
	return f.unary("Neg", compute.Function.Neg, x)
}
func (f *function) Real(x compute.Value) (compute.Value, error) {
	return f.unary("Real", compute.Function.Real, x)
}
func (f *function) Round(x compute.Value) (compute.Value, error) {
	return f.unary("Round", compute.Function.Round, x)
}
func (f *function) Rsqrt(x compute.Value) (compute.Value, error) {
	return f.unary("Rsqrt", compute.Function.Rsqrt, x)
}
func (f *function) Sign(x compute.Value) (compute.Value, error) {
	return f.unary("Sign", compute.Function.Sign, x)
}
func (f *function) Sin(x compute.Value) (compute.Value, error) {
	return f.unary("Sin", compute.Function.Sin, x)
}
func (f *function) Sqrt(x compute.Value) (compute.Value, error) {
	return f.unary("Sqrt", compute.Function.Sqrt, x)
}
func (f *function) Tanh(x compute.Value) (compute.Value, error) {
	return f.unary("Tanh", compute.Function.Tanh, x)
}

func (f *function) Add(x, y compute.Value) (compute.Value, error) {
	return f.binary("Add", compute.Function.Add, x, y)
}
func (f *function) Atan2(x, y compute.Value) (compute.Value, error) {
	return f.binary("Atan2", compute.Function.Atan2, x, y)
}
func (f *function) BitwiseAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary("BitwiseAnd", compute.Function.BitwiseAnd, x, y)
}
func (f *function) BitwiseOr(x, y compute.Value) (compute.Value, error) {
	return f.binary("BitwiseOr", compute.Function.BitwiseOr, x, y)
}
func (f *function) BitwiseXor(x, y compute.Value) (compute.Value, error) {
	return f.binary("BitwiseXor", compute.Function.BitwiseXor, x, y)
}
func (f *function) Complex(x, y compute.Value) (compute.Value, error) {
	return f.binary("Complex", compute.Function.Complex, x, y)
}
func (f *function) Div(x, y compute.Value) (compute.Value, error) {
	return f.binary("Div", compute.Function.Div, x, y)
}
func (f *function) Equal(x, y compute.Value) (compute.Value, error) {
	return f.binary("Equal", compute.Function.Equal, x, y)
}
func (f *function) EqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("EqualTotalOrder", compute.Function.EqualTotalOrder, x, y)
}
func (f *function) GreaterOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary("GreaterOrEqual", compute.Function.GreaterOrEqual, x, y)
}
func (f *function) GreaterOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("GreaterOrEqualTotalOrder", compute.Function.GreaterOrEqualTotalOrder, x, y)
}
func (f *function) GreaterThan(x, y compute.Value) (compute.Value, error) {
	return f.binary("GreaterThan", compute.Function.GreaterThan, x, y)
}
func (f *function) GreaterThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("GreaterThanTotalOrder", compute.Function.GreaterThanTotalOrder, x, y)
}
func (f *function) LessOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary("LessOrEqual", compute.Function.LessOrEqual, x, y)
}
func (f *function) LessOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("LessOrEqualTotalOrder", compute.Function.LessOrEqualTotalOrder, x, y)
}
func (f *function) LessThan(x, y compute.Value) (compute.Value, error) {
	return f.binary("LessThan", compute.Function.LessThan, x, y)
}
func (f *function) LessThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("LessThanTotalOrder", compute.Function.LessThanTotalOrder, x, y)
}
func (f *function) LogicalAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary("LogicalAnd", compute.Function.LogicalAnd, x, y)
}
func (f *function) LogicalOr(x, y compute.Value) (compute.Value, error) {
	return f.binary("LogicalOr", compute.Function.LogicalOr, x, y)
}
func (f *function) LogicalXor(x, y compute.Value) (compute.Value, error) {
	return f.binary("LogicalXor", compute.Function.LogicalXor, x, y)
}
func (f *function) Max(x, y compute.Value) (compute.Value, error) {
	return f.binary("Max", compute.Function.Max, x, y)
}
func (f *function) Min(x, y compute.Value) (compute.Value, error) {
	return f.binary("Min", compute.Function.Min, x, y)
}
func (f *function) Mul(x, y compute.Value) (compute.Value, error) {
	return f.binary("Mul", compute.Function.Mul, x, y)
}
func (f *function) NotEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary("NotEqual", compute.Function.NotEqual, x, y)
}
func (f *function) NotEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary("NotEqualTotalOrder", compute.Function.NotEqualTotalOrder, x, y)
}
func (f *function) Pow(x, y compute.Value) (compute.Value, error) {
	return f.binary("Pow", compute.Function.Pow, x, y)
}
func (f *function) Rem(x, y compute.Value) (compute.Value, error) {
	return f.binary("Rem", compute.Function.Rem, x, y)
}
func (f *function) ShiftLeft(x, y compute.Value) (compute.Value, error) {
	return f.binary("ShiftLeft", compute.Function.ShiftLeft, x, y)
}
func (f *function) ShiftRightArithmetic(x, y compute.Value) (compute.Value, error) {
	return f.binary("ShiftRightArithmetic", compute.Function.ShiftRightArithmetic, x, y)
}
func (f *function) ShiftRightLogical(x, y compute.Value) (compute.Value, error) {
	return f.binary("ShiftRightLogical", compute.Function.ShiftRightLogical, x, y)
}
func (f *function) Sub(x, y compute.Value) (compute.Value, error) {
	return f.binary("Sub", compute.Function.Sub, x, y)
}

func (f *function) ReduceBitwiseAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceBitwiseAnd", compute.Function.ReduceBitwiseAnd, x, axes)
}
func (f *function) ReduceBitwiseOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceBitwiseOr", compute.Function.ReduceBitwiseOr, x, axes)
}
func (f *function) ReduceBitwiseXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceBitwiseXor", compute.Function.ReduceBitwiseXor, x, axes)
}
func (f *function) ReduceLogicalAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceLogicalAnd", compute.Function.ReduceLogicalAnd, x, axes)
}
func (f *function) ReduceLogicalOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceLogicalOr", compute.Function.ReduceLogicalOr, x, axes)
}
func (f *function) ReduceLogicalXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceLogicalXor", compute.Function.ReduceLogicalXor, x, axes)
}
func (f *function) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceMax", compute.Function.ReduceMax, x, axes)
}
func (f *function) ReduceMin(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceMin", compute.Function.ReduceMin, x, axes)
}
func (f *function) ReduceProduct(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceProduct", compute.Function.ReduceProduct, x, axes)
}
func (f *function) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce("ReduceSum", compute.Function.ReduceSum, x, axes)
}
