package infer

import (
	"strings"

	"github.com/restride/restride/layout"
)

// rules has the rules of ONNX's operators, by name.
var rules = table(map[string]rule{
	`Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumProd CumSum Elu Erf
	 Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization LRN LeakyRelu Log
	 LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu RMSNormalization Reciprocal Relu ReverseSequence
	 RotaryEmbedding Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Softmax Softplus Softsign
	 Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu Trilu`: unary,
	`IsInf IsNaN`: always(layout.Bool),
	`Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Pow Sub Sum`: broadcasting,
	`And Equal Greater GreaterOrEqual Less LessOrEqual Or Xor`:                          comparing,
	`Cast`: castTo, `CastLike`: castLike, `Dropout`: dropout, `Identity`: identity, `Where`: where,
	`Multinomial`: multinomial, `Bernoulli EyeLike RandomNormal RandomNormalLike RandomUniform RandomUniformLike`: random,

	`AveragePool LpPool MaxPool`: pool(false), `GlobalAveragePool GlobalLpPool GlobalMaxPool`: globalPool, `MaxUnpool`: unpool,
	`Conv DeformConv`: convolved(0, 1, elemOf(0)), `ConvInteger`: convolved(0, 1, is(layout.Int32)),
	`QLinearConv`: convolved(0, 3, elemOf(7)), `ConvTranspose`: transposedConv,
	`MatMul`: multiplied(0, 1, elemOf(0)), `MatMulInteger`: multiplied(0, 1, is(layout.Int32)),
	`QLinearMatMul`: multiplied(0, 3, elemOf(7)), `Gemm`: gemm(0, 1, elemOf(0)), `Einsum`: einsum, `Det`: determinant,

	`ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare`: reduced,
	`ArgMax ArgMin`: argument, `TopK`: topK, `BatchNormalization`: batchNorm, `LayerNormalization`: layerNorm,
	`NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss`: loss,
	`GRU LSTM RNN`: recurrent(2), `Attention`: attention, `Resize`: resized, `Upsample`: upsampled,

	`AffineGrid`: affineGrid, `Col2Im`: folded, `GridSample`: gridSample, `MaxRoiPool`: maxRegions,
	`NonMaxSuppression`: suppressed, `RoiAlign`: regions,
	`BlackmanWindow HammingWindow HannWindow`: taper, `DFT`: fourier, `MelWeightMatrix`: melWeights, `Range`: counted, `STFT`: frames,
	`DequantizeLinear`: dequantised, `DynamicQuantizeLinear`: dynamicQuantised, `QuantizeLinear`: quantised,

	`Concat`: concatenated, `ConstantOfShape`: filled, `DepthToSpace`: blocks(false), `Expand`: expanded, `Flatten`: flattened,
	`Gather`: gathered, `GatherElements`: func(n *Node) { n.like(0, 1, n.elem(0)) }, `GatherND`: gatheredND, `NonZero`: places,
	`OneHot`: oneHot, `Pad`: padded, `Reshape`: reshaped, `Shape`: shapeOf, `Size`: func(n *Node) { n.set(0, layout.Int64) },
	`Slice`: sliced, `SpaceToDepth`: blocks(true), `Split`: split, `Squeeze`: squeezed, `Tile`: tiled, `Transpose`: transposed,
	`Unsqueeze`: unsqueezed,
})

// contributed are the rules of operators of com.microsoft.
var contributed = table(map[string]rule{
	`BiasAdd BiasGelu BiasSoftmax FastGelu Gelu GroupNorm Inverse QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QuickGelu
	 RotaryEmbedding Trilu`: unary,
	`BiasSplitGelu`: halved, `SkipLayerNormalization SkipSimplifiedLayerNormalization`: skipLayerNorm,
	`FusedConv`: convolved(0, 1, elemOf(0)), `FusedGemm`: gemm(0, 1, elemOf(0)),
	`FusedMatMul FusedMatMulActivation TransposeMatMul`: fusedMatMul, `MatMulInteger16`: multiplied(0, 1, is(layout.Int32)),
	`DynamicQuantizeMatMul`: multiplied(0, 1, elemOf(0)), `MatMulIntegerToFloat`: multiplied(0, 1, elemOf(2)),
	`MatMulNBits MatMulBnb4`: blockwise, `QGemm`: quantisedGemm,
	`QLinearAdd QLinearMul`: quantisedBinary, `QLinearAveragePool`: pool(false), `QLinearConcat`: quantisedConcat, `QLinearConv`: convolved(0, 3, elemOf(7)),
	`QLinearGlobalAveragePool`: globalPool, `QLinearReduceMean`: quantisedReduce, `QLinearWhere`: quantisedWhere,
	`NhwcMaxPool`:          pool(true),
	`Attention QAttention`: packedAttention, `EmbedLayerNormalization`: embedded, `GroupQueryAttention`: groupedQuery,
	`MultiHeadAttention`: multiHead, `GridSample`: gridSample, `Pad`: padded, `Range`: counted,
	`DequantizeLinear`: dequantised, `DynamicQuantizeLSTM`: recurrent(1), `QuantizeLinear`: quantised,
})

// domains are the rules by the domain of the operators.
var domains = map[string]map[string]rule{"": rules, "com.microsoft": contributed}

// table splits the names of operators that share a rule.
func table(of map[string]rule) map[string]rule {
	out := map[string]rule{}
	for names, r := range of {
		for _, name := range strings.Fields(names) {
			out[name] = r
		}
	}
	return out
}
