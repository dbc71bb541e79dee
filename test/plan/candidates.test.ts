import t from 'tap'
import type { ModelConfig, UpstreamConfig } from '../../src/core/config.js'
import type { Choice } from '../../src/core/plan.js'
import { atOnce } from '../../src/core/steps.js'
import { candidatesOf, choose, type ExchangeSettings } from '../../src/plan/candidates.js'
import { ModelIndex } from '../../src/plan/model-index.js'
import { compileUpstreams } from '../../src/plan/upstreams.js'
import { callOf, configOf, modelOf, upstreamOf } from '../helpers/config-builder.js'

const CHAT: ExchangeSettings = { protocol: 'chat', timeouts: {}, retry: {}, strict: false }

function choiceOf(
  model: ModelConfig,
  upstreams: Readonly<Record<string, Partial<UpstreamConfig>>>,
  offer = CHAT,
): Choice | undefined {
  const full = Object.entries(upstreams).map(([name, parts]) => [name, upstreamOf(`https://${name}.example`, parts)])
  const config = configOf({ upstreams: Object.fromEntries(full), models: { m: model } })
  const ways = candidatesOf(model, offer, atOnce(compileUpstreams(config, new Set())), config)
  const found = new ModelIndex(config.models).find('m')
  if (found === undefined) throw new Error('no model')
  return choose(ways, 'm', found)
}

function order(choice: Choice | undefined): unknown {
  return choice?.groups.map(({ exchanges, weights }) =>
    exchanges.map((exchange, index) => `${exchange.upstream.name}:${exchange.model}:${weights[index]}`),
  )
}

const edit = (name: string): { set: Record<string, true> } => ({ set: { [name]: true } })
const apply = (transform: ((document: Uint8Array) => Uint8Array) | undefined, text = '{}'): string =>
  Buffer.from(transform?.(Buffer.from(text)) ?? []).toString()

t.test('targets become exchanges in their order', async t => {
  t.same(order(choiceOf(modelOf(['a', { upstream: 'b', as: 'm2' }]), { a: {}, b: {} })), [['a:m:1'], ['b:m2:1']])
})

t.test('weighted neighbours become one group', async t => {
  const model = modelOf([{ upstream: 'a', weight: 3 }, { upstream: 'b', weight: 1 }, 'c'])
  t.same(order(choiceOf(model, { a: {}, b: {}, c: {} })), [['a:m:3', 'b:m:1'], ['c:m:1']])
})

t.test('what the route changes comes before what upstreams and models change', async t => {
  const offer = { ...CHAT, request: [{ rename: { a: 'b' } }] }
  const choice = choiceOf(modelOf(['a']), { a: { request: [{ rename: { b: 'c' } }] } }, offer)
  t.equal(apply(choice?.groups[0]?.exchanges[0]?.request, '{"a":1}'), '{"c":1}')
})

t.test('what is off is left out, and groups stay as they were written', async t => {
  const model = modelOf([{ upstream: 'a', weight: 3 }, 'b', { upstream: 'c', weight: 1 }])
  t.same(order(choiceOf(model, { a: {}, b: { off: 'disabled' }, c: {} })), [['a:m:3'], ['c:m:1']])
})

t.test('what does not speak the protocol is left out', async t => {
  const speaks = { embeddings: callOf('POST /v1/embeddings') }
  t.same(order(choiceOf(modelOf(['a', 'b']), { a: { speaks }, b: {} })), [['b:m:1']])
})

t.test('what speaks another protocol of the same kind is translated to', async t => {
  const speaks = { generate: callOf('POST /g/{model}') }
  const traits = { max_output: 1, sampling: false, reasoning: 'budget' } as const
  const model = modelOf([{ upstream: 'a', traits: { max_output: 3 } }, 'b'], {
    traits: { max_output: 2, sampling: true },
  })
  const [first, second] = choiceOf(model, { a: { speaks, traits }, b: {} })?.groups ?? []
  const translation = first?.exchanges[0]?.translation
  t.equal(translation?.server.protocol, 'chat')
  t.equal(translation?.client.protocol, 'generate')
  t.same(translation?.traits, { max_output: 3, sampling: true, reasoning: 'budget' }, 'target over model over upstream')
  t.equal(translation?.strict, false)
  t.equal(first?.exchanges[0]?.call.text, 'POST /g/{model}')
  t.equal(second?.exchanges[0]?.translation, undefined, 'relayed where the protocol is spoken')
})

t.test('what keeps no state of a protocol that has it is translated to that protocol itself', async t => {
  const speaks = { responses: { ...callOf('POST /r'), stateful: false } as const }
  const offer = { ...CHAT, protocol: 'responses' }
  const [exchange] = choiceOf(modelOf(['a']), { a: { speaks } }, offer)?.groups[0]?.exchanges ?? []
  t.equal(exchange?.translation?.server.protocol, 'responses')
  t.equal(exchange?.translation?.client.protocol, 'responses')
  t.equal(exchange?.call.text, 'POST /r')
  const chat = choiceOf(modelOf(['a']), { a: { speaks: { chat: { ...callOf('POST /c'), stateful: false } } } })
  t.equal(chat?.groups.length, 1)
})

t.test('a route or a model may be strict', async t => {
  const speaks = { generate: callOf('POST /g/{model}') }
  const strict = (model: ModelConfig, offer = CHAT): unknown =>
    choiceOf(model, { a: { speaks } }, offer)?.groups[0]?.exchanges[0]?.translation?.strict
  t.equal(strict(modelOf('a', { strict: true })), true)
  t.equal(strict(modelOf('a'), { ...CHAT, strict: true }), true)
  t.equal(strict(modelOf('a')), false)
})

t.test('where nothing is left there is no choice', async t => {
  t.equal(choiceOf(modelOf('a'), { a: { off: 'disabled' } }), undefined)
  t.equal(choiceOf(modelOf('a'), { a: {} }, { ...CHAT, protocol: 'other' }), undefined)
})

t.test('time-outs and retry: everywhere, then upstream, then route, then model', async t => {
  const upstream = { timeouts: { connect: 1, first_byte: 1, idle: 1 }, retry: { attempts: 1, on: [500] } }
  const offer = { ...CHAT, timeouts: { first_byte: 2, idle: 2 }, retry: { attempts: 2 } }
  const model = modelOf('a', { timeouts: { idle: 3 }, retry: { on: [503] } })
  const exchange = choiceOf(model, { a: upstream }, offer)?.groups[0]?.exchanges[0]
  t.same(exchange?.timeouts, { queue: 5000, connect: 1, first_byte: 2, first_event: 2, idle: 3, total: 1_800_000 })
  t.match(exchange?.retry, { attempts: 2, on: [503] })
})

t.test('requests are edited by upstream, endpoint, model and target, answers the other way round', async t => {
  const verbs = (name: string) => ({ request: [edit(name)], response: [edit(name)] })
  const target = { upstream: 'a', ...verbs('target') }
  const speaks = { chat: callOf('POST /chat', verbs('endpoint')) }
  const choice = choiceOf(modelOf(target, verbs('model')), { a: { speaks, ...verbs('upstream') } })
  const exchange = choice?.groups[0]?.exchanges[0]
  const names = (text: string): readonly string[] => Object.keys(JSON.parse(text))
  t.same(names(apply(exchange?.request)), ['upstream', 'endpoint', 'model', 'target'])
  t.same(names(apply(exchange?.response)), ['target', 'model', 'endpoint', 'upstream'])
})

t.test('where nothing is declared nothing is edited', async t => {
  const exchange = choiceOf(modelOf('a'), { a: {} })?.groups[0]?.exchanges[0]
  t.equal(exchange?.request, undefined)
  t.equal(exchange?.response, undefined)
})

t.test('moderations go to their own protocol, unless the model is said to judge', async t => {
  const offer = { ...CHAT, protocol: 'moderations' }
  const speaks = { chat: callOf('POST /chat'), moderations: callOf('POST /moderations') }
  const asked = (traits: object, spoken: UpstreamConfig['speaks']): unknown => {
    const [group] = choiceOf({ ...modelOf(['a']), traits }, { a: { speaks: spoken } }, offer)?.groups ?? []
    const [exchange] = group?.exchanges ?? []
    return exchange && [exchange.call.target({ model: 'm' }), exchange.translation?.client.protocol]
  }
  t.same(asked({}, speaks), ['/moderations', undefined])
  t.same(asked({ moderates: true }, speaks), ['/chat', 'chat'])
  t.same(asked({ moderates: true }, { moderations: speaks.moderations }), ['/moderations', undefined])
  t.same(asked({}, { chat: speaks.chat }), undefined)
})
