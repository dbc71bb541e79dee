// CPU and peak memory of `gateway plan` beside its goals: two configurations of 10,000 models and 10,000 keys, and the 1,000,000
// requests of a log that are decided again, for which memory must not grow with the log. Both run the real command, in a process of
// its own.
// usage: node bench/plan.mjs [--quick]
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'

const quick = process.argv.includes('--quick')
const ENTRIES = quick ? 500 : 10_000
const LINES = quick ? 20_000 : 1_000_000
const PLAN_GOAL_S = 10
const TRAFFIC_GOAL_S = 60
/** Ten times as many lines need so much more memory, at most: the log itself has ten times that. */
const MAX_GROWTH_MIB = quick ? 64 : 40
/** The heap of V8 grows while it may, and garbage looks like need. */
const HEAP = ['--max-old-space-size=768', '--max-semi-space-size=8']
/** Entries of one file, which may have a MiB. */
const PER_FILE = 4000
/** Every so many entries one differs. */
const CHANGED = 100
const BIN = fileURLToPath(new URL('../bin/gateway.js', import.meta.url))
/** Prints what the process has used when it ends. */
const REPORTING = `import { writeSync } from 'node:fs'; import { isMainThread } from 'node:worker_threads'
if (isMainThread) process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())))`

const folder = mkdtempSync(join(tmpdir(), 'bench-plan-'))
try {
  const [before, after] = [configuration('before', false), configuration('after', true)]
  const log = join(folder, 'requests.log')
  const compared = await gateway(['plan', before, after, '--format', 'json'])
  const { changes } = JSON.parse(compared.text)
  if (changes.length === 0) throw new Error('no difference was found')
  say(`${ENTRIES} models × ${ENTRIES} keys, ${changes.length} changes`, compared, PLAN_GOAL_S)
  await writeLog(log, LINES / 10)
  const tenth = await replayed(log, after, LINES / 10)
  await writeLog(log, LINES)
  const all = await replayed(log, after, LINES)
  say(`${LINES / 10} requests of a log`, tenth)
  say(`${LINES} requests of a log`, all, TRAFFIC_GOAL_S)
  const growth = all.mib - tenth.mib
  console.log(`ten times as many requests: ${growth} MiB more, at most ${MAX_GROWTH_MIB}`)
  if (growth > MAX_GROWTH_MIB) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}

function say(what, { seconds, mib }, goal) {
  const beside = goal === undefined || quick ? '' : `, goal ${goal} s: ${seconds <= goal ? 'met' : 'MISSED'}`
  console.log(`${what}: CPU ${seconds.toFixed(1)} s${beside}; at most ${mib} MiB resident`)
}

async function replayed(log, file, lines) {
  const run = await gateway(['plan', '--traffic', log, file, '--format', 'json'], HEAP)
  const { requests } = JSON.parse(run.text)
  if (requests !== lines) throw new Error(`${requests} of ${lines} requests were decided`)
  return run
}

async function gateway(args, flags = []) {
  const env = { ...process.env, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(REPORTING)}` }
  const child = spawn(process.execPath, [...flags, BIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
  const texts = ['', '']
  for (const [at, stream] of [child.stdout, child.stdio[3]].entries()) {
    stream.setEncoding('utf8').on('data', piece => {
      texts[at] += piece
    })
  }
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`gateway ${args.join(' ')} ended with ${code}`)
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(texts[1])
  return { text: texts[0], seconds: (userCPUTime + systemCPUTime) / 1e6, mib: Math.round(maxRSS / 1024) }
}

function configuration(name, isChanged) {
  const place = join(folder, name)
  mkdirSync(place)
  const digest = text => createHash('sha256').update(text).digest('hex')
  const differs = i => isChanged && i % CHANGED === 0
  const model = i => `m-${i}: { targets: [{ upstream: ${differs(i) ? 'south' : 'north'}, as: real-${i} }] }`
  const key = i => {
    const secret = `{ hash: "sha256:${digest(`key ${i}`)}" }`
    const models = i % 10 === 0 ? '["*"]' : `[m-${i}, m-${(i * 7) % ENTRIES}]`
    return `k-${i}: { secret: ${secret}, models: ${models}, group: g${i % 10}, limits: { requests: ${differs(i + 1) ? 20 : 10}/s } }`
  }
  const files = [...pieces(place, 'models', model), ...pieces(place, 'keys', key)]
  const groups = Array.from({ length: 10 }, (_, i) => `g${i}: { limits: { budget: ${i + 1}000000 USD/day } }`)
  const main = join(place, 'gateway.yaml')
  writeFileSync(
    main,
    `version: 1\ninclude: [${files.join(', ')}]\nstore: { type: memory }\nunpriced: free\n` +
      `groups: { ${groups.join(', ')} }\nprices: { "real-*": { input: ${isChanged ? 2 : 1}, output: 4 } }\n` +
      'upstreams:\n  north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH } }\n' +
      '  south: { kind: anthropic, base: https://south.example, secret: { env: SOUTH } }\n',
  )
  return main
}

function pieces(place, section, entry) {
  const files = []
  for (let from = 0; from < ENTRIES; from += PER_FILE) {
    const lines = Array.from({ length: Math.min(PER_FILE, ENTRIES - from) }, (_, i) => `  ${entry(from + i)}\n`)
    files.push(`${section}-${from}.yaml`)
    writeFileSync(join(place, files.at(-1)), `${section}:\n${lines.join('')}`)
  }
  return files
}

/** Lines as the gateway's log has them. Each key asks for models that it may use, ten requests a millisecond. */
async function writeLog(path, lines) {
  const stream = createWriteStream(path)
  const began = Date.UTC(2026, 0, 1)
  for (let i = 0; i < lines; i += 1) {
    const key = (i * 37) % ENTRIES
    const line = {
      ...{ level: 'info', time: new Date(began + i / 10).toISOString(), msg: 'request', id: `r-${i}`, method: 'POST' },
      ...{ route: 'POST /v1/chat/completions', client: '192.0.2.1', key: `k-${key}`, model: `m-${key}` },
      ...{ upstream: 'north', target: `real-${key}`, status: 200, outcome: 'ok', stream: i % 2 === 0 },
      ...{ first_ms: 200, total_ms: 900 + (i % 200), bytes_in: 900, bytes_out: 4000 },
      ...{ input_tokens: 200 + (i % 100), output_tokens: 100, cost_usd: 0.0006, generation: 1 },
    }
    if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain')
  }
  stream.end()
  await finished(stream)
}
