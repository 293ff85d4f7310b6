# SPDX-License-Identifier: Apache-2.0
# Run by cpack once all is in place: folders of a package are readable by all, as the files in them
# are, whatever the umask of who packs. dpkg would give the folders that it makes these modes.
file(CHMOD_RECURSE ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
