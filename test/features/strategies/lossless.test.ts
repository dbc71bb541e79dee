import t from 'tap'
import type { Exchange } from '../../../src/core/plan.js'
import { byLosses, type Lost, skippedText } from '../../../src/translate/loss-order.js'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { CALLER, startTestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { fc } from '../../helpers/property.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'
import { exchangeOf } from './made.js'

const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'hello' }],
  usage: { input_tokens: 3, output_tokens: 1 },
}

t.test('lossless asks the target that drops least of the request, and a header says which was passed over', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json(MESSAGE))
  b.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    `version: 1
${CALLER}
upstreams:
  a: { base: "${a.origin}", speaks: { messages: POST /v1/messages } }
  b: ${upstreamYaml(b.origin)}
models:
  m: { targets: [a, b], strategy: lossless }
`,
  )
  const plain = await gateway.chat({ max_tokens: 9 })
  t.equal(plain.status, 200)
  t.equal(plain.header('x-gateway-skipped'), undefined, 'nothing is lost at the first')
  t.same([a.requests.items.length, b.requests.items.length], [1, 0])
  const lossy = await gateway.chat({ max_tokens: 9, seed: 7, presence_penalty: 1 })
  t.equal(lossy.status, 200)
  t.match(lossy.header('x-gateway-skipped'), /^a \((seed, presence_penalty|presence_penalty, seed)\)$/)
  t.same([a.requests.items.length, b.requests.items.length], [1, 1])
})

t.test('no target comes before one that drops less, and equal ones stay as written', async () => {
  const losses = fc.array(
    fc.oneof(
      fc.constant('refused' as const),
      fc.constant(undefined),
      fc.array(fc.constantFrom('seed', 'tools', 'n'), { maxLength: 4 }),
    ),
    {
      minLength: 1,
      maxLength: 7,
    },
  )
  const rank = (lost: Lost): number => (lost === 'refused' ? 1e9 : lost === undefined ? 1e6 : lost.length)
  fc.assert(
    fc.property(losses, all => {
      const exchanges = all.map((_, index) => exchangeOf(`${index}`))
      const table = new Map<Exchange, Lost>(exchanges.map((one, index) => [one, all[index]]))
      const order = byLosses(exchanges, table)
      const isSorted = order.every((one, index) => {
        const before = order[index - 1]
        if (before === undefined) return true
        const [left, right] = [rank(table.get(before)), rank(table.get(one))]
        return left < right || (left === right && exchanges.indexOf(before) < exchanges.indexOf(one))
      })
      const skipped = skippedText(exchanges, order[0], table)?.split('), ').length ?? 0
      return isSorted && order.length === all.length && skipped === exchanges.indexOf(order[0] as Exchange)
    }),
  )
})
