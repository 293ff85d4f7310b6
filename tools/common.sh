# SPDX-License-Identifier: Apache-2.0
# What the scripts of tools/ share: how to fail, how wide to build, where a preset builds, and how
# to use the root of another Debian.
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

# The release of this Debian, such as bookworm.
debian_release() {
  (. /etc/os-release && echo "${VERSION_CODENAME:?}")
}

# The lines "deb MIRROR SUITE COMPONENT" of Debian's own archives that apt uses here.
debian_sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

# The same sources for another release, from the same mirrors. A release that is not stable yet has
# no security archive that a mirror must carry.
debian_sources_of() {
  debian_sources | awk -v here="$(debian_release)" -v there="$1" '
    $3 == here || ($3 ~ "^" here "-(updates|security)$" && there ~ "^(bookworm|trixie)$") {
      sub("^" here, there, $3)
      print
    }'
}

# apt's settings here that the apt of a root needs: the proxy.
apt_proxy() {
  apt-config dump --format '%f "%v";%n' Acquire::http::Proxy Acquire::https::Proxy
}

# forbid_services ROOT: no package starts a service in this root.
forbid_services() {
  printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
  chmod 755 "$1/usr/sbin/policy-rc.d"
}

# in_root ROOT USER SETUP COMMAND...: runs the command in the root, with mounts and processes of its
# own: what the command starts ends with it. SETUP is a shell command that runs first, outside the
# root; it has the root as $0. A first word `alone` gives the command a network of its own, too.
in_root() {
  local network=() up=true root user setup
  if [[ $1 == alone ]]; then network=(--net) up='ip link set lo up' && shift; fi
  root=$1 user=$2 setup=$3
  shift 3
  unshare --mount --pid --fork --kill-child "${network[@]}" -- bash -c "
    mount -t proc proc \"\$0/proc\" && mount -t tmpfs tmpfs \"\$0/dev/shm\" && $up && $setup &&
    exec chroot --userspec=$user \"\$0\" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \\
      LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \"\$@\"" "$root" "$@"
}

# bootstrap RELEASE ROOT PACKAGE...: makes the root of this release with these packages, by
# mmdebstrap. Some mirrors are snapshots, whose files may be older than their Valid-Until.
bootstrap() {
  local release=$1 root=$2 settings packages
  shift 2
  packages=$(printf '%s\n' "$@" | paste -sd ,)
  mapfile -t settings < <(apt_proxy)
  debian_sources_of "$release" | mmdebstrap --variant=apt --include="$packages" \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
    "${settings[@]/#/--aptopt=}" "$release" "$root" -
  forbid_services "$root"
  printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(hostname)" >"$root/etc/hosts"
}
