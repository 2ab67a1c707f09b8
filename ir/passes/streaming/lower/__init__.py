"""From an ONNX model to a fused GPU program in MIGraphX's terms, step by step."""
