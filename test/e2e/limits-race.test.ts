import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import { loadPlan } from '../../src/runtime/load.js'
import { type Bin, run, start } from '../cli/bin.js'
import { brokenStream, CHAT_ANSWER, chatEvent, DONE, hang, json, stream } from '../helpers/answers.js'
import { CHAT, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { EVERY, storesOf, temporary } from '../helpers/store-kinds.js'

/** One budget, two gateways on one store, and everything at once: in one process, and in two. */

t.setTimeout(120_000)

const REQUESTS = 500
/** What a request costs, and how many the budget covers. */
const PRICE_USD = 0.01
const FIT = 50
/** Where tokens have prices: what is reserved for a request is more than twice of what it costs. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
const MAX_TOKENS = 50
const BUDGET_USD = 20

const ENV = { CALLER_KEY: 'caller-key-of-the-race-0123456789', UPSTREAM_KEY: 'upstream-key-of-the-race-0123456789' }

interface Served {
  readonly bin: Bin
  readonly origin: string
  readonly file: string
}

/** `gateway serve` as a process of its own. */
async function serve(t: Test, yaml: string): Promise<Served> {
  const file = join(temporary(t), 'gateway.yaml')
  writeFileSync(file, yaml)
  const bin = start(t, ['serve', file, '--port', '0'], { env: ENV, bare: true })
  const [, origin = ''] = await bin.until(/listening on (http:\/\/[\d.:]+)/)
  return { bin, origin, file }
}

/** The status of a request; of an endless stream once its first event is there, and then the client leaves. */
async function ask(t: Test, origin: string, model: string): Promise<number> {
  const client = await connectRaw(t, origin)
  const stream = model === 's' || model === 'e'
  const body = { ...CHAT, model, max_tokens: MAX_TOKENS, ...(stream && { stream }) }
  await client.send(requestBytes(origin, '/v1/chat/completions', { key: ENV.CALLER_KEY, body }))
  const head = await client.head()
  const status = Number(head.line.split(' ')[1])
  await client.body(head, model === 'e' && status === 200 ? read => read.includes('data: ') : undefined)
  client.socket.destroy()
  return status
}

for (const kind of EVERY.filter(({ type }) => type === 'redis' || type === 'postgres')) {
  const storeOf = storesOf(t, kind)
  t.test(
    `F-A7 ${REQUESTS} racing requests, streams and fallbacks among them, over two gateways on ${kind.type}`,
    async t => {
      const [broken, good] = [await startRawUpstream(t), await startRawUpstream(t, { host: '127.0.0.2' })]
      broken.answer(...Array.from({ length: REQUESTS }, () => json({ error: { message: 'broken' } }, { status: 500 })))
      const streams = await startRawUpstream(t, { host: '127.0.0.3' })
      good.answer(...Array.from({ length: REQUESTS }, () => json(CHAT_ANSWER)))
      streams.answer(...Array.from({ length: REQUESTS }, () => stream([chatEvent('a'), DONE])))
      const yaml = `version: 1
store: ${await storeOf(t)}
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: ${PRICE_USD * FIT} USD/total } }
upstreams:
  broken: ${upstreamYaml(broken.origin)}
  good: ${upstreamYaml(good.origin)}
  streams: ${upstreamYaml(streams.origin)}
models: { m: [{ upstream: broken }, { upstream: good }], s: streams }
retry: { on: [500] }
prices: { m: &one { request: ${PRICE_USD} }, s: *one }
`
      const gateways = [await startTestGateway(t, yaml, { env: ENV }), await startTestGateway(t, yaml, { env: ENV })]
      const statuses = await Promise.all(
        Array.from(
          { length: REQUESTS },
          async (_, at) =>
            (await gateways[at % 2]?.chat({ max_tokens: 1, ...(at % 4 > 1 && { model: 's', stream: true }) }))?.status,
        ),
      )
      const passed = statuses.filter(status => status === 200).length
      const records = gateways[0] === undefined ? [] : await ledgerRecords(gateways[0])
      const spent = records.reduce((sum, { cost }) => sum + cost, 0)
      const overshoot = Math.max(0, spent - FIT * PRICE_USD * 1e6)
      console.log(
        `# MEASURED: ${kind.type}: ${passed} of ${REQUESTS} passed, ${spent} micro-USD spent, overshoot ${overshoot}`,
      )
      t.equal(overshoot, 0)
      t.equal(spent, passed * PRICE_USD * 1e6)
      t.ok(passed > 0 && passed <= FIT)
    },
  )

  t.test(
    `F-A7 ${REQUESTS} racing requests priced by tokens over two processes on ${kind.type}: streams, aborts and fallbacks`,
    { skip: kind.skip },
    async t => {
      const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']
      const upstreams = await Promise.all(hosts.map(host => startRawUpstream(t, { host })))
      const scripts = [
        json({ error: { message: 'broken' } }, { status: 500 }),
        json({ ...CHAT_ANSWER, usage: USAGE }),
        stream([chatEvent('a'), `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`, DONE]),
        brokenStream([chatEvent('a')], hang),
      ]
      for (const [at, script] of scripts.entries())
        upstreams[at]?.answer(...Array.from({ length: REQUESTS }, () => script))
      const [broken, good, streams, endless] = upstreams.map(({ origin }) => upstreamYaml(origin))
      const yaml = `version: 1
store: ${await storeOf(t)}
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: ${BUDGET_USD} USD/total } }
upstreams: { broken: ${broken}, good: ${good}, streams: ${streams}, endless: ${endless} }
models: { m: good, f: [{ upstream: broken }, { upstream: good }], s: streams, e: endless }
retry: { on: [500] }
prices: { "*": { input: 1000, output: 4000 } }
`
      const gateways = [await serve(t, yaml), await serve(t, yaml)]
      const statuses = await Promise.all(
        Array.from({ length: REQUESTS }, (_, at) => {
          const model = 'mfse'[Math.floor(at / 2) % 4] ?? ''
          return ask(t, gateways[at % 2]?.origin ?? '', model)
        }),
      )
      const passed = statuses.filter(status => status === 200).length
      t.ok(statuses.every(status => status === 200 || status === 429))
      const [first, second] = gateways
      for (const gateway of gateways) gateway.bin.child.kill('SIGTERM')
      for (const gateway of gateways) t.equal((await gateway.bin.ended).code, 0)
      const verified = await run(['ledger', 'verify', '-f', first?.file ?? ''], { env: ENV })
      t.equal(verified.code, 0, verified.stdout + verified.stderr)
      const { plan } = await loadPlan({ file: second?.file ?? '', env: ENV })
      if (plan === undefined) throw new Error('no plan')
      const records = await ledgerRecords({ gateway: { plan } })
      const spent = records.reduce((sum, { cost }) => sum + cost, 0)
      const ledger = await LedgerStore.open(plan)
      const [tally] = await ledger.tallies(['key:caller budget total'])
      await ledger.close()
      const overshoot = Math.max(0, spent - BUDGET_USD * 1e6)
      const cut = records.filter(({ outcome }) => outcome === 'cancelled').length
      console.log(
        `# MEASURED: ${kind.type}: ${passed} of ${REQUESTS} passed, ${cut} of them aborted; ${spent} micro-USD of ${BUDGET_USD * 1e6} spent, overshoot ${overshoot}`,
      )
      t.equal(overshoot, 0)
      t.equal(records.length, passed, 'one entry each')
      t.same(tally, { spent, held: 0 }, 'the account agrees with the ledger, and nothing is held')
      t.ok(cut > 0 && cut < passed && passed < REQUESTS)
    },
  )
}
