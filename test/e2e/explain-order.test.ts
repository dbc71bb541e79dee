import t from 'tap'
import { requestFacts } from '../../src/plan/explain.js'
import { json } from '../helpers/answers.js'
import { relaysAnything } from '../helpers/emitted.js'
import { startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// Requests here are wrong on purpose.
relaysAnything()

const CREDENTIAL = 'credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'
const MAX_BODY_BYTES = 2000

const yaml = (origin: string): string => `version: 1
keys:
  bound: { secret: { env: CALLER_KEY }, models: [chat, responses, messages, abroad], regions: [eu], limits: { body: ${MAX_BODY_BYTES} }, routes: [POST *, GET *] }
  narrow: { secret: { env: NARROW_KEY }, models: ["*"], routes: ["GET /v1/models"] }
upstreams:
  chat: { base: "${origin}", region: eu, ${CREDENTIAL}, speaks: { chat: POST /v1/chat/completions, embeddings: POST /v1/embeddings } }
  responses: { base: "${origin}", region: eu, ${CREDENTIAL}, speaks: { responses: POST /v1/responses } }
  messages: { base: "${origin}", region: eu, ${CREDENTIAL}, speaks: { messages: POST /v1/messages } }
  abroad: { base: "${origin}", region: us, ${CREDENTIAL}, speaks: { chat: POST /v1/chat/completions } }
models:
  chat: chat
  responses: responses
  messages: { upstream: messages, traits: { max_output: 4096 } }
  abroad: abroad
  forbidden: chat
`

/** A request that some faults are put into. */
interface Asked {
  path: string
  key: 'bound' | 'narrow' | 'stranger'
  readonly body: Record<string, unknown>
  cut?: (text: string) => string
}

/** Each breaks one rule, which one step of admission checks. */
const FAULTS: Readonly<Record<string, (asked: Asked) => void>> = {
  'an unknown key': asked => Object.assign(asked, { key: 'stranger' }),
  'a route that the key may not use': asked => Object.assign(asked, { key: 'narrow' }),
  'a path that no route has': asked => Object.assign(asked, { path: '/v1/nothing' }),
  'a body that is too large for the key': asked => Object.assign(asked.body, { user: 'x'.repeat(MAX_BODY_BYTES) }),
  'a body that is no JSON': asked => Object.assign(asked, { cut: (text: string) => text.slice(0, -1) }),
  'two models': asked => Object.assign(asked, { cut: (text: string) => `{"model":"a",${text.slice(1)}` }),
  'a member that the schema refuses': asked => Object.assign(asked.body, { temperature: 'hot' }),
  'no model': asked => Object.assign(asked.body, { model: null }),
  'a model that does not exist': asked => Object.assign(asked.body, { model: 'nowhere' }),
  'a model that the key may not use': asked => Object.assign(asked.body, { model: 'forbidden' }),
  'a model outside of its regions': asked => Object.assign(asked.body, { model: 'abroad' }),
  'a stream that is neither on nor off': asked => Object.assign(asked.body, { stream: 'yes' }),
  'two conversations': asked => Object.assign(asked.body, { previous_response_id: 'resp_1', conversation: 'conv_1' }),
  'no input': asked => {
    asked.body.input = null
  },
  'a background that may not be stored': asked => Object.assign(asked.body, { background: true, store: false }),
  'a member that routes': asked => Object.assign(asked.body, { api_base: 'http://elsewhere.test' }),
  'another model that does not exist': asked => Object.assign(asked.body, { models: ['nowhere'] }),
}

const MESSAGES = [{ role: 'user', content: 'hello' }]

/** Requests without a fault; the last two are translated. */
const SOUND: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  ['/v1/chat/completions', { model: 'chat', messages: MESSAGES }],
  ['/v1/embeddings', { model: 'chat', input: 'hello' }],
  ['/v1/conversations', {}],
  ['/v1/chat/completions', { model: 'messages', messages: MESSAGES }],
  ['/v1/responses', { model: 'chat', input: 'hello' }],
]

/** All sets of one or two faults. */
function sets(): readonly (readonly string[])[] {
  const names = Object.keys(FAULTS)
  return names.flatMap((a, at) => [[a], ...names.slice(at + 1).map(b => [a, b])])
}

t.test('a request that breaks several rules is refused by explain as it is by serving', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'not today' } }, { status: 400 }))
  const env = { NARROW_KEY: 'narrow-key-of-this-test-0123456789' }
  const gateway = await startTestGateway(t, yaml(up.origin), { env })
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const keys = { bound: gateway.key, narrow: env.NARROW_KEY, stranger: 'stranger-key-of-this-test-0123456789' }
  const seen = new Map<string, number>()
  const wrong: string[] = []
  for (const [path, body] of SOUND) {
    for (const set of sets()) {
      const asked: Asked = { path, key: 'bound', body: { ...body } }
      for (const name of set) FAULTS[name]?.(asked)
      const text = JSON.stringify(asked.body)
      const sent = asked.cut?.(text) ?? text
      const before = up.requests.items.length
      const answer = await gateway.request(asked.path, { method: 'POST', body: sent, key: keys[asked.key] })
      const isAsked = up.requests.items.length > before || answer.status < 400
      const { error } = requestFacts(plan, { method: 'POST', path: asked.path, key: keys[asked.key], body: sent })
      const [served, explained] = [
        isAsked ? 'passed on' : `${answer.status} ${messageOf(answer.json())}`,
        error === undefined ? 'passed on' : `${error.status} ${messageOf(error.body)}`,
      ]
      seen.set(served, (seen.get(served) ?? 0) + 1)
      if (served !== explained) wrong.push(`${path}, ${set.join(' + ')}: served ${served}, explained ${explained}`)
    }
  }
  console.log(`# ${wrong.length} of ${SOUND.length * sets().length} differ; ${seen.size} kinds of answers`)
  t.same(wrong.slice(0, 40), [])
  t.ok(seen.size > FAULTS_LEAST, [...seen.keys()].join('\n'))
})

/** Fewer kinds of answers would mean that faults do not do what they are named for. */
const FAULTS_LEAST = 15

function messageOf(body: unknown): string {
  const { error } = body as { readonly error?: { readonly message?: string } }
  return error?.message ?? ''
}
