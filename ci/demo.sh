#!/usr/bin/env bash
# The main job on real input, from a clean clone: the 9.3 million points of ETOPO5, the relief of the Earth, ordered back
# to front as a renderer would. Arguments go to visibility_ordering; if they name a file, that one is read.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Debian's ferret-datasets: installed if we may, else only unpacked below build/. Prints where the relief lies.
find_relief() {
  local name=usr/share/ferret-vis/data/etopo5.cdf data=$PWD/build/data
  local installed=/$name unpacked=$data/$name
  if [ -r "$installed" ]; then echo "$installed"; return; fi
  if [ -r "$unpacked" ]; then echo "$unpacked"; return; fi
  command -v apt-get >/dev/null || return 1
  mkdir -p "$data"
  if can_be_root; then update_package_lists >/dev/null 2>&1 || true; fi
  (cd "$data" && apt-get download -qq ferret-datasets >/dev/null 2>&1 && dpkg -x ferret-datasets_*.deb . ) || return 1
  rm -f "$data"/ferret-datasets_*.deb
  [ -r "$unpacked" ] && echo "$unpacked"
}

need_build_tools
need_cuda
need_packages libcli11-dev libnetcdf-dev

say "building examples/visibility_ordering"
configure -DGPUSORT_BUILD_TESTS=OFF -DGPUSORT_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build "$build" --target visibility_ordering
program=$build/examples/visibility_ordering

# Does one of the arguments say what to read?
has_input=
is_value=
for argument in "$@"; do
  if [ -n "$is_value" ]; then is_value=; continue; fi
  case $argument in
    --relief* | --generate* | --help | -h) has_input=1 ;;
    --format | --algorithm | --comparator | --eye | --output | --repeat) is_value=1 ;; # the next argument
    -*) ;;
    *) has_input=1 ;;
  esac
done

input=()
if [ -z "$has_input" ]; then
  if relief=$(find_relief); then
    say "ETOPO5, the relief of the Earth: $relief"
    input=(--relief "$relief")
  else
    say "the package ferret-datasets could not be had: generated points in place of the relief of the Earth"
    input=(--generate 9335520)
  fi
fi
"$program" "${input[@]}" "$@"
