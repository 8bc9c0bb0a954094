# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share; sourced, never run. Afterwards: the current folder is the repository's root,
# `jobs` is how many compilers may run, and `build` is where they build.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=${GPUSORT_JOBS:-$(nproc)}
build=$(realpath -m "${GPUSORT_BUILD_DIR:-build/ci}")
venv=$PWD/build/venv

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# version_at_least HAVE WANTED
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}
can_be_root() { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }

# Package lists are fetched once, and only if something is missing.
update_package_lists() {
  if [ -z "${package_lists_updated:-}" ]; then
    as_root apt-get update -qq
    package_lists_updated=1
  fi
}

installed_package() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# need_packages PACKAGE...: installs those that are missing.
need_packages() {
  local missing=() package
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "no apt-get here: taking for granted what Debian calls $*"
    return
  fi
  for package in "$@"; do
    installed_package "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  can_be_root || die "these packages are missing, and installing them takes root or sudo without a password:
  sudo apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  update_package_lists
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
    || die "apt-get could not install: ${missing[*]}"
}

need_venv() {
  if [ ! -x "$venv/bin/pip" ]; then
    need_packages python3 python3-venv
    say "making a private Python environment in ${venv#"$PWD"/}"
    python3 -m venv "$venv"
  fi
}

# A C++ compiler, CMake 3.25 and ninja.
need_build_tools() {
  local packages=()
  if ! command -v ninja >/dev/null; then packages+=(ninja-build); fi
  if ! command -v cmake >/dev/null; then packages+=(cmake); fi
  if ! command -v "${CXX:-c++}" >/dev/null; then packages+=(g++); fi
  [ ${#packages[@]} -eq 0 ] || need_packages "${packages[@]}"
  if ! version_at_least "$(cmake --version | sed -n '1s/[^0-9]*//p')" 3.25; then
    need_venv
    say "this CMake is older than 3.25: installing one with pip"
    "$venv/bin/pip" install -q 'cmake>=3.25,<4' || die "CMake 3.25 or newer could not be had from the distribution or with pip"
    PATH=$venv/bin:$PATH
  fi
}

nvcc_version() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'; }

# CMake takes the compiler from CUDACXX and the toolkit from the first nvcc in PATH: both have to be the same.
use_nvcc() {
  export CUDACXX=$1
  PATH=$(dirname "$1"):$PATH
}

# Uses an nvcc 13 or newer that is installed; fails if there is none.
find_nvcc() {
  local nvcc
  for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [ -n "$nvcc" ] && [ -x "$nvcc" ] && version_at_least "$(nvcc_version "$nvcc")" 13.0; then
      use_nvcc "$nvcc"
      return
    fi
  done
  return 1
}

# nvcc 13 or newer: the one installed, or NVIDIA's Python wheels.
need_cuda() {
  if find_nvcc; then return; fi
  need_venv
  say "no CUDA toolkit 13 here: installing NVIDIA's Python wheels"
  "$venv/bin/pip" install -q 'cuda-toolkit[nvcc,cudart,cccl,nvtx]==13.0.*' \
    || die "no CUDA toolkit: nvcc 13 is not installed, and the package cuda-toolkit could not be installed with pip.
Install the toolkit (https://developer.nvidia.com/cuda-downloads) and run this again."
  local toolkit
  toolkit=$("$venv/bin/python" -c 'import os, sysconfig; print(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "cu13"))')
  # The wheels lack two names that nvcc and CMake look for.
  [ -e "$toolkit/lib64" ] || ln -s lib "$toolkit/lib64"
  [ -e "$toolkit/lib/libcudart.so" ] || ln -s libcudart.so.13 "$toolkit/lib/libcudart.so"
  use_nvcc "$toolkit/bin/nvcc"
  [ -n "$(nvcc_version "$CUDACXX")" ] || die "the nvcc of the Python wheels does not run on this machine"
}

has_gpu() {
  if command -v nvidia-smi >/dev/null; then nvidia-smi -L 2>/dev/null | grep -q '^GPU'; else [ -e /dev/nvidia0 ]; fi
}

# gpu_says FIELD OTHERWISE: what nvidia-smi says about the first GPU.
gpu_says() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1 | grep . || echo "$2"; }

# configure OPTION...: everything but what the options leave out, with what the machine and GPUSORT_CMAKE_ARGS say.
# Every option is named, because scripts share a build folder, and CMake remembers what the last one left out.
configure() {
  local architecture=()
  if has_gpu; then architecture=("-DCMAKE_CUDA_ARCHITECTURES=$(gpu_says compute_cap native | tr -d .)"); fi
  # shellcheck disable=SC2086 # GPUSORT_CMAKE_ARGS is a list of words
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUSORT_BUILD_TESTS=ON -DGPUSORT_BUILD_EXAMPLES=ON \
    -DGPUSORT_BUILD_BENCHMARKS=ON -DGPUSORT_REQUIRE_ALL=OFF -DGPUSORT_LINE_INFO=OFF -DGPUSORT_INTERPRET_TESTS=OFF "${architecture[@]}" "$@" ${GPUSORT_CMAKE_ARGS:-}
}
