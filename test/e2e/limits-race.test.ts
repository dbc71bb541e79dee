import t from 'tap'
import { CHAT_ANSWER, chatEvent, DONE, json, stream } from '../helpers/answers.js'
import { startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { EVERY, storesOf } from '../helpers/store-kinds.js'

/** One budget, two gateways on one store, and everything at once. */

const REQUESTS = 500
/** What a request costs, and how many the budget covers. */
const PRICE_USD = 0.01
const FIT = 50

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
}
