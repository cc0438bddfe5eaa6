#!/usr/bin/env bash
# One visit to a GPU machine: installs the wheel that was brought along, shows
# that it is right, then measures. Everything goes into the folder given.
#
#   benchmarks/gpu_session.sh FOLDER [quick]
#
# Needs on the machine: python3 with torch, NumPy, ml_dtypes, pytest; Triton and
# compute-sanitizer are used where found. The wheel for its Python lies in
# .carry/ (make wheel PYTHON=python3.12 && cp dist/*cp312* .carry/). Without a
# wheel, whatever `import tilewright` finds is used. Under 8 minutes in all.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: benchmarks/gpu_session.sh FOLDER [quick]}
quick=${2:+--quick}
mkdir -p "$out"
out=$(cd "$out" && pwd)
summary="$out/summary.txt"
: > "$summary"
failed=0

# Everything together: what has not started by then is not run, and said so.
deadline=${TILEWRIGHT_SESSION_SECONDS:-470}

# Runs one step under a time limit; its output goes to its own file.
step() {
  local name=$1 seconds=$2
  shift 2
  local start=$SECONDS left=$((deadline - SECONDS)) status
  if [ "$left" -lt 10 ]; then
    printf '%-22s %-10s\n' "$name" "no time" | tee -a "$summary"
    failed=1
    return
  fi
  [ "$left" -lt "$seconds" ] && seconds=$left
  echo "== $name"
  timeout -k 10 "$seconds" "$@" > "$out/$name.log" 2>&1
  status=$?
  [ $status -eq 0 ] || failed=1
  printf '%-22s %-10s %4d s   %s\n' "$name" "$([ $status -eq 0 ] && echo ok || echo "failed $status")" \
    $((SECONDS - start)) "$(grep -vE '^\s*$' "$out/$name.log" | tail -n 1 | cut -c1-100)" | tee -a "$summary"
}

wheels=(.carry/*.whl)
if [ -e "${wheels[0]}" ]; then
  step install 120 python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target /tmp/site "${wheels[@]}"
  export PYTHONPATH=/tmp/site${PYTHONPATH:+:$PYTHONPATH}
fi
export PYTHONUNBUFFERED=1 TILEWRIGHT_REQUIRE_GPU=1

step import 60 python3 -c 'import tilewright, torch; print(tilewright.__version__, tilewright.__file__, torch.cuda.get_device_name())'
step doctor 60 python3 -m tilewright doctor

# 1. Correctness. Marked tests only: what runs here is what a GPU decides.
parallel=$(python3 -c 'import xdist' 2>/dev/null && echo "-n 8")
step correctness 240 python3 -m pytest tests/e2e -m 'gpu or e2e' -k 'not assemble and not interpreter' -q $parallel

# 2. compute-sanitizer on a few kernels, one process per tool.
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck "synccheck --num-cuda-barriers 65536" initcheck; do
    step "sanitizer-${tool%% *}" 90 compute-sanitizer --tool $tool --error-exitcode 9 --target-processes all \
      python3 tests/harness/sanitizer_selection.py
  done
else
  echo "compute-sanitizer is not here: not run" | tee -a "$summary"
fi

# 3. Figures.
step memory_bound 200 python3 benchmarks/memory_bound.py $quick --out "$out"
step matmul 170 python3 benchmarks/matmul.py $quick --out "$out"
step attention 170 python3 benchmarks/attention.py $quick --out "$out"
step host_side 120 python3 benchmarks/host_side.py $quick --out "$out"
step tuning 100 python3 benchmarks/tuning.py --out "$out"

echo
cat "$summary"
for table in memory_bound matmul attention host_side tuning_matmul; do
  if [ -f "$out/$table.md" ]; then
    echo
    sed -n '/^|/p' "$out/$table.md"
  fi
done
tail -n 15 "$out/correctness.log"
exit $failed
