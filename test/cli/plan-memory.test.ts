import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from './bin.js'

t.setTimeout(300_000)

const LINES = 25_000
const LINE_BYTES = 1200
const KEYS = 100
/** Four times as many lines are 90 MB more, and far more as objects: who held them would need more than this. */
const MAX_GROWTH_MIB = 40
/** A small heap keeps garbage from looking like growth. */
const FLAGS = ['--max-old-space-size=128', '--max-semi-space-size=4']
/** Prints the most memory that the process has had, KiB. */
const REPORTING = `import { isMainThread } from 'node:worker_threads'
if (isMainThread) process.on('exit', () => console.error('resident ' + process.resourceUsage().maxRSS))`

const CONFIG = `version: 1
store: { type: memory }
groups: { all: { limits: { budget: 1000000 USD/day } } }
keys: { ${Array.from({ length: KEYS }, (_, i) => `k-${i}: { secret: { hash: "sha256:${i.toString().padStart(64, '0')}" }, models: ["*"], group: all, limits: { requests: 9/s } }`).join(', ')} }
prices: { real: { input: 1, output: 4 } }
upstreams: { north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH } } }
models: { m: { upstream: north, as: real } }
`

/** `long`: in the middle is a line of so many MiB. */
function writeLog(path: string, lines: number, long: number): void {
  const file = openSync(path, 'w')
  const piece = 'x'.repeat(1024 * 1024)
  const began = Date.UTC(2026, 0, 1)
  const page: string[] = []
  for (let i = 0; i < lines; i += 1) {
    const line = JSON.stringify({
      ...{ level: 'info', time: new Date(began + i).toISOString(), msg: 'request', id: `r-${i}`, method: 'POST' },
      ...{ route: 'POST /v1/chat/completions', key: `k-${i % KEYS}`, model: 'm', upstream: 'north', target: 'real' },
      ...{ status: 200, outcome: 'ok', total_ms: 900, input_tokens: 200, output_tokens: 100, cost_usd: 0.0006 },
    })
    page.push(`${line.slice(0, -1)},"note":"${'x'.repeat(LINE_BYTES - line.length)}"}\n`)
    if (page.length < 1000 && i < lines - 1) continue
    writeSync(file, page.splice(0).join(''))
    if (i !== 999) continue
    for (let mib = 0; mib < long; mib += 1) writeSync(file, piece)
    writeSync(file, '\n')
  }
  closeSync(file)
}

t.test('a log is decided line by line: memory does not grow with it', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG })
  const flags = [...FLAGS, '--import', `data:text/javascript,${encodeURIComponent(REPORTING)}`]
  const residentOf = async (lines: number, long = 0): Promise<number> => {
    writeLog(join(cwd, 'requests.log'), lines, long)
    const args = ['plan', '--traffic', 'requests.log', 'gateway.yaml', '--format', 'json']
    const { code, stdout, stderr } = await run(args, { cwd, flags })
    t.equal(code, 0, stderr)
    t.equal(JSON.parse(stdout).requests, lines, 'each line counts')
    return Number(/resident (\d+)/.exec(stderr)?.[1]) / 1024
  }
  const [few, many] = [await residentOf(LINES), await residentOf(4 * LINES)]
  t.comment(`${LINES} lines: ${Math.round(few)} MiB; ${4 * LINES}: ${Math.round(many)} MiB`)
  t.ok(many - few < MAX_GROWTH_MIB, `${Math.round(many - few)} MiB more, at most ${MAX_GROWTH_MIB}`)
  const endless = await residentOf(LINES, 300)
  t.ok(endless - few < MAX_GROWTH_MIB, `a line of 300 MiB: ${Math.round(endless - few)} MiB more`)
})
