import t from 'tap'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import { brokenStream, CHAT_ANSWER, chatEvent, DONE, hang, json, stream } from '../helpers/answers.js'
import { CHAT, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { EVERY, storesOf } from '../helpers/store-kinds.js'

/** One budget, two gateways on one store, and everything at once. */

t.setTimeout(120_000)

const REQUESTS = 500
/** What a request costs, and how many the budget covers. */
const PRICE_USD = 0.01
const FIT = 50
/** Where tokens have prices: what is reserved for a request is more than twice of what it costs. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
const MAX_TOKENS = 50
const BUDGET_USD = 20

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
      const env = { CALLER_KEY: 'caller-key-of-the-race-0123456789' }
      const gateways = [await startTestGateway(t, yaml, { env }), await startTestGateway(t, yaml, { env })]
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
      t.comment(`${kind.type}: ${passed} of ${REQUESTS} passed, ${spent} micro-USD spent, overshoot ${overshoot}`)
      t.equal(overshoot, 0)
      t.equal(spent, passed * PRICE_USD * 1e6)
      t.ok(passed > 0 && passed <= FIT)
    },
  )

  t.test(
    `F-A7 ${REQUESTS} racing requests priced by tokens over two gateways on ${kind.type}: streams, aborts and fallbacks`,
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
      const env = { CALLER_KEY: 'caller-key-of-the-race-0123456789' }
      const gateways = [await startTestGateway(t, yaml, { env }), await startTestGateway(t, yaml, { env })]
      const statuses = await Promise.all(
        Array.from({ length: REQUESTS }, async (_, at) => {
          const gateway = gateways[at % 2]
          const model = 'mfse'[Math.floor(at / 2) % 4]
          const body = { model, max_tokens: MAX_TOKENS, ...((model === 's' || model === 'e') && { stream: true }) }
          if (model !== 'e') return (await gateway?.chat(body))?.status
          const client = await gateway?.open('/v1/chat/completions', { body: { ...CHAT, ...body } })
          if (client === undefined) return undefined
          const head = await client.head()
          const status = Number(head.line.split(' ')[1])
          if (status === 200) await client.body(head, read => read.includes('data: '))
          client.socket.destroy()
          return status
        }),
      )
      const passed = statuses.filter(status => status === 200).length
      t.ok(statuses.every(status => status === 200 || status === 429))
      const [first] = gateways
      if (first === undefined) throw new Error('no gateway')
      // Those that were given up are settled after their clients have gone.
      let records = await ledgerRecords(first)
      while (records.length < passed) records = await ledgerRecords(first)
      const spent = records.reduce((sum, { cost }) => sum + cost, 0)
      const ledger = await LedgerStore.open(first.gateway.plan)
      const [tally] = await ledger.tallies(['key:caller budget total'])
      await ledger.close()
      const overshoot = Math.max(0, spent - BUDGET_USD * 1e6)
      const cut = records.filter(({ outcome }) => outcome === 'cancelled').length
      t.comment(
        `${kind.type}: ${passed} of ${REQUESTS} passed, ${cut} of them aborted; ${spent} micro-USD of ${BUDGET_USD * 1e6} spent, overshoot ${overshoot}`,
      )
      t.equal(overshoot, 0)
      t.equal(records.length, passed, 'one entry each')
      t.equal(tally?.spent, spent, 'the account agrees with the ledger')
      t.ok(cut > 0 && cut < passed && passed < REQUESTS)
    },
  )
}
