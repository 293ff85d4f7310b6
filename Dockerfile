# SPDX-License-Identifier: Apache-2.0
# The image that `stretto-launch --print k8s` asks for: Stretto's programs and Python packages, with
# PyTorch, on Debian 12. `docker build -t registry.example/stretto:0.1.0 .` makes it; yours begins
# with FROM registry.example/stretto:0.1.0, and adds your program. tools/packages --test runs these
# steps without Docker.
FROM debian:bookworm-slim AS build
WORKDIR /usr/src/stretto
COPY . .
RUN tools/install-dependencies
RUN tools/packages

FROM debian:bookworm-slim
COPY --from=build /usr/src/stretto/build/packages/*.deb /tmp/packages/
RUN apt-get update && \
    apt-get install -y --no-install-recommends python3-torch python3-numpy \
      /tmp/packages/stretto_*.deb /tmp/packages/python3-stretto_*.deb && \
    rm -rf /tmp/packages /var/lib/apt/lists/*
RUN useradd --system --create-home --home-dir /var/lib/stretto stretto
USER stretto
WORKDIR /var/lib/stretto
CMD ["stretto-launch", "--help"]
