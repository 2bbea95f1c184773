# quietgraph on the CPU, as a user without rights: the review of a run as a service.
#   docker build -t quietgraph .
#   docker run --rm -v "$PWD/runs:/runs" quietgraph fit digits --noise symmetric:0.4 --out /runs/demo
#   docker run --rm -p 127.0.0.1:8470:8470 -v "$PWD/runs:/runs" quietgraph   # reviews /runs/demo
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/home/quietgraph/.matplotlib
WORKDIR /install
COPY constraints.txt ./
# The CPU build of torch first and alone: the package is then content with it and pulls no CUDA.
RUN pip install --no-cache-dir -c constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu torch
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir -c constraints.txt "$(ls /wheels/*.whl)[review]" \
    && useradd --create-home --uid 10001 quietgraph \
    && mkdir /runs \
    && chown quietgraph /runs
USER 10001
WORKDIR /home/quietgraph
VOLUME /runs
EXPOSE 8470
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8470), 3).close()"]
ENTRYPOINT ["quietgraph"]
CMD ["review", "/runs/demo", "--host", "0.0.0.0", "--port", "8470", "--no-browser"]
