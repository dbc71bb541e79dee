# syntax=docker/dockerfile:1
# docker build -t model-gateway .
# docker run --read-only -p 8080:8080 -v gateway-data:/data -e GATEWAY_KEY=… model-gateway
ARG BASE=docker.io/library/node:22-bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY simulator/package.json simulator/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts && \
    find dist simulator/dist node_modules '(' -name '*.map' -o -name .tsbuildinfo ')' -delete

FROM ${BASE}
LABEL org.opencontainers.image.title="model-gateway" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/simulator/package.json ./simulator/
COPY --from=build /src/simulator/dist ./simulator/dist
COPY --from=build /src/bin ./bin
COPY --from=build /src/routes ./routes
COPY --from=build /src/schemas ./schemas
COPY --from=build /src/dist ./dist
COPY deploy/container.yaml /etc/gateway/gateway.yaml
# The only folder that is written to. All else may be read-only. A platform that chooses the user (OpenShift) puts it into group 0.
RUN mkdir -p /data && chown 10001:0 /data && chmod 770 /data
VOLUME /data
USER 10001:10001
EXPOSE 8080 8081
# The gateway drains on SIGTERM for up to twice limits.drain: give it longer (docker stop --time 90).
STOPSIGNAL SIGTERM
# With another port or TLS: -e HEALTH_URL=https://127.0.0.1:8443/livez. The certificate is for other names than that.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["node", "-e", "const url = process.env.HEALTH_URL || 'http://127.0.0.1:8080/livez'; require(url.split(':')[0]).get(url, { rejectUnauthorized: false }, r => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/gateway.js"]
CMD ["serve", "/etc/gateway/gateway.yaml"]
