#!/usr/bin/env bash
# Formatting of every source, and clang-tidy over the headers as the host compiler reads them. `ci/lint.sh --fix` formats.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Releases of clang-format differ in what they make of the same file, so this one is the measure.
clang_format_release=19.1.7

need_venv
"$venv/bin/pip" install -q "clang-format==$clang_format_release" \
  || die "clang-format $clang_format_release could not be had with pip"
mapfile -t sources < <(git ls-files -co --exclude-standard -- '*.h' '*.cuh' '*.cu' '*.cpp')

if [ "${1:-}" = --fix ]; then
  "$venv/bin/clang-format" -i "${sources[@]}"
  echo "formatted ${#sources[@]} files"
  exit
fi

say "clang-format $clang_format_release, ${#sources[@]} files"
"$venv/bin/clang-format" --dry-run -Werror "${sources[@]}"
echo "no findings"

need_build_tools
need_cuda
need_packages clang-tidy libgtest-dev
say "clang-tidy, the headers that a host compiler reads"
build=$(realpath -m "${GPUSORT_BUILD_DIR:-build/lint}")
configure -DGPUSORT_BUILD_EXAMPLES=OFF -DGPUSORT_BUILD_BENCHMARKS=OFF >/dev/null
# As compiled by the header tests: these three bring in every header that needs no nvcc.
headers=$build/testing/headers
clang-tidy --config-file=.clang-tidy -p "$build" --quiet \
  "$headers/gpusort_sort_h.cpp" "$headers/gpusort_workspace_h.cpp" "$headers/gpusort_order_h.cpp" \
  testing/support/main.cpp examples/visibility_ordering/point_cloud.cpp 2> >(grep -v 'warnings generated' >&2)
echo "no findings"
