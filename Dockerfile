# The gateway and the packages that requirements-image.lock pins, in a virtual environment on the base's Python.
# `make image` builds it and names the commit. For a build that anybody can repeat, name the base by its digest too:
#   make image BASE=python:3.13-slim-bookworm@sha256:...
# An index or a proxy of your own goes in as a secret, which leaves no trace in the image:
#   docker build --secret id=pip.conf,src=/path/to/pip.conf .
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
# Seconds since 1970: the time of every file that this stage makes.
ARG SOURCE_DATE_EPOCH=1735689600
WORKDIR /src
COPY requirements-build.lock requirements-image.lock ./
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    python3 -m venv /build \
 && /build/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.lock \
 && python3 -m venv --without-pip /opt/spillway \
 && /build/bin/pip --python /opt/spillway/bin/python install --no-cache-dir --no-compile \
      --require-hashes --only-binary :all: -r requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY gateway gateway
COPY loadtest loadtest
COPY engine-images/spillway_engine engine-images/spillway_engine
COPY engine-images/profiles engine-images/profiles
# kubernetes.aio is the same client for asyncio, which nothing here imports: a third of all there is.
# Compiled here, since nothing can be written later; for good, since the sources do not change.
RUN /build/bin/hatchling build -t wheel -d /wheel \
 && /build/bin/pip --python /opt/spillway/bin/python install --no-cache-dir --no-compile \
      --no-deps --no-index --find-links /wheel spillway \
 && rm -r /opt/spillway/lib/python3.*/site-packages/kubernetes/aio \
 && python3 -m compileall -q -f --invalidation-mode unchecked-hash /opt/spillway/lib \
 && find /opt/spillway -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

FROM ${BASE}
ARG BASE
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="spillway" \
      org.opencontainers.image.description="Load-aware gateway between a speculative and a baseline pool of LLM engines" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
# The base's own means of installing Python packages: nothing here needs them.
RUN find /usr/lib /usr/local/lib /usr/local/bin /usr/share -xdev \
      \( -name ensurepip -o -name python-wheels -o -path '*-packages/pip*' -o -path '/usr/local/bin/pip*' \) \
      -prune -exec rm -rf {} +
COPY --from=build /opt/spillway /opt/spillway
ENV PATH=/opt/spillway/bin:${PATH}
# Compiles what of Python itself is used: the official images bring no bytecode, and the gateway could not keep any.
RUN ["python", "-c", "import gateway.demo, gateway.app, gateway.pools.discovery.cluster"]
ENV PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["spillway"]
CMD ["serve", "--config", "/etc/spillway/spillway.yaml"]
