package quant

// Config returns the weight's quantization_config for config.json. Formats of GPTQModel,
// AutoAWQ, compressed-tensors and gpt-oss get their own fields. Others get the format's
// name, which no engine mistakes for another format. For numbers, which are not quantised,
// it is nil.
func (w *Weight) Config() map[string]any {
	if w.Format.numbers {
		return nil
	}
	p := w.Params
	size := p.Group
	if size == 0 {
		size = -1
	}
	c := map[string]any{"quant_method": w.Format.Name, "bits": p.Bits, "group_size": size}
	switch w.Format {
	case gptq:
		c["desc_act"], c["sym"], c["checkpoint_format"] = p.Sorted, !p.Zeros, "gptq_v2"
	case gptqV1:
		c["quant_method"], c["desc_act"], c["sym"], c["checkpoint_format"] = "gptq", p.Sorted, !p.Zeros, "gptq"
	case awq:
		c["version"], c["zero_point"] = "gemm", p.Zeros
	case awqGEMV:
		c["quant_method"], c["version"], c["zero_point"] = "awq", "gemv", p.Zeros
	case nvfp4:
		c = map[string]any{"quant_method": "modelopt", "quant_algo": "NVFP4"}
	case compressedTensors:
		strategy := map[string]any{"num_bits": p.Bits, "type": "int", "symmetric": !p.Zeros, "strategy": "channel"}
		if p.Group > 0 {
			strategy["strategy"], strategy["group_size"] = "group", p.Group
		}
		if p.Sorted {
			strategy["actorder"] = "group"
		}
		c = compressedConfig("pack-quantized", strategy)
	case compressedInt8:
		strategy := map[string]any{"num_bits": 8, "type": "int", "symmetric": !p.Zeros, "strategy": "channel"}
		if p.Group > 0 {
			strategy["strategy"], strategy["group_size"] = "group", p.Group
		}
		c = compressedConfig("int-quantized", strategy)
	case compressedMXFP4:
		c = compressedConfig("mxfp4-pack-quantized", map[string]any{"num_bits": 4, "type": "float", "symmetric": true, "strategy": "group", "group_size": 32})
	case mlx:
		c = map[string]any{"group_size": size, "bits": p.Bits, "mode": "affine"}
	case mlxMXFP4:
		c = map[string]any{"group_size": 32, "bits": 4, "mode": "mxfp4"}
	case gptOSS:
		c = map[string]any{"quant_method": "mxfp4"}
	default:
		c["zero_point"] = p.Zeros
	}
	return c
}

// compressedConfig is the configuration of compressed-tensors for one scheme.
func compressedConfig(format string, weights map[string]any) map[string]any {
	return map[string]any{
		"quant_method": "compressed-tensors", "format": format,
		"config_groups": map[string]any{"group_0": map[string]any{"targets": []string{"Linear"}, "weights": weights}},
	}
}
