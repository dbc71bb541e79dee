import t, { type Test } from 'tap'
import { StoreError } from '../../src/core/store-place.js'
import type { Feature } from '../../src/kernel/stages.js'
import { json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { withFeature } from '../helpers/metered.js'
import { type RawUpstream, type Script, startRawUpstream, turn } from '../helpers/raw-upstream.js'
import { temporary } from '../helpers/store-kinds.js'

// A client that has its whole answer may continue at once, by another gateway: its conversation has the turn by then. The upstream
// speaks the protocol itself, and its answers pass.

const ITEM = {
  ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'Hello Ann.', annotations: [] }],
}
const RESPONSE = { id: 'resp_1', object: 'response', status: 'completed', output: [ITEM] }
const EVENTS = [
  { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'response.completed',
  },
  { type: 'response.output_item.done', output_index: 0, item: ITEM },
  { type: 'response.completed', response: RESPONSE },
]
const WAYS: readonly (readonly [stream: boolean, answer: Script, end: string])[] = [
  [false, json(RESPONSE), 'Hello Ann.'],
  [
    true,
    stream(EVENTS.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
    'event: response.completed',
  ],
]

async function started(test: Test, up: RawUpstream, path: string, own?: Feature): Promise<TestGateway> {
  const yaml = `version: 1
store: { type: file, path: "${path}" }
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { responses: POST /v1/responses } } }
models: { m: up }
`
  return startTestGateway(test, yaml, own === undefined ? {} : { features: withFeature(own) })
}

/** What comes before a record changes in the store. */
const beforeReplace = (before: () => Promise<void>, after: () => void): Feature => ({
  name: 'before_replace',
  open({ store }) {
    const replace = store.replace.bind(store)
    store.replace = async (...change) => {
      await before()
      const replaced = await replace(...change)
      after()
      return replaced
    }
    return {}
  },
  compile: () => undefined,
})

async function conversation(gateway: TestGateway): Promise<string> {
  const made = await gateway.request('/v1/conversations', { body: {} })
  return (made.json() as { id: string }).id
}

for (const [isStream, answer, end] of WAYS) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`the end of an answer waits until its turn is stored, and another gateway knows it then (${how})`, async t => {
    const up = await startRawUpstream(t)
    up.answer(answer)
    const order: string[] = []
    const { promise: reached, resolve: reach } = withResolvers<void>()
    const { promise: released, resolve: release } = withResolvers<void>()
    const before = async (): Promise<void> => {
      reach()
      await released
    }
    const path = temporary(t)
    const gateway = await started(
      t,
      up,
      path,
      beforeReplace(before, () => order.push('stored')),
    )
    const other = await started(t, up, path)
    const id = await conversation(gateway)
    const body = { model: 'm', input: 'I am Ann.', conversation: id, stream: isStream, store: false }
    const client = await gateway.open('/v1/responses', { body })
    const whole = client.head().then(head => client.body(head, got => got.includes(end)))
    const answered = whole.then(() => order.push('answered'))
    await reached
    await turn()
    order.push('released')
    release()
    await answered
    t.same(order, ['released', 'stored', 'answered'])
    const { data } = (await other.request(`/v1/conversations/${id}/items`)).json() as { data: unknown[] }
    t.match(JSON.stringify(data), /Hello Ann\..*I am Ann\./)
  })

  t.test(`a turn that cannot be stored leaves the answer whole, and the log says so (${how})`, async t => {
    const up = await startRawUpstream(t)
    up.answer(answer)
    const fail = async (): Promise<void> => {
      throw new StoreError('unavailable', 'the store is away')
    }
    const gateway = await started(
      t,
      up,
      temporary(t),
      beforeReplace(fail, () => undefined),
    )
    const id = await conversation(gateway)
    const body = { model: 'm', input: 'I am Ann.', conversation: id, stream: isStream, store: false }
    const got = await gateway.request('/v1/responses', { body })
    t.ok(got.whole && got.text.includes(end), got.text)
    t.match(await gateway.log.find(({ msg }) => msg === 'a record could not be stored'), { level: 'error' })
  })
}
