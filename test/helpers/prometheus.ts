import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import { ADMIN_SECRET } from './admin.js'
import { find, freePort, skipping } from './store-servers.js'

type Test = Pick<typeof t, 'teardown'>

const PROMETHEUS = find('prometheus', [])
export const PROMTOOL = find('promtool', [])
/** The reason why tests with these are skipped here, or false. In CI they never are. */
export const withoutPrometheus = skipping(PROMETHEUS, 'prometheus')
export const withoutPromtool = skipping(PROMTOOL, 'promtool')

/** How long it may take to come up, milliseconds. */
const STARTING_MS = 60_000

interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** A real Prometheus that scrapes a gateway each second. */
export interface Prometheus {
  /** The samples of an instant query. Throws if the query fails. */
  query(expression: string): Promise<readonly Sample[]>
  /** The `data` of any answer of its API. */
  get(path: string): Promise<unknown>
}

/** Starts it on a free port of loopback. `gateway`: where the admin API is; `rules`: files of rules. */
export async function startPrometheus(t: Test, gateway: string, rules: readonly string[] = []): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-prometheus-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const config = join(folder, 'prometheus.yml')
  const job = {
    job_name: 'gateway',
    authorization: { credentials: ADMIN_SECRET },
    static_configs: [{ targets: [new URL(gateway).host] }],
  }
  const global = { scrape_interval: '1s', evaluation_interval: '1s' }
  // JSON is YAML, too.
  writeFileSync(config, JSON.stringify({ global, rule_files: rules, scrape_configs: [job] }))
  const port = await freePort()
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`]
  const server = spawn(PROMETHEUS ?? 'prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const ended = once(server, 'exit')
  t.teardown(async () => {
    server.kill()
    await ended
  })
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const body = (await answer.json()) as { status: string; error?: string; data: unknown }
    if (body.status !== 'success') throw new Error(`${path}: ${body.error}`)
    return body.data
  }
  await isReady(
    port,
    () => server.exitCode !== null,
    () => said,
  )
  return {
    get,
    query: async expression => {
      const data = (await get(`query?query=${encodeURIComponent(expression)}`)) as { result: readonly Sample[] }
      return data.result
    },
  }
}

async function isReady(port: number, hasEnded: () => boolean, said: () => string): Promise<void> {
  const end = performance.now() + STARTING_MS
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined)
    if (answer?.ok === true) return
    if (hasEnded() || performance.now() > end) throw new Error(`prometheus does not start: ${said()}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
