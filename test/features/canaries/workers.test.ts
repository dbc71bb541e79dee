import t from 'tap'
import { json } from '../../helpers/answers.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'
import { startHoldingUpstream, until, WorkingGateway } from '../../helpers/workers.js'

/** What a worker says of the canary; a connection of its own, so that another worker may answer each time. */
async function standing(gateway: WorkingGateway): Promise<string> {
  const { text } = await gateway.ask('GET', '/readyz?verbose')
  return (JSON.parse(text) as { canaries: { m: string } }).canaries.m
}

t.test('F-P4 workers: what one of them notices of a canary holds for all, also for one that is new', async t => {
  const bad = await startRawUpstream(t)
  bad.answer(json({ error: { message: 'Broken.' } }, { status: 500 }))
  const good = await startHoldingUpstream(t)
  const upstream = (origin: string): string =>
    `{ kind: openai-compatible, base: "${origin}", secret: { env: CALLER_KEY } }`
  const gateway = await WorkingGateway.start(
    t,
    `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
upstreams:
  good: ${upstream(good.origin)}
  bad: ${upstream(bad.origin)}
models:
  m: { targets: [good], canary: { to: next, share: 50%, by: request } }
  next: bad
health: off
workers: 2
`,
  )
  const noticed = (): number => gateway.logged('a canary fails more often than the others and gets no requests').length
  let asked = 0
  for (; noticed() === 0 && asked < 400; asked++) t.equal(await gateway.chat(), 200)
  const failures = bad.requests.items.length
  t.ok(
    failures >= 8 && failures < 60,
    `${failures} failures; some 17 are enough, fewer where chance gave it fewer requests`,
  )
  // Both know it, no matter which of them has noticed.
  const rests = async (): Promise<boolean> => {
    const all = await Promise.all(Array.from({ length: 20 }, () => standing(gateway)))
    return all.every(text => text.includes('rests until'))
  }
  await until(rests)
  const before = bad.requests.items.length
  for (let i = 0; i < 40; i++) t.equal(await gateway.chat(), 200)
  t.equal(bad.requests.items.length, before, 'no worker tries it')
  t.ok(noticed() <= 2, 'a line, or two where both notice at once')

  const [victim] = await gateway.workers()
  t.ok(victim)
  if (victim === undefined) return
  process.kill(victim.pid, 'SIGKILL')
  await until(async () => {
    const now = await gateway.workers().catch(() => [])
    return now.length === 2 && now.every(({ pid, generation }) => pid !== victim.pid && generation > 0)
  })
  await until(rests)
  for (let i = 0; i < 40; i++) t.equal(await gateway.chat(), 200)
  t.equal(bad.requests.items.length, before, 'the new one does not, either')
})
