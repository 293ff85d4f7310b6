# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel of this build, which tools/wheel makes and users get, by pip in the virtual
environment that the build has made. All tests of this folder run from that environment.
"""

import os
import pathlib
import subprocess
import sys


def main():
    home = pathlib.Path(sys.argv[1])
    build = pathlib.Path(os.environ["STRETTO_BUILD_DIR"])
    tool = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"]) / "tools" / "wheel"
    for old in (build / "wheels").glob("*.whl"):
        old.unlink()
    subprocess.run([sys.executable, tool, "--build-dir", build], check=True)
    wheel, = (build / "wheels").glob("*.whl")
    subprocess.run([home / "bin" / "python3", "-m", "pip", "install", "--no-index", "--no-deps",
                    "--force-reinstall", wheel], check=True)


if __name__ == "__main__":
    main()
