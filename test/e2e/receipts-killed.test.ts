import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Bin, run, start } from '../cli/bin.js'
import { linesOf, receiptsIn, receiptsOf, verifyFolder } from '../helpers/receipts.js'
import { startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

// Processes that are killed while they write receipts.

t.setTimeout(120_000)

const ENV = { CALLER_KEY: 'the-key-of-the-caller-0123456789' }
const YAML = `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
receipts: on
`

async function serve(t: Test, cwd: string): Promise<{ readonly bin: Bin; readonly origin: string }> {
  const bin = start(t, ['serve', '--port', '0'], { cwd, env: ENV })
  const [, origin = ''] = await bin.until(/listening on (http:\/\/\S+)/)
  return { bin, origin }
}

async function chat(origin: string): Promise<void> {
  const headers = { authorization: `Bearer ${ENV.CALLER_KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'sim-a', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 })
  const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })
  await answer.text()
}

t.test(
  'F-P14 after kill -9 amid requests no receipt that was written is missing, and the next process continues',
  async t => {
    const cwd = mkdtempSync(join(tmpdir(), 'gateway-receipts-'))
    t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'gateway.yaml'), YAML)
    const folder = join(cwd, 'data', 'receipts')
    let before = 0
    for (let process = 1; process <= 3; process++) {
      const { bin, origin } = await serve(t, cwd)
      let isOver = false
      const senders = Array.from({ length: 4 }, async () => {
        while (!isOver) await chat(origin).catch(() => undefined)
      })
      await receiptsOf(folder, before + 20)
      bin.child.kill('SIGKILL')
      isOver = true
      await Promise.all(senders)
      await bin.ended
      const { code, stdout } = await run(['receipts', 'verify', '--json'], { cwd, env: ENV })
      t.equal(code, 0, stdout)
      const report = JSON.parse(stdout) as { receipts: number; chains: number }
      t.equal(report.chains, process)
      before = report.receipts
      t.ok(before >= 20 * process)
    }
    const openings = linesOf(folder).filter(({ kind }) => kind === 'open') as unknown as {
      chain: string
      after?: { chain: string }
    }[]
    t.equal(openings.filter(({ after }) => after !== undefined).length, 2, 'two of three chains continue another one')
    const named = new Set(openings.flatMap(({ after }) => after?.chain ?? []))
    t.equal(named.size, 2, 'each continues another one')
  },
)

t.test('each worker has its chain, and a worker that takes the place of a killed one continues that', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream, 'receipts: on\n'))
  const folder = join(gateway.folder, 'data', 'receipts')
  const slots = (): Set<string> => new Set(linesOf(folder).map(({ chain }) => chain.slice(0, 'worker1'.length)))
  const send = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await gateway.chat()
  }
  await send(8)
  await receiptsOf(folder, 8)
  while (slots().size < 2) await send(4)
  const [victim] = await gateway.workers()
  const chains = new Set(linesOf(folder).map(({ chain }) => chain)).size
  process.kill(victim?.pid ?? 0, 'SIGKILL')
  await until(async () => {
    const workers = await gateway.workers()
    return workers.length === 2 && workers.every(({ pid }) => pid !== victim?.pid)
  })
  while (new Set(linesOf(folder).map(({ chain }) => chain)).size === chains) await send(4)
  gateway.bin.child.kill('SIGTERM')
  await gateway.bin.ended
  t.match(await verifyFolder(folder), { faulty: 0 })
  t.same([...slots()].toSorted(), ['worker1', 'worker2'])
  const own = receiptsIn(folder).length
  t.ok(own >= 8, `${own} receipts`)
  const last = linesOf(folder).filter(({ kind }) => kind === 'open') as unknown as { after?: object }[]
  t.equal(last.filter(({ after }) => after !== undefined).length, 1)
})
