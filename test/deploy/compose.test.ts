import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { PROMTOOL, withoutPromtool } from '../helpers/prometheus.js'
import { freePort, startPostgres, withoutPostgres } from '../helpers/store-servers.js'

/** deploy/compose.yaml: what it mounts, publishes and sets is what the images, the gateway, Prometheus and Grafana read. */

const ROOT = packageRoot()
const DEPLOY = join(ROOT, 'deploy')
const KEY = 'the-key-of-the-caller-0123456789abcdef'
/** What `limits.drain` is where a file does not say it. */
const DEFAULT_DRAIN_SECONDS = 30
/** What a supervisor gives its workers beyond their drain. */
const END_SECONDS = 15

interface Service {
  readonly image?: string
  readonly build?: string
  readonly restart?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly stop_grace_period?: string
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
}

const text = readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8')
const compose = parse(text) as {
  services: Readonly<Record<string, Service>>
  volumes: Readonly<Record<string, unknown>>
}
const service = (name: string): Service => {
  const found = compose.services[name]
  if (found === undefined) throw new Error(`deploy/compose.yaml has no service ${name}`)
  return found
}
const yamlOf = <T>(path: string): T => parse(readFileSync(join(DEPLOY, path), 'utf8')) as T

interface GatewayFile {
  readonly listen: { readonly host: string; readonly port: number }
  readonly admin: { readonly host: string; readonly port: number; readonly metrics: string }
  readonly store: { readonly path: string }
  readonly limits?: { readonly drain?: string }
}
const file = yamlOf<GatewayFile>('compose/gateway.yaml')

/** Where a file or folder of a container comes from, in the repository; undefined if nothing is mounted there. */
function origin({ volumes = [] }: Service, place: string): string | undefined {
  for (const volume of volumes) {
    const [from = '', to = ''] = volume.split(':')
    if (!from.startsWith('.')) continue
    if (place === to || place.startsWith(`${to}/`)) return posix.join('deploy', from, place.slice(to.length))
  }
  return undefined
}

t.test('services are what is run elsewhere, and what one waits for reports its health', async t => {
  t.same(Object.keys(compose.services), ['gateway', 'postgres', 'prometheus', 'grafana'])
  for (const [name, { image, build, restart, depends_on = {} }] of Object.entries(compose.services)) {
    if (build === undefined) t.match(image, /^docker\.io\/[\w./-]+:v?\d+(?:\.\d+)*$/, `${name} has a version`)
    else t.ok(existsSync(join(DEPLOY, build, 'Dockerfile')), `${name} is built by the Dockerfile`)
    t.equal(restart, 'unless-stopped', `${name} is back after a fault, and after a restart of the machine`)
    for (const [other, { condition }] of Object.entries(depends_on))
      if (condition === 'service_healthy') t.ok(service(other).healthcheck, `${name} waits for the health of ${other}`)
  }
})

t.test('each mounted file and folder is in the repository, and each volume is declared and used', async t => {
  let mounted = 0
  const named = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes)
  for (const volume of named) {
    const [from = '', to = '', mode] = volume.split(':')
    t.match(to, /^\/[\w./-]+$/, volume)
    if (!from.startsWith('.')) {
      t.ok(from in compose.volumes, `${from} is declared`)
      continue
    }
    mounted++
    const path = join(DEPLOY, from)
    t.ok(existsSync(path), `${from} is there`)
    t.equal(mode, 'ro', `${from} is not written to`)
    // Docker makes a folder where the file of a mount is missing.
    if (/\.\w+$/.test(to)) t.ok(statSync(path).isFile(), `${from} is a file`)
    else t.ok(readdirSync(path).length > 0, `${from} is a folder with files`)
  }
  t.ok(mounted >= 6, `${mounted} mounts`)
  for (const name of Object.keys(compose.volumes))
    t.ok(
      named.some(volume => volume.startsWith(`${name}:`)),
      `${name} is used`,
    )
})

t.test('the gateway gets its file, its folder, its ports and its variables, and has time to drain', async t => {
  const { environment = {}, volumes = [], ports, stop_grace_period = '' } = service('gateway')
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [, config = ''] = /^CMD \["serve", "([^"]+)"\]$/m.exec(dockerfile) ?? []
  t.equal(origin(service('gateway'), config), 'deploy/compose/gateway.yaml', 'what the image serves is mounted')
  t.ok(
    volumes.some(volume => volume.endsWith(`:${file.store.path}`)),
    'so is the folder of the store',
  )
  t.ok(volumes.includes('./compose:/etc/gateway:ro'), 'a folder is mounted, in which a replaced file is seen')
  t.match(dockerfile, new RegExp(`^VOLUME ${file.store.path}$`, 'm'))
  t.same(ports, [`127.0.0.1:${file.listen.port}:${file.listen.port}`], 'the admin port is for the other containers')
  t.same([file.listen.host, file.admin.host], ['0.0.0.0', '0.0.0.0'], 'others reach it inside of the container')
  const read = readFileSync(join(DEPLOY, 'compose/gateway.yaml'), 'utf8').matchAll(/env: (\w+)/g)
  t.same([...new Set(Array.from(read, ([, name = '']) => name))].toSorted(), Object.keys(environment).toSorted())
  const drain = Number.parseInt(file.limits?.drain ?? `${DEFAULT_DRAIN_SECONDS}`, 10)
  t.ok(Number.parseInt(stop_grace_period, 10) >= 2 * drain + END_SECONDS, stop_grace_period)
})

t.test('variables that must be set are those of the command line that the file shows', async t => {
  const [, shown = ''] = /^#\s+(.+) docker compose -f deploy\/compose\.yaml up$/m.exec(text) ?? []
  const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)
  t.same(
    [...new Set(required)].toSorted(),
    shown
      .split(' ')
      .map(part => part.replace(/=.*/, ''))
      .toSorted(),
  )
  for (const [, name = ''] of text.matchAll(/\$\{(\w+)/g))
    t.ok(required.includes(name) || text.includes(`\${${name}:-}`), `${name} may be missing, or is asked for`)
})

t.test('the address of the database has the user, the name and the host of its service', async t => {
  const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD } = service('postgres').environment ?? {}
  const { DATABASE_URL, POSTGRES_PASSWORD: password } = service('gateway').environment ?? {}
  t.equal(DATABASE_URL, `postgres://${POSTGRES_USER}@postgres:5432/${POSTGRES_DB}`)
  t.equal(password, POSTGRES_PASSWORD)
  t.same(service('postgres').healthcheck?.test, ['CMD', 'pg_isready', '-U', POSTGRES_USER])
})

t.test('its file is valid, and admits the key of its variable', async t => {
  const environment = service('gateway').environment ?? {}
  const env = {
    PATH: process.env.PATH,
    GATEWAY_KEY: KEY,
    GATEWAY_ADMIN_KEY: `${KEY}-admin`,
    DATABASE_URL: 'postgres://u@h/d',
    POSTGRES_PASSWORD: 'p',
  }
  const gateway = (...args: string[]): { status: number | null; stderr: string; stdout: string } =>
    spawnSync(process.execPath, [join(ROOT, 'bin/gateway.js'), ...args], { env, encoding: 'utf8' })
  const path = join(DEPLOY, 'compose/gateway.yaml')
  const validated = gateway('validate', path)
  t.equal(validated.status, 0, validated.stderr)
  t.ok(Object.keys(env).every(name => name === 'PATH' || name in environment))
  const request = ['POST', '/v1/chat/completions', '--model', 'sim-text', '--key']
  t.equal(gateway('explain', '-f', path, ...request, KEY).status, 0)
  t.not(
    gateway('explain', '-f', path, ...request, `${KEY}-other`).stdout,
    gateway('explain', '-f', path, ...request, KEY).stdout,
  )
})

interface Scraping {
  readonly rule_files: readonly string[]
  readonly scrape_configs: readonly { readonly static_configs: readonly { readonly targets: readonly string[] }[] }[]
}

t.test('Prometheus reads its file, with all rules, and scrapes the admin port', { skip: withoutPromtool }, async t => {
  const prometheus = service('prometheus')
  const [, config = ''] = /^--config\.file=(.+)$/.exec(prometheus.command?.[0] ?? '') ?? []
  const source = origin(prometheus, config)
  t.equal(source, 'deploy/compose/prometheus.yaml')
  const { rule_files, scrape_configs } = yamlOf<Scraping>('compose/prometheus.yaml')
  t.same(
    scrape_configs.flatMap(job => job.static_configs.flatMap(({ targets }) => targets)),
    [`gateway:${file.admin.port}`],
  )
  t.equal(file.admin.metrics, 'open', 'Prometheus has no key')
  // The rules are where the container has them: below a folder of this test.
  const folder = t.testdir({})
  let rules = 0
  for (const pattern of rule_files) {
    const from = join(ROOT, origin(prometheus, posix.dirname(pattern)) ?? 'nowhere')
    const ending = posix.basename(pattern).replace('*', '')
    mkdirSync(join(folder, posix.dirname(pattern)), { recursive: true })
    for (const name of readdirSync(from).filter(one => one.endsWith(ending))) {
      rules++
      writeFileSync(join(folder, posix.dirname(pattern), name), readFileSync(join(from, name)))
    }
  }
  t.ok(rules >= 2, `${rules} files of rules`)
  const path = join(folder, 'prometheus.yaml')
  const inFolder = readFileSync(join(ROOT, source ?? ''), 'utf8').replaceAll(
    '/etc/prometheus/',
    `${folder}/etc/prometheus/`,
  )
  writeFileSync(path, inFolder)
  const check = (): { status: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync(PROMTOOL ?? '', ['check', 'config', path], { encoding: 'utf8' })
    return { status, output: stdout + stderr }
  }
  const checked = check()
  t.equal(checked.status, 0, checked.output)
  t.equal(checked.output.match(/SUCCESS: \d+ rules found/g)?.length, rules, checked.output)
  writeFileSync(path, inFolder.replace('scrape_configs', 'scrape_config'))
  t.not(check().status, 0, 'a wrong word is found')
})

t.test('Grafana finds the data source and the dashboards that are provisioned', async t => {
  const grafana = service('grafana')
  const at = '/etc/grafana/provisioning'
  t.equal(origin(grafana, `${at}/datasources/gateway.yaml`), 'deploy/compose/grafana-sources.yaml')
  t.equal(origin(grafana, `${at}/dashboards/gateway.yaml`), 'deploy/compose/grafana-dashboards.yaml')
  const { datasources } = yamlOf<{ datasources: readonly { type: string; url: string; isDefault: boolean }[] }>(
    'compose/grafana-sources.yaml',
  )
  t.match(datasources, [{ type: 'prometheus', isDefault: true }])
  const { hostname, port } = new URL(datasources[0]?.url ?? '')
  t.ok(hostname in compose.services, hostname)
  t.equal(port, '9090', 'the port of Prometheus')
  const { providers } = yamlOf<{ providers: readonly { type: string; options: { path: string } }[] }>(
    'compose/grafana-dashboards.yaml',
  )
  t.equal(providers.length, 1)
  for (const { type, options } of providers) {
    t.equal(type, 'file')
    const folder = join(ROOT, origin(grafana, options.path) ?? 'nowhere')
    const names = readdirSync(folder)
    t.ok(names.length >= 5, names.join())
    for (const name of names) {
      const { uid, title, panels } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>
      t.match({ uid, title }, { uid: /^[a-z-]+$/, title: String }, name)
      t.ok(Array.isArray(panels) && panels.length > 0, `${name} has panels`)
    }
  }
})

t.test('served with a real database, it answers, and /metrics needs no key', { skip: withoutPostgres }, async t => {
  const database = await startPostgres(t)
  const ports = { listen: await freePort(), admin: await freePort() }
  const folder = t.testdir({ data: {} })
  const path = join(folder, 'gateway.yaml')
  const yaml = readFileSync(join(DEPLOY, 'compose/gateway.yaml'), 'utf8')
    .replace(`port: ${file.listen.port}`, `port: ${ports.listen}`)
    .replace(`port: ${file.admin.port}`, `port: ${ports.admin}`)
    .replace(`path: ${file.store.path}`, `path: ${join(folder, 'data')}`)
  writeFileSync(path, yaml)
  // As compose fills it in: a password may have any character.
  const filled = (value: string): string => value.replace(/\$\{POSTGRES_PASSWORD[^}]*\}/, 'a/b@c#d')
  const { DATABASE_URL = '', POSTGRES_PASSWORD = '' } = service('gateway').environment ?? {}
  const env = {
    GATEWAY_KEY: KEY,
    GATEWAY_ADMIN_KEY: `${KEY}-admin`,
    DATABASE_URL: filled(DATABASE_URL).replace('postgres:5432', `127.0.0.1:${database.port}`),
    POSTGRES_PASSWORD: filled(POSTGRES_PASSWORD),
  }
  const served = start(t, ['serve', path], { env, bare: true })
  await served.until(/"address":"([^"]+)"/)
  const body = JSON.stringify({ model: 'sim-text', messages: [{ role: 'user', content: 'hello' }] })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${ports.listen}/v1/chat/completions`, { method: 'POST', headers, body })
  t.equal(answer.status, 200, await answer.text())
  await served.until(/"msg":"request"/)
  const metrics = await fetch(`http://127.0.0.1:${ports.admin}/metrics`)
  t.match(await metrics.text(), /^gateway_requests_total\{/m)
})
