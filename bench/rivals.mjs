// The gateway beside others of its field that a registry gives, each with one model at the same upstream, in one run of short
// rounds in turn. What is compared is a chat request that each passes on in the protocol it came in, with its key checked where
// the product checks keys.
// usage: node bench/rivals.mjs [--quick]; installs into bench/out/rivals at first; writes bench/out/rivals.json
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'
import {
  answers,
  cores,
  cpu,
  folder,
  KEY,
  load,
  rss,
  start,
  startGateway,
  startUpstream,
  stopAll,
} from './processes.mjs'
import { percentile, summarise } from './report.mjs'
import { EVENTS, workloads } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 5
/** The slowest one serves some 200 requests a second. */
const SHARE_OF_REQUESTS = 0.1
const home = fileURLToPath(new URL('out/rivals/', import.meta.url))

/** `more`: headers of the client's requests that the product needs. */
const RIVALS = {
  portkey: {
    version: '1.15.2',
    install: version => [['npm', ['install', '--prefix', join(home, 'portkey'), `@portkey-ai/gateway@${version}`]]],
    start: port => [
      process.execPath,
      [join(home, 'portkey/node_modules/@portkey-ai/gateway/build/start-server.js'), `--port=${port}`, '--headless'],
    ],
    more: upstream => ['x-portkey-provider: openai', `x-portkey-custom-host: http://127.0.0.1:${upstream}/v1`],
  },
  litellm: {
    version: '1.106.2',
    install: version => [
      ['python3', ['-m', 'venv', join(home, 'litellm')]],
      [join(home, 'litellm/bin/pip'), ['install', '--quiet', `litellm[proxy]==${version}`]],
    ],
    start: (port, upstream) => {
      const file = join(folder, 'litellm.yaml')
      const target = { model: 'openai/bench', api_base: `http://127.0.0.1:${upstream}/v1`, api_key: 'upstream-key' }
      const config = {
        model_list: [{ model_name: 'bench', litellm_params: target }],
        general_settings: { master_key: KEY },
      }
      // JSON is YAML.
      writeFileSync(file, JSON.stringify(config))
      return [
        join(home, 'litellm/bin/litellm'),
        ['--config', file, '--port', port, '--host', '127.0.0.1', '--telemetry', 'False'],
      ]
    },
    ready: port => `http://127.0.0.1:${port}/health/liveliness`,
    more: () => [],
  },
}

const upstream = await startUpstream()
const targets = [upstream, await startGateway(upstream.port)]
for (const [name, rival] of Object.entries(RIVALS)) {
  const target = await begin(name, rival).catch(error => console.log(`SKIPPED: ${name}: ${error.message}`))
  if (target !== undefined) targets.push({ ...target, more: rival.more(upstream.port) })
}

const results = {}
for (const workload of workloads(quick).filter(({ name }) =>
  ['json 0.3 KiB', 'json 16 KiB', `sse ${EVENTS} events`].includes(name),
)) {
  console.log(`measuring ${workload.name} …`)
  results[workload.name] = { unit: workload.unit, targets: await measure(workload) }
}
await stopAll()

const versions = Object.fromEntries(Object.entries(RIVALS).map(([name, { version }]) => [name, version]))
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, versions, results }
writeFileSync(new URL('out/rivals.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
for (const [name, { unit, targets: all }] of Object.entries(results)) {
  console.log(`\n${name}`)
  for (const [target, { rate, cpu: used, p50, p99, rss: memory, times }] of Object.entries(all)) {
    const figures = [
      `${rate.toFixed(0)} ${unit}s/s`,
      `${used.toFixed(1)} µs CPU`,
      `p50 ${p50?.toFixed(2)} ms`,
      `p99 ${p99?.toFixed(2)} ms`,
    ]
    console.log(
      `  ${target.padEnd(8)} ${figures.join(', ')}, ${memory.toFixed(0)} MiB, gateway / this = ${times.toFixed(3)} of the CPU`,
    )
  }
}

/** Installs a product where it is not, and starts it. */
async function begin(name, { version, install, start: command, ready }) {
  const mark = join(home, `${name}-${version}`)
  if (!existsSync(mark)) {
    mkdirSync(home, { recursive: true })
    for (const [program, args] of install(version)) await run(program, args)
    writeFileSync(mark, '')
  }
  const port = await freePort()
  const [program, args] = command(port, upstream.port)
  return start(name, port, program, args, { ready: () => answers(ready?.(port) ?? `http://127.0.0.1:${port}/`) })
}

async function run(program, args) {
  console.log(`installing: ${program} ${args.join(' ')}`)
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}

async function measure(workload) {
  const rounds = new Map()
  for (const target of targets) {
    const serves = await job(target, workload, Math.ceil(workload.warmUp * SHARE_OF_REQUESTS)).catch(() => undefined)
    if (serves === undefined) console.log(`SKIPPED: ${target.name} does not serve ${workload.name}`)
    else rounds.set(target.name, [])
  }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const target of targets.filter(({ name }) => rounds.has(name)))
      rounds.get(target.name).push(await measureOnce(target, workload))
  return summarise(rounds)
}

async function measureOnce(target, workload) {
  const before = cpu(target)
  const requests = Math.ceil(workload.requests * SHARE_OF_REQUESTS)
  const { seconds, latency } = await job(target, workload, requests)
  const units = workload.unit === 'event' ? requests * EVENTS : requests
  return {
    rate: units / seconds,
    cpu: (cpu(target) - before) / units,
    rss: rss(target),
    p50: percentile(latency, 0.5),
    p99: percentile(latency, 0.99),
  }
}

function job({ port, more = [] }, { unit, body, connections }, requests) {
  return load({ port, key: KEY, unit, requests, connections, more, body: body.toString('base64') })
}
