#!/usr/bin/env bash
# All that only an NVIDIA GPU can show, in about ten minutes: see scripts/gpu_check.py. Where JAX, pgx and mctx
# are installed, their self-play runs beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
export PYTHONPATH=".:scripts${PYTHONPATH:+:$PYTHONPATH}"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
"$python" scripts/gpu_check.py "$@"
if "$python" -c "import jax, mctx, pgx" 2> /dev/null; then
  "$python" scripts/peers/pgx_mctx.py --precision bf16 --network 10x128 --games 4096
fi
