#!/usr/bin/env bash
# ci/compile_time.sh: how long one call takes to compile for one architecture, beside the same call of Thrust's. Processor
# time of the compiler, the least of five runs, taken in turn, so that other processes disturb both alike. Fails above 1.25
# times Thrust's for plain keys and 1.5 times with a custom comparator.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_cuda

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/call.cu" <<'END'
#include HEADER
#include <thrust/device_vector.h>
struct by_remainder
{
  __host__ __device__ bool operator()(unsigned a, unsigned b) const { return a % 1000 < b % 1000; }
};
#ifdef CUSTOM
void call(thrust::device_vector<unsigned>& v) { LIBRARY::sort(v.begin(), v.end(), by_remainder{}); }
#else
void call(thrust::device_vector<unsigned>& v) { LIBRARY::sort(v.begin(), v.end()); }
#endif
END

# compile LIBRARY OPTION...: seconds of processor time, the user's and the system's
compile() {
  local library=$1 TIMEFORMAT='%U %S'
  shift
  { time "$CUDACXX" -std=c++17 -arch=sm_90 -I . "-DHEADER=<$library/sort.h>" "-DLIBRARY=$library" "$@" \
      -c "$scratch/call.cu" -o "$scratch/call.o" >"$scratch/log" 2>&1; } 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

# compare NAME LIMIT OPTION...
compare() {
  local name=$1 limit=$2 library
  shift 2
  rm -f "$scratch/gpusort" "$scratch/thrust"
  for _ in 1 2 3 4 5; do
    for library in gpusort thrust; do
      compile "$library" "$@" | awk '{ print $1 + $2 }' >>"$scratch/$library"
    done
  done
  awk -v name="$name" -v ours="$(sort -n "$scratch/gpusort" | head -n 1)" \
      -v theirs="$(sort -n "$scratch/thrust" | head -n 1)" -v limit="$limit" 'BEGIN {
    printf "%-20s gpusort %.2f s, thrust %.2f s, ratio %.2f (at most %.2f)\n", name, ours, theirs, ours / theirs, limit
    exit !(ours > 0 && theirs > 0 && ours <= limit * theirs) }'
}

compare "plain keys" 1.25
compare "custom comparator" 1.5 -DCUSTOM
