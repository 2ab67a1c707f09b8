"""Lowered models on a GPU: resident, copied at first use, planned; beside copy and compute alone.

    python bench/bench_gpu.py [--models resnet50,mobilenet_v2,bert,gpt] [--budgets 0,50,100] [--repeat 20]
                              [--device cuda:0] [--peers]

Times are medians of captured graphs of eight runs back to back, in microseconds a run. The bound is the
larger of the same kernels without copies and the same copies without kernels in the same process. Outputs are
compared with onnxruntime's. `--peers` times PyTorch and Accelerate's cpu_offload on a ResNet-50 beside it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ir" / "passes" / "streaming"))

import numpy as np  # noqa: E402  (the path above comes first)
import onnx_models  # noqa: E402
import onnxruntime  # noqa: E402
from passlens.backends.cuda import Cuda, missing  # noqa: E402
from passlens.backends.run import run_on  # noqa: E402
from passlens.ir.analysis.cost import kernel_us  # noqa: E402
from passlens.ir.analysis.devices import device  # noqa: E402
from passlens.ir.formats.onnx import program_of  # noqa: E402
from passlens.ir.passes.step import Debugger  # noqa: E402
from passlens.ir.passes.streaming.decisions import Wishes  # noqa: E402
from passlens.ir.passes.streaming.lower.lower import lower  # noqa: E402
from passlens.ir.passes.streaming.passes import StreamingPass  # noqa: E402

MODELS = {
    "resnet50": lambda: onnx_models.resnet50_v2(),
    "mobilenet_v2": lambda: onnx_models.mobilenet_v2(),
    "bert": lambda: onnx_models.bert(),
    "gpt": lambda: onnx_models.gpt(),
}

DIMS = {"batch": 1, "sequence": 128}


def planned(model, dims, budget: float, naive: bool):
    lowered = lower(program_of(model), dims)
    target = device("h200")
    total = sum(array.nbytes for array in lowered.literals.values())
    wishes = Wishes(int(total * budget))
    Debugger(
        StreamingPass(lambda op: kernel_us(op, target), target.pinned, wishes, naive), lowered.program
    ).finish()
    return lowered


def one(name: str, budgets: list[float], repeat: int) -> None:
    model = MODELS[name]()
    dims = DIMS if name == "bert" else {}
    inputs = onnx_models.inputs_of(model, dims)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, inputs)
    for budget in budgets:
        for naive in (False, True):
            lowered = planned(model, dims, budget, naive)
            given = {lowered.inputs[key]: value for key, value in inputs.items()}
            found = run_on(Cuda(), lowered.program, lowered.literals, given, runs=3, repeat=repeat)
            worst = max(
                float(
                    np.max(np.abs(a.reshape(b.shape).astype(np.float64) - b)) / max(np.max(np.abs(b)), 1e-30)
                )
                for a, b in zip(found.outputs, wanted, strict=True)
            )
            times = found.times
            how = "naive  " if naive else "planned"
            said = f"{name:<14} budget {100 * budget:3.0f} % {how}: error {worst:.1e}"
            if times is not None:
                said += (
                    f"; {times.period_us:8.1f} us a run ({times.first_us:8.1f} alone), compute "
                    f"{times.compute_us:8.1f}, copies {times.copy_us:8.1f}, over the bound "
                    f"{times.period_us / times.bound_us:5.3f}, hidden {100 * times.overlap:5.1f} %"
                )
            print(said, flush=True)


def _graphed(net, x, repeat: int, kind: str) -> None:
    import time

    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    graph.replay()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeat):
        graph.replay()
    torch.cuda.synchronize()
    print(f"PyTorch, CUDA graph, resident, {kind}: {1e6 * (time.perf_counter() - start) / repeat:.1f} us")


def peers(repeat: int) -> None:
    import time

    import torch
    import torchvision.models

    net = torchvision.models.resnet50().eval()
    data = torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        net = net.cuda()
        x = data.cuda()
        for tf32 in (True, False):
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
            _graphed(net, x, repeat, "tf32" if tf32 else "f32")
        from accelerate import cpu_offload

        off = cpu_offload(net.cpu(), execution_device="cuda")
        for _ in range(3):
            off(data)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            off(data)
        torch.cuda.synchronize()
        print(f"Accelerate cpu_offload: {1e6 * (time.perf_counter() - start) / 5:.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budgets", default="0,50,100")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--peers", action="store_true")
    args = parser.parse_args()
    why = missing()
    if why:
        print(why)
        raise SystemExit(2)
    budgets = [float(each) / 100 for each in args.budgets.split(",")]
    for name in args.models.split(","):
        one(name, budgets, args.repeat)
    if args.peers:
        peers(args.repeat)


if __name__ == "__main__":
    main()
