#!/bin/sh
# Make the pass logs in this folder with real Tritons, without a GPU.
#
#   tests/oracle/setup.sh .venv-oracle && samples/make_logs.sh .venv-oracle
#
# Every log ends, for each kernel, with the module before scf becomes cf (tests/oracle/compile_kernels.py).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
oracle=$(cd "${1:?the folder that tests/oracle/setup.sh filled}" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
compile=$here/../tests/oracle/compile_kernels.py

"$oracle/t39/bin/python" "$compile" "$build" --target hip:gfx942 --options '{}' --only '^(softmax_row|persistent_matmul)$' \
  --no-full
"$oracle/t39/bin/python" "$compile" "$build" --target cuda:90 --options '{}' --only '^attention$'
"$oracle/t39/bin/python" "$compile" "$build" --target cuda:90 --only '^matmul_bias$' \
  --options '{"num_stages": 1}' --options '{"num_stages": 3}'
# 3.0.0 aborts in its layout pass: that is the sample, and the script's status says so.
"$oracle/t30/bin/python" "$compile" "$build" --kernels "$here/kernels" --target cuda:90 || true

logs=$build/logs/3.9.0
cat "$logs/hip-gfx942/softmax_row.log" "$logs/hip-gfx942/persistent_matmul.log" >"$here/two_kernels.hip-gfx942.log"
gzip -9nc "$logs/cuda-90/attention.log" >"$here/attention.cuda-90.log.gz"
gzip -9nc "$logs/cuda-90/matmul_bias.num_stages-1.log" >"$here/matmul.num_stages-1.cuda-90.log.gz"
gzip -9nc "$logs/cuda-90/matmul_bias.num_stages-3.log" >"$here/matmul.num_stages-3.cuda-90.log.gz"
cp "$build/logs/3.0.0/cuda-90/linked_tiles.log" "$here/layout_abort.triton-3.0.0.log"
cp "$build/rlc/3.9.0/cuda-90/attention.3.mlir" "$here/attention.cuda-90.ttgir"
