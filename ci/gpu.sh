#!/usr/bin/env bash
# ci/gpu.sh [test|sanitize|bench|targets|profile|papers] [arguments]: what needs a GPU. Fails without one. Installs nothing and needs no network.
#
#   test      builds and runs host tests, GPU tests and examples (GPUSORT_LARGE=0 leaves out those past 2^32 elements);
#             arguments go to ctest
#   sanitize  runs the GPU tests under compute-sanitizer. GPUSORT_SANITIZE_TOOLS: which of its tools;
#             GPUSORT_SANITIZE_TESTS: a regular expression for the programs' names; GPUSORT_SANITIZE_FILTER: for GoogleTest
#   bench     runs benchmarks/gpusort_bench with the arguments, and prints the ratio table
#   targets   measures every cell that benchmarks/targets.py has a target for, and prints what was reached and what was not.
#             GPUSORT_SUITES: which of its suites, with commas between; arguments go to gpusort_bench
#   profile   has Nsight Compute look at every kernel, in the sorts that benchmarks/profile_kernels.py lists, and prints what limits it.
#             GPUSORT_CASES: a regular expression for the sorts
#   papers    runs the papers' experiments of benchmarks/papers, and prints their tables; arguments go to each
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

job=${1:-test}
[ $# -eq 0 ] || shift

has_gpu || die "ci/gpu.sh needs an NVIDIA GPU, and this machine shows none"
find_nvcc || die "no nvcc of CUDA 13 or newer in CUDACXX, PATH or /usr/local/cuda/bin"
build=$(realpath -m "${GPUSORT_BUILD_DIR:-build/ci-gpu}")
export GPUSORT_REQUIRE_GPU=1

build_targets() {
  say "building for $(gpu_says name "a GPU") with $CUDACXX"
  configure -DGPUSORT_LINE_INFO=ON "-DGPUSORT_BUILD_BENCHMARKS=$([[ $job == @(bench|targets|profile|papers) ]] && echo ON || echo OFF)"
  cmake --build "$build" --target "$@"
}

run_tests() {
  build_targets gpusort_host_tests gpusort_gpu_tests gpusort_examples
  local without=()
  if [ "${GPUSORT_LARGE:-1}" = 0 ]; then without=(-LE '^large$'); fi
  say "testing"
  # GPU tests run one at a time whatever this says; host tests and examples, four.
  ctest --test-dir "$build" --output-on-failure -j 4 -L '^(host|gpu|example)$' "${without[@]}" "$@"
}

# One program under one tool, the tests of a filter; its output is kept and shown only if something was found.
sanitize_one() {
  local tool=$1 program=$2 tests=$3 log
  # A program may be there twice, once of each build.
  log=$build/sanitize/$(basename "$program").$tool.$(basename "$(dirname "$(dirname "$program")")").log
  local start=$SECONDS
  # Some tests provoke CUDA errors on purpose: a refused call is no finding, a bad access is.
  # Memcheck's own allocator for device code runs out where the device's does not: bounds of such memory are not checked.
  local options=() left_out=
  case $tool in
    memcheck) options=(--check-device-heap no) ;;
    # It has no such option, and from the first sort inside a kernel that takes memory from the device heap on, it ends in an
    # illegal address and no report. Only quicksort, which comes before, takes none.
    initcheck) left_out=in_kernel/hybrid*:in_kernel/merge*:in_kernel/radix*:in_kernel/automatic*:in_kernel/thrust* ;;
    # It loses count of kernels that several host threads launch ("failure to track a kernel launch") and may then wait for
    # ever. The kernels are those of the other tests.
    racecheck) left_out=Concurrency.ManyThreads:Launch.ThreadsThatHaveNotLaunchedBefore ;;
  esac
  if [ -n "$left_out" ]; then
    [[ $tests == *-* ]] || tests+=-
    tests+=:$left_out
  fi
  if compute-sanitizer --tool "$tool" "${options[@]}" --report-api-errors no --error-exitcode 9 \
       "$program" "--gtest_filter=$tests" >"$log" 2>&1 && grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log"; then
    printf '%-10s %-40s clean, %s of its tests, %d s\n' "$tool" "$(basename "$program")" \
           "$(sed -n 's/^\[==========\] \([0-9]*\) tests* from.*ran.*/\1/p' "$log")" $((SECONDS - start))
  else
    printf '%-10s %-40s FAILED, see %s\n' "$tool" "$(basename "$program")" "$log"
    tail -n 60 "$log"
    return 1
  fi
}

run_sanitizer() {
  command -v compute-sanitizer >/dev/null || die "compute-sanitizer is not in PATH; it comes with the CUDA toolkit"
  build_targets gpusort_gpu_tests
  filter=${GPUSORT_SANITIZE_FILTER:--*arge*:*illion*:*Alone.*}
  # Every size and distribution would take hours.
  export GPUSORT_TEST_STEP=${GPUSORT_TEST_STEP:-17}
  # The slowest first, so that it does not end alone.
  local tools=${GPUSORT_SANITIZE_TOOLS:-racecheck memcheck initcheck synccheck}
  local tests=${GPUSORT_SANITIZE_TESTS:-.} tool source program jobs=()
  # Racecheck takes up to half a minute for each launch of a cluster. So it gets code for devices that have none, where one block or many
  # sort what a cluster would, and of clusters one test of radix sort, of small ones, and one of merge sort.
  local without_clusters=$build/without_clusters
  if [[ $tools == *racecheck* ]]; then
    build=$without_clusters GPUSORT_CMAKE_ARGS="${GPUSORT_CMAKE_ARGS:-} -DCMAKE_CUDA_ARCHITECTURES=75-virtual" \
      build_targets gpusort_gpu_tests
  fi
  mkdir -p "$build/sanitize"
  for tool in $tools; do
    for source in testing/device/*_test.cu; do
      program=$build/testing/$(basename "$source" .cu)
      if [[ ! $program =~ $tests || $program == *large* ]]; then continue; fi
      if [ "$tool" != racecheck ]; then
        jobs+=("$tool" "$program" "$filter")
        continue
      fi
      if [[ $program == */radix_paths_test ]]; then
        jobs+=("$tool" "$program" RadixPaths.ClustersOfFewBlocks)
        program=${program%_test}_old_code_test
      elif [[ $program == */comparison_paths_test ]]; then
        jobs+=("$tool" "$program" ComparisonPathsOfWords.OfAClusterStaysInOrder)
      fi
      jobs+=("$tool" "$without_clusters/testing/$(basename "$program")" "$filter")
    done
  done
  [ ${#jobs[@]} -gt 0 ] || die "no GPU test program matches '$tests'"
  say "sanitizing: $tools; tests $filter"
  export build
  export -f sanitize_one
  # shellcheck disable=SC2016 # the inner bash expands them
  printf '%s\0' "${jobs[@]}" | xargs -0 -n 3 -P "${GPUSORT_SANITIZE_JOBS:-4}" bash -c 'sanitize_one "$@" || exit 1' _ \
    || die "compute-sanitizer has findings"
  echo "no findings"
}

run_benchmarks() {
  build_targets gpusort_bench
  local json=$build/bench.json
  say "benchmarking into $json"
  "$build/benchmarks/gpusort_bench" "$@" "--json=$json"
  say "ours over the peers'"
  python3 benchmarks/ratios.py "$json"
}

run_targets() {
  build_targets gpusort_bench
  local suites=()
  if [ -n "${GPUSORT_SUITES:-}" ]; then suites=("--suites=$GPUSORT_SUITES"); fi
  say "measuring what there are targets for into $build/targets"
  python3 benchmarks/targets.py "${suites[@]}" run "$build/benchmarks/gpusort_bench" "$build/targets" -- "$@"
}

run_profile() {
  command -v ncu >/dev/null || die "ncu, Nsight Compute, is not in PATH; it comes with the CUDA toolkit"
  build_targets gpusort_bench
  say "profiling into $build/profile"
  python3 benchmarks/profile_kernels.py "--cases=${GPUSORT_CASES:-}" run "$build/benchmarks/gpusort_bench" "$build/profile"
}

run_papers() {
  build_targets gpusort_papers
  local source program
  for source in benchmarks/papers/*.cu; do
    program=$(basename "$source" .cu)
    say "$program"
    "$build/benchmarks/papers/$program" "$@"
  done
}

case $job in
  test) run_tests "$@" ;;
  sanitize) run_sanitizer ;;
  bench) run_benchmarks "$@" ;;
  targets) run_targets "$@" ;;
  profile) run_profile ;;
  papers) run_papers "$@" ;;
  *) die "unknown job '$job': test, sanitize, bench, targets, profile or papers" ;;
esac
