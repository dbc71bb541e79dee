import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Bin, run, start } from '../cli/bin.js'
import { DURABLE, storeYaml } from '../helpers/store-kinds.js'

// Requests through processes that are killed, and what the ledger says of them afterwards.

t.setTimeout(120_000)

const ENV = { CALLER_KEY: 'the-key-of-the-caller-0123456789' }

const yaml = (store: string): string => `version: 1
store: ${store}
prices: { sim-text: { input: 0.30, output: 7.70, request: 0.25 } }
groups: { research: { limits: { budget: [100 USD/month, 1000 USD], tokens: 10M/day } } }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: research, limits: { budget: 50 USD/day, requests: 10k/day } }
upstreams: { sim: { kind: simulator, limits: { budget: 500 USD/month } } }
models: { sim-text: sim, "sim-text?*": sim }
`

interface Served {
  readonly bin: Bin
  /** Requests whose last byte arrived. */
  answered: number
}

async function serve(t: Test, cwd: string): Promise<Served> {
  const bin = start(t, ['serve', '--port', '0'], { cwd, env: ENV })
  await bin.until(/listening on http:\/\/\S+/)
  return { bin, answered: 0 }
}

/** One request; whether it was answered to its end. */
async function chat(served: Served, stream: boolean): Promise<void> {
  const [, origin] = await served.bin.until(/listening on (http:\/\/\S+)/)
  const body = { model: 'sim-text', messages: [{ role: 'user', content: 'hello' }], max_tokens: 64, stream }
  const headers = { authorization: `Bearer ${ENV.CALLER_KEY}`, 'content-type': 'application/json' }
  try {
    const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status === 200 && (!stream || text.includes('[DONE]'))) served.answered++
  } catch {
    // The process was killed.
  }
}

/** Sends requests, and kills the process when some of them are answered. */
async function killAmid(served: Served, requests: number, after: number): Promise<void> {
  const all = Array.from({ length: requests }, (_, n) =>
    chat(served, n % 2 === 0).then(() => {
      if (served.answered >= after) served.bin.child.kill('SIGKILL')
    }),
  )
  await Promise.all(all)
  served.bin.child.kill('SIGKILL')
  await served.bin.ended
}

for (const { type, skip, make } of DURABLE) {
  t.test(
    `F-A7 the ledger explains every budget after kill -9, and beside running gateways (${type})`,
    { skip },
    async t => {
      const cwd = mkdtempSync(join(tmpdir(), 'gateway-ledger-'))
      t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
      writeFileSync(join(cwd, 'gateway.yaml'), yaml(storeYaml(await make(t))))
      const ledger = async (
        ...args: readonly string[]
      ): Promise<{ code: number | null; json: Record<string, unknown> }> => {
        const { code, stdout, stderr } = await run(args, { cwd, env: ENV })
        t.equal(stderr, '')
        return { code, json: JSON.parse(stdout) as Record<string, unknown> }
      }

      const steady = await serve(t, cwd)
      let answered = 0
      for (const after of type === 'file' ? [1, 12] : [12]) {
        const killed = await serve(t, cwd)
        await Promise.all([
          killAmid(killed, 24, after),
          ...Array.from({ length: 8 }, (_, n) => chat(steady, n % 2 > 0)),
        ])
        t.ok(killed.answered >= after, 'it was killed amid its work')
        answered += killed.answered
      }
      answered += steady.answered

      const [{ code, json: report }, { json: spent }] = await Promise.all([
        ledger('ledger', 'verify', '--json'),
        ledger('spend', '--format', 'json', '--by', 'model'),
      ])
      t.equal(code, 0, JSON.stringify(report))
      t.match(report, { agrees: true, accounts: 4, differing: 0, moving: 0, uncovered: 0, forgotten: 0 })
      const { requests, usd, units } = spent.total as { requests: number; usd: string; units: Record<string, number> }
      t.ok(requests >= answered, `${requests} entries for ${answered} answers`)
      t.equal(report.entries, requests)
      t.ok(Number(usd) > requests / 4, usd)
      t.ok(Number(units.input) > 0 && Number(units.output) > 0)
      t.comment(`${answered} answered, ${requests} in the ledger, ${usd} USD`)
    },
  )
}
