import t, { type Test } from 'tap'
import { json, stream } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// What is declared under `response` mends answers of an upstream with words of its own, no matter who asks and in any form.

interface Odd {
  readonly speaks: string
  readonly verbs: string
  /** An answer in its words, whole and as events. */
  readonly whole: object
  readonly events: readonly string[]
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const chunk = (delta: object, more: object = {}): string =>
  event({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, ...more }] })
const candidate = (answer: string, more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ answer }] }, ...more }],
})

const ODD = {
  chat: {
    speaks: 'chat: POST /up',
    verbs:
      '[{ rename: { choices.*.delta.answer: choices.*.delta.content, choices.*.message.answer: choices.*.message.content } }, { map: { choices.*.finish_reason: { done: stop } } }]',
    whole: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', answer: 'two words' }, finish_reason: 'done' }],
    },
    events: [
      chunk({ role: 'assistant', answer: 'two ' }),
      chunk({ answer: 'words' }),
      chunk({}, { finish_reason: 'done' }),
      'data: [DONE]\n\n',
    ],
  },
  generate: {
    speaks: 'generate: { call: "POST /up/{model}", stream: "POST /up/{model}/stream" }',
    verbs:
      '[{ rename: { candidates.*.content.parts.*.answer: candidates.*.content.parts.*.text } }, { map: { candidates.*.finishReason: { DONE: STOP } } }]',
    whole: candidate('two words', { finishReason: 'DONE' }),
    events: [event(candidate('two ')), event(candidate('words', { finishReason: 'DONE' }))],
  },
} as const satisfies Readonly<Record<string, Odd>>

const messages = [{ role: 'user', content: 'x' }]
const contents = [{ role: 'user', parts: [{ text: 'x' }] }]

/** What each client asks with, whole and streamed, and where a text of its answers or events stands. */
const CLIENTS: Readonly<Record<string, readonly [path: string, streamed: string, body: object, text: RegExp]>> = {
  chat: ['/v1/chat/completions', '', { model: 'm', messages }, /"content":"([^"]*)"/g],
  responses: ['/v1/responses', '', { model: 'm', store: false, input: 'x' }, /"(?:delta|text)":"([^"]*)"/g],
  messages: ['/v1/messages', '', { model: 'm', max_tokens: 9, messages }, /"text":"([^"]*)"/g],
  generate: [
    '/v1beta/models/m:generateContent',
    '/v1beta/models/m:streamGenerateContent?alt=sse',
    { contents },
    /"text":"([^"]*)"/g,
  ],
  'generate, as one array': [
    '/v1beta/models/m:generateContent',
    '/v1beta/models/m:streamGenerateContent',
    { contents },
    /"text":\s*"([^"]*)"/g,
  ],
}

async function stage(t: Test, { speaks, verbs }: Odd, where: string) {
  const upstream = await startRawUpstream(t)
  const [up, model] =
    where === 'upstream' ? [`, response: ${verbs}`, 'up'] : ['', `{ upstream: up, response: ${verbs} }`]
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { ${speaks} }${up} } }\nmodels: { m: ${model} }\n`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

async function said(gateway: TestGateway, client: string, isStream: boolean): Promise<string> {
  const [path, streamed, body, text] = CLIENTS[client] ?? ['', '', {}, /$^/g]
  const asked = isStream && streamed === '' ? { ...body, stream: true } : body
  const answer = await gateway.request(isStream && streamed !== '' ? streamed : path, { body: asked })
  if (answer.status !== 200) return `${answer.status} ${answer.text}`
  return [...answer.text.replaceAll('": "', '":"').matchAll(text)].map(([, words]) => words).join('')
}

for (const [name, odd] of Object.entries(ODD)) {
  for (const where of ['upstream', 'model']) {
    t.test(`answers of an odd ${name} upstream are mended for every client, by verbs of the ${where}`, async t => {
      const { gateway, upstream } = await stage(t, odd, where)
      for (const client of Object.keys(CLIENTS)) {
        upstream.answer(json(odd.whole))
        t.equal(await said(gateway, client, false), 'two words', `${client}, whole`)
        upstream.answer(stream(odd.events))
        t.match(await said(gateway, client, true), /^two words/, `${client}, streamed`)
      }
    })
  }
}
