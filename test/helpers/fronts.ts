import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import { find, freePort, launch, skipping } from './store-servers.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

/**
 * A proxy of others before a gateway. It has one port for each lane; a lane keeps one connection to the gateway open and
 * sends all of its requests on it, of whichever client. It writes a header `x-front` of its own into each request.
 */
export type StartFront = (test: Test, gateway: string, lanes: number) => Promise<readonly number[]>

const PATHS = ['/usr/sbin', '/usr/local/sbin']
const NGINX = find('nginx', PATHS)
const HAPROXY = find('haproxy', PATHS)

/** The reason why tests with that proxy are skipped here, or false. In CI they never are. */
export const withoutNginx = skipping(NGINX, 'nginx')
export const withoutHaproxy = skipping(HAPROXY, 'haproxy')

/** How long a client may take with a head or a body, seconds. */
const PATIENCE_S = 2

/** `isLenient`: it passes on what it holds to be invalid. */
export const nginx = (isLenient: boolean): StartFront =>
  start(NGINX ?? 'nginx', 'nginx.conf', (folder, ports, gateway) => ({
    args: ['-p', folder, '-c', join(folder, 'nginx.conf')],
    config: [
      'daemon off; master_process off; worker_processes 1;',
      `pid ${folder}/pid; error_log ${folder}/error.log crit; events { worker_connections 1024; }`,
      `http { access_log off; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}`,
      `client_header_timeout ${PATIENCE_S}s; client_body_timeout ${PATIENCE_S}s; lingering_timeout ${PATIENCE_S}s;`,
      ...(isLenient ? ['ignore_invalid_headers off; underscores_in_headers on; merge_slashes off;'] : []),
      ...ports.flatMap((port, lane) => [
        `upstream lane${lane} { server ${gateway}; keepalive 1; }`,
        `server { listen 127.0.0.1:${port}; location / { proxy_pass http://lane${lane}; proxy_http_version 1.1;`,
        'proxy_set_header connection ""; proxy_set_header x-front $request_id; proxy_next_upstream off;',
        // Bodies are not read whole first: what is wrong with their chunks shows behind it, if at all.
        'proxy_request_buffering off; proxy_buffering off; } }',
      ]),
      '}',
    ],
  }))

export const haproxy = (isLenient: boolean): StartFront =>
  start(HAPROXY ?? 'haproxy', 'haproxy.cfg', (folder, ports, gateway) => ({
    args: ['-f', join(folder, 'haproxy.cfg'), '-db'],
    config: [
      'global\n  nbthread 1\n  maxconn 2000',
      'defaults\n  mode http\n  timeout connect 10s\n  timeout server 60s\n  timeout http-keep-alive 10s\n  retries 0',
      `  timeout client ${PATIENCE_S}s\n  timeout http-request ${PATIENCE_S}s\n  http-reuse always`,
      ...(isLenient ? ['  option accept-invalid-http-request'] : []),
      ...ports.flatMap((port, lane) => [
        `frontend lane${lane}\n  bind 127.0.0.1:${port}\n  http-request set-header x-front %[uuid()]\n  default_backend gateway${lane}`,
        `backend gateway${lane}\n  server gateway ${gateway} pool-max-conn 1`,
      ]),
      '',
    ],
  }))

interface Plan {
  readonly args: readonly string[]
  readonly config: readonly string[]
}

type Planner = (folder: string, ports: readonly number[], gateway: string) => Plan

function start(command: string, file: string, plan: Planner): StartFront {
  return async (test, gateway, lanes) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-front-'))
    test.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const ports: number[] = []
    while (ports.length < lanes - 1) ports.push(await freePort())
    const { port } = await launch(test, first => {
      ports.push(first)
      const { args, config } = plan(folder, ports, new URL(gateway).host)
      writeFileSync(join(folder, file), config.join('\n'))
      return { command, args }
    })
    return [port, ...ports.slice(0, -1)]
  }
}
