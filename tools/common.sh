# SPDX-License-Identifier: Apache-2.0
# What the scripts of tools/ share: how to fail, how wide to build, where a preset builds.
# shellcheck shell=bash

# fail SCRIPT CAUSE [STATUS]: ends the script with one line that says what went wrong.
fail() {
  printf 'ERROR %s: %s\n' "$1" "$2" >&2
  exit "${3:-1}"
}

# Compile jobs that both the processors and the free memory carry, at 1.5 GiB a job.
build_jobs() {
  local processors free_kib jobs
  processors=$(nproc)
  free_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((free_kib / (1536 * 1024)))
  if ((jobs < 1)); then jobs=1; fi
  if ((jobs > processors)); then jobs=$processors; fi
  echo "$jobs"
}

# The folder that a preset of CMakePresets.json builds in.
build_folder() {
  if [[ $1 == release ]]; then echo build; else echo "build-$1"; fi
}

# Configures a preset, unless an earlier run has done so.
configure() {
  if [[ ! -f $(build_folder "$1")/build.ninja ]]; then cmake --preset "$1"; fi
}
