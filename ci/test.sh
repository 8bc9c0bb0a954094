#!/usr/bin/env bash
# Builds everything and runs every test that this machine can run, from a clean clone. Without a GPU the GPU tests are compiled to
# PTX, which the processor interprets (testing/interpreter), with fewer and smaller inputs.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_build_tools
need_cuda
need_packages libgtest-dev libbenchmark-dev libcli11-dev libnetcdf-dev libtbb-dev

say "configuring with $CUDACXX"
configure -DGPUSORT_REQUIRE_ALL=ON "-DGPUSORT_INTERPRET_TESTS=$(has_gpu && echo OFF || echo ON)"

say "building"
cmake --build "$build"

if has_gpu; then
  say "testing, GPU included: $(gpu_says name "a GPU")"
else
  interpreted=$(ctest --test-dir "$build" -N -L '^gpu$' | sed -n 's/^Total Tests: //p')
  say "testing; no GPU on this machine: $interpreted GPU test programs are interpreted"
fi
ctest --test-dir "$build" --output-on-failure -j "$jobs"
say "built and tested in $((SECONDS / 60)) min $((SECONDS % 60)) s, with $jobs jobs"
