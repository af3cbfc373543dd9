"""Prints the logits of a decoder's steps, by ONNX Runtime: reference.py MODEL.onnx TOKENS, where
TOKENS is a list in JSON, of a token for each sequence, for each step."""
import json
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as e:
    print(e, file=sys.stderr)
    sys.exit(3)

options = onnxruntime.SessionOptions()
options.log_severity_level = 3  # TensorScatter warns of copies
session = onnxruntime.InferenceSession(sys.argv[1], options)
steps = json.loads(sys.argv[2])
types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
state = {i.name: np.zeros([len(steps[0])] + i.shape[1:], types[i.type]) for i in session.get_inputs()}
names = [o.name for o in session.get_outputs()]
for tokens in steps:
    state["token"] = np.array(tokens, np.int64).reshape(-1, 1)
    outputs = dict(zip(names, session.run(names, state)))
    state = {name: outputs[name + ".new"] for name in state}
    sys.stdout.buffer.write(outputs["logits"].tobytes())
