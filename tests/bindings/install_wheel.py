# SPDX-License-Identifier: Apache-2.0
"""Installs the Python packages by pip in the virtual environment that the build has made. The wheel
holds the module and programs of this build. All tests of this folder run from that environment.
"""

import os
import pathlib
import subprocess
import sys


def main():
    home = pathlib.Path(sys.argv[1])
    package = pathlib.Path(os.environ["STRETTO_SOURCE_DIR"]) / "bindings" / "python"
    subprocess.run([home / "bin" / "python3", "-m", "pip", "install", "--no-index", "--no-deps",
                    "--force-reinstall", "--config-settings",
                    f"build-dir={os.environ['STRETTO_BUILD_DIR']}", package], check=True)


if __name__ == "__main__":
    main()
