import t from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { FIELDS, type Field } from '../../src/core/fields.js'
import type { JsonObject } from '../../src/core/json.js'
import { type RequestFacts, requestFacts } from '../../src/plan/explain.js'
import { TEXT_CODECS } from '../codecs/all.js'
import { SAMPLES } from '../codecs/samples.js'
import { plain } from '../codecs/support.js'
import { json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { allowFault, relaysAnything } from '../helpers/emitted.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Explaining and serving a request, held against each other: every text protocol as client × every one as upstream × bodies. */

const PROTOCOLS = ['chat', 'responses', 'messages', 'generate', 'converse'] as const
type Protocol = (typeof PROTOCOLS)[number]

const CREDENTIALS: Readonly<Record<Protocol, string>> = {
  chat: '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }',
  responses: '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }',
  messages: '{ in: header, name: x-api-key, secret: { env: UPSTREAM_KEY } }',
  generate: '{ in: query, name: key, secret: { env: UPSTREAM_KEY } }',
  converse: '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }',
}

const SPEAKS: Readonly<Record<Protocol, string>> = {
  chat: '{ chat: POST /v1/chat/completions }',
  responses: '{ responses: POST /v1/responses, responses.input_tokens: POST /v1/responses/input_tokens }',
  messages: '{ messages: POST /v1/messages, messages.count_tokens: POST /v1/messages/count_tokens }',
  generate: `{ generate: { call: "POST /v1beta/models/{model}:generateContent",
    stream: "POST /v1beta/models/{model}:streamGenerateContent?alt=sse" },
    generate.count_tokens: "POST /v1beta/models/{model}:countTokens" }`,
  converse: '{ converse: { call: "POST /model/{model}/converse", stream: "POST /model/{model}/converse-stream" } }',
}

/** Models by the suffix of their name: what is declared, and the fields whose samples are sent; undefined: all. */
const VARIANTS: Readonly<Record<string, readonly [more: string, fields: readonly Field[] | undefined]>> = {
  '': ['traits: { max_output: 4096 }', undefined],
  '-tool': ['traits: { max_output: 4096, structured: tool }', ['formatJson', 'formatSchema', 'tools', 'toolChoice']],
  '-strict': [
    'strict: true, traits: { max_output: 4096 }',
    ['topK', 'seed', 'user', 'cacheMarks', 'logitBias', 'metadata'],
  ],
  '-edited': [
    'traits: { max_output: 4096 }, request: [{ set: { added: 1.50 } }, { remove: [temperature] }]',
    ['temperature', 'system', 'turns'],
  ],
}

// What clients of the same protocol send passes unchanged, and the member "added" is in no document.
relaysAnything()
allowFault(/\("added"\)|audio: must have required property 'format'/)

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
}

const SECRET = canary('upstream')

async function stage(): Promise<Stage> {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'not today' } }, { status: 400 }))
  const upstreams = PROTOCOLS.map(
    name => `  ${name}: { base: "${up.origin}/${name}", credential: ${CREDENTIALS[name]}, speaks: ${SPEAKS[name]},
    headers: { x-team: "t-${name}" } }\n`,
  )
  const models = Object.entries(VARIANTS).flatMap(([suffix, [more]]) =>
    PROTOCOLS.map(name => `  ${name}${suffix}: { upstream: ${name}, as: "their ${name}", ${more} }\n`),
  )
  const keys = `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
`
  const yaml = `version: 1\n${keys}upstreams:\n${upstreams.join('')}models:\n${models.join('')}`
  return { gateway: await startTestGateway(t, yaml, { env: { UPSTREAM_KEY: SECRET } }), up }
}

/** What is posted, and where. */
type Asked = readonly [path: string, body: string]

const PATHS: Readonly<Record<Protocol, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  generate: '/v1beta/models/MODEL:generateContent',
  converse: '/model/MODEL/converse',
}

/** The text that a client of the protocol posts, and where. */
function requestTo(protocol: Protocol, model: string, text: string, stream: boolean): Asked {
  if (protocol === 'generate') {
    const path = PATHS.generate.replace('MODEL', model)
    return [stream ? `${path.replace(':generate', ':streamGenerate')}?alt=sse` : path, text]
  }
  if (protocol === 'converse') return [`${PATHS.converse.replace('MODEL', model)}${stream ? '-stream' : ''}`, text]
  const members = [
    `"model":"${model}"`,
    ...(stream ? ['"stream":true'] : []),
    ...(text === '{}' ? [] : [text.slice(1, -1)]),
  ]
  return [PATHS[protocol], `{${members.join(',')}}`]
}

const MANY = Array.from({ length: 70 }, (_, index) => `"unknown_${index}":${index}`).join(',')
const LONG_NAME = 'mcp.server/'.repeat(9)
const EXACT = '{"type":"object","properties":{"n":{"type":"number","minimum":1.0,"maximum":12345678901234567890}}}'

/** What no encoder of ours writes. The members of each body, without braces, beside those of the protocol's question. */
const ODD: Readonly<Record<Protocol, readonly string[]>> = {
  chat: [
    '"messages":[{"role":"user","content":"hi"}],"x_unknown":{"a":[1]},"odd \\u0007 name":1',
    `"messages":[{"role":"user","content":"hi"}],${MANY}`,
    `"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":${EXACT}}}]`,
    `"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"${LONG_NAME}"}}]`,
    '"messages":[{"role":"user","content":"hi"}],"temperature":0.50,"seed":9007199254740993',
    '"messages":[{"role":"user","content":"hi"}],"store":true,"metadata":{"a":"b"}',
    '"messages":[{"role":"user","content":"hi"}],"functions":[{"name":"f"}],"function_call":{"name":"f"}',
    '"messages":[{"role":"user","content":"hi"}],"route":"fallback","provider":{"order":["a"]}',
    '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"ftp://example.com/a.png"}}]}]',
    '"messages":[{"role":"user","content":"\\ud800 lone, \\u0000 and \\u2028"}]',
    '"messages":[{"role":"tool","tool_call_id":"nowhere","content":"hi"}]',
    '"messages":[{"role":"user"}]',
    '"messages":[]',
    '"messages":"hi"',
    '"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema"}',
  ],
  responses: [
    '"input":"hi","x_unknown":{"a":[1]}',
    `"input":"hi",${MANY}`,
    `"input":"hi","tools":[{"type":"function","name":"f","parameters":${EXACT}}]`,
    `"input":"hi","tools":[{"type":"namespace","name":"files","tools":[{"type":"function","name":"${LONG_NAME.slice(0, 60)}"}]}]`,
    '"input":"hi","tools":[{"type":"custom","name":"apply_patch","description":"Patches."}]',
    '"input":[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","summary":[],"encrypted_content":"abc"}]',
    '"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}]',
    '"input":[{"type":"nothing of the sort"}]',
    '"input":"hi","background":true,"store":false',
    '"input":[]',
    '"input":null',
    '"instructions":"hi"',
  ],
  messages: [
    '"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"x_unknown":{"a":[1]}',
    `"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"${LONG_NAME}","input_schema":${EXACT}}]`,
    '"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":1024}',
    '"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"mcp_servers":[{"type":"url","url":"https://a.example","name":"a"}]',
    '"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://a.example/a.png"}}]}]',
    '"max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]},{"role":"user","content":"go on"}]',
    '"max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"search_result"}]}]}]',
    '"max_tokens":9,"messages":[]',
    '"messages":[{"role":"user","content":"hi"}]',
  ],
  generate: [
    '"contents":[{"parts":[{"text":"hi"}]}],"x_unknown":{"a":[1]}',
    '"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"top_k":3,"response_mime_type":"application/json"}',
    `"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${EXACT}}]}]`,
    '"contents":[{"parts":[{"text":"hi"}]}],"cachedContent":"cachedContents/1"',
    '"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://a.example/a.pdf","mimeType":"application/pdf"}}]}]',
    '"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1.0}}}]},{"parts":[{"functionResponse":{"name":"f","response":{"n":2.50}}}]}]',
    '"contents":[{"parts":[{"text":"hi"}]}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]',
    '"contents":[]',
    '"contents":"hi"',
  ],
  converse: [
    '"messages":[{"role":"user","content":[{"text":"hi"}]}],"x_unknown":{"a":[1]}',
    `"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":${EXACT}}}}]}`,
    '"messages":[{"role":"user","content":[{"text":"hi"}]}],"guardrailConfig":{"guardrailIdentifier":"g"}',
    '"messages":[{"role":"user","content":[{"text":"hi"}]}],"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}',
    '"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"s3Location":{"uri":"s3://a/b"}}}}]}]',
    '"messages":[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}}]},{"role":"user","content":[{"text":"more"}]}]',
    '"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"json":{"n":2.50}}]}}]}]',
    '"messages":[]',
    '"system":[{"text":"hi"}]',
  ],
}

/** Only the store knows whose a file is. */
const STORED: ReadonlySet<Field> = new Set(['fileId'])

/** The samples of the codecs' contract as clients of the protocol write them. */
function samplesOf(protocol: Protocol, fields: readonly Field[]): readonly string[] {
  const codec = TEXT_CODECS.find(one => one.protocol === protocol)
  const lenient = { model: 'm', traits: { max_output: 4096 }, lose: () => undefined }
  const samples = fields.filter(field => !STORED.has(field)).flatMap(field => SAMPLES[field](protocol, protocol))
  const bodies = samples.flatMap(({ request }) => {
    try {
      const { model: _, ...body } = plain(codec?.client.encodeRequest(request, lenient)) as JsonObject
      return [JSON.stringify(body)]
    } catch (error) {
      // The protocol cannot say it.
      if (error instanceof GatewayError) return []
      throw error
    }
  })
  return [...new Set(bodies)]
}

/** Ids of requests differ each time. */
function withoutId(body: unknown): object {
  const { request_id: _request, id: _id, ...rest } = body as Record<string, unknown>
  return rest
}

/** What of a request is the same, however it is served: the upstream's request, or the refusal. */
interface Sent {
  readonly error: { readonly status: number; readonly code: string | undefined; readonly body: object } | undefined
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: readonly string[]
  readonly body: string | undefined
  readonly dropped: readonly string[]
}

const NOTHING = { method: undefined, url: undefined, headers: [], body: undefined, dropped: [] }

/** Headers that every upstream gets, declared or not. */
const ALWAYS = new Set([
  ...['host', 'connection', 'content-length', 'content-type'],
  ...['accept', 'accept-encoding', 'user-agent', 'x-request-id'],
])

async function served({ gateway, up }: Stage, [path, body]: Asked): Promise<Sent> {
  const before = up.requests.items.length
  const answer = await gateway.request(path, { method: 'POST', body })
  const line = await gateway.log.find(one => one.id === answer.header('x-request-id'))
  const sent = up.requests.items[before]
  // The gateway answers by itself.
  if (sent === undefined && answer.status === 200) return { ...NOTHING, error: undefined }
  if (sent === undefined) {
    const error = { status: answer.status, code: answer.header('x-gateway-error'), body: withoutId(answer.json()) }
    return { ...NOTHING, error }
  }
  return {
    error: undefined,
    method: sent.method,
    url: up.origin + sent.target.replace(SECRET, '[secret]'),
    headers: sent.head.fields
      .filter(([name]) => !ALWAYS.has(name.toLowerCase()))
      .map(([name, value]) => `${name.toLowerCase()}: ${value.replace(SECRET, '[secret]')}`)
      .sort(),
    body: sent.body.toString('utf8'),
    dropped: line.dropped === undefined ? [] : (line.dropped as readonly string[]),
  }
}

function explained({ gateway }: Stage, [path, body]: Asked): Sent {
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const { exchanges, error }: RequestFacts = requestFacts(plan, { method: 'POST', path, key: 'caller', body })
  const [exchange] = exchanges
  if (exchange === undefined || error !== undefined) {
    const { status = 0, code } = error ?? {}
    return { ...NOTHING, error: { status, code, body: withoutId(error?.body ?? {}) } }
  }
  if (exchange.translation?.estimated === true) return { ...NOTHING, error }
  const { method, url, headers, dropped = [], translation } = exchange
  const lost = (translation?.lost ?? []).map(line => line.slice(0, line.indexOf(': ')))
  return { error, method, url, headers: [...headers].sort(), body: exchange.body, dropped: [...dropped, ...lost] }
}

t.setTimeout(240_000)

t.test('explain says what is sent, or refused, and what of it is left out', async t => {
  const all = await stage()
  const count = { sent: 0, refused: 0 }
  for (const from of PROTOCOLS) {
    for (const [suffix, [, fields]] of Object.entries(VARIANTS)) {
      const odd = fields === undefined ? ODD[from].map(members => `{${members}}`) : []
      const samples = samplesOf(from, fields ?? (Object.keys(FIELDS) as Field[]))
      for (const to of PROTOCOLS) {
        // What is relayed is not encoded.
        const texts = from === to ? [...samples.slice(0, 5), ...odd] : [...samples, ...odd]
        await t.test(`${from} → ${to}${suffix}`, async t => {
          for (const [index, text] of texts.entries()) {
            const asked = requestTo(from, to + suffix, text, index % 2 === 1)
            const facts = await served(all, asked)
            t.same(explained(all, asked), facts, asked.join(' '))
            count[facts.error === undefined ? 'sent' : 'refused']++
          }
        })
      }
    }
  }
  console.log(`# MEASURED: ${count.sent} requests sent, ${count.refused} refused`)
  t.ok(count.sent > 1000 && count.refused > 90, 'both happen')
})

/** The bodies of counts are those of the requests that are counted. */
const COUNTS: Readonly<Partial<Record<Protocol, (model: string, text: string) => Asked>>> = {
  responses: (model, text) => [`${PATHS.responses}/input_tokens`, `{"model":"${model}",${text.slice(1)}`],
  messages: (model, text) => [`${PATHS.messages}/count_tokens`, `{"model":"${model}",${text.slice(1)}`],
  generate: (model, text) => [
    `/v1beta/models/${model}:countTokens`,
    `{"generateContentRequest":{"model":"models/${model}",${text.slice(1)}}`,
  ],
}

t.test('the same of counts of tokens', async t => {
  const all = await stage()
  for (const [from, request] of Object.entries(COUNTS)) {
    const fields: Field[] = [
      'system',
      'turns',
      'imageData',
      'imageUrl',
      'tools',
      'calls',
      'hostedOther',
      'cacheMarks',
      'seed',
    ]
    const odd = ODD[from as Protocol].map(members => `{${members.replace('"max_tokens":9,', '')}}`)
    for (const to of PROTOCOLS) {
      for (const text of [
        ...samplesOf(from as Protocol, fields).map(one => one.replace(/"max_tokens":\d+,?/, '')),
        ...odd,
      ]) {
        const asked = request(to, text)
        t.same(explained(all, asked), await served(all, asked), `${to} ${asked.join(' ')}`)
      }
    }
  }
})

t.test('the same of queries, which upstreams of other protocols do not get', async t => {
  const all = await stage()
  for (const from of PROTOCOLS) {
    for (const to of PROTOCOLS) {
      const [path, body] = requestTo(from, to, `{${ODD[from][0]}}`, true)
      const asked: Asked = [`${path}${path.includes('?') ? '&' : '?'}beta=true&trace=1`, body]
      t.same(explained(all, asked), await served(all, asked), `${to} ${asked.join(' ')}`)
    }
  }
})

proveNoLeak(t)
