import type { Test } from 'tap'
import { messagesOf } from './eventstream.js'
import { eventsOf } from './expect.js'
import type { Answer, RequestOptions } from './raw-client.js'

/** The text protocols, as client and upstream protocols of the tests of translation. */
export const PROTOCOLS = ['chat', 'responses', 'messages', 'generate', 'converse'] as const
export type Protocol = (typeof PROTOCOLS)[number]

type Members = Readonly<Record<string, unknown>>

/** How a streamed answer went, in one form for all families. */
export interface Ending {
  readonly text: string
  /** Ends that say that all went well, and ends that say that it did not. */
  readonly good: number
  readonly errors: readonly Failure[]
  /** Whether anything followed the first end. */
  readonly trailing: boolean
}

/** What a client learns of a failure. */
export interface Failure {
  readonly message: string
  /** The family's own word for it: `code`, `type`, `status` or the name of the exception. */
  readonly word: string
  readonly param?: string | null
}

/** A client of one protocol, on bare sockets. */
export interface TextClient {
  /** `generate, ndjson` where a protocol's streams have several framings. */
  readonly name: string
  readonly protocol: Protocol
  path(model: string, stream: boolean): string
  /** A plain request; `more` is added to it. */
  body(model: string, stream: boolean, more?: Members): Members
  headers(key: string): Readonly<Record<string, string>>
  /** The text of a whole answer. */
  text(answer: Pick<Answer, 'json'>): string
  /** Asserts a whole error answer of the family. */
  error(t: Test, answer: Answer, status: number): Failure
  ending(answer: Pick<Answer, 'body'>): Ending
}

/** The options of a request of this client. */
export function asking(client: TextClient, key: string, model: string, stream: boolean, more?: Members) {
  const options: RequestOptions = { headers: client.headers(key), body: client.body(model, stream, more) }
  return [client.path(model, stream), options] as const
}

const chat: TextClient = {
  name: 'chat',
  protocol: 'chat',
  path: () => '/v1/chat/completions',
  body: (model, stream, more) => ({ model, stream, messages: [{ role: 'user', content: 'hello' }], ...more }),
  headers: bearer,
  text: answer => (answer.json() as ChatAnswer).choices[0]?.message.content ?? '',
  error: (t, answer, status) => compatible(t, answer, status),
  ending: ({ body }) => {
    const datas = eventsOf(body.toString()).map(({ data }) => data)
    const documents = datas.map(data => (data === '[DONE]' ? {} : (JSON.parse(data) as ChatChunk)))
    return {
      text: documents.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
      good: datas.filter(data => data === '[DONE]').length,
      errors: documents.flatMap(({ error }) => (error === undefined ? [] : [fromCompatible(error)])),
      trailing: documents.findIndex((document, i) => datas[i] === '[DONE]' || document.error) < datas.length - 1,
    }
  },
}

const responses: TextClient = {
  name: 'responses',
  protocol: 'responses',
  path: () => '/v1/responses',
  body: (model, stream, more) => ({ model, stream, input: 'hello', ...more }),
  headers: bearer,
  text: answer =>
    (answer.json() as ResponsesAnswer).output
      .flatMap(({ content }) => content ?? [])
      .map(({ text }) => text ?? '')
      .join(''),
  error: (t, answer, status) => compatible(t, answer, status),
  ending: ({ body }) => {
    const documents = eventsOf(body.toString()).map(({ data }) => JSON.parse(data) as ResponsesEvent)
    const ends = documents.filter(({ type }) => RESPONSES_ENDS.has(type))
    const told = documents.filter(({ type }) => type === 'error')
    // A failure is reported twice: by an `error`, and by `response.failed` once there is a response.
    const failed = ends.filter(({ type }) => type === 'response.failed')
    const errors = failed.length > 0 ? failed.map(({ response }) => response?.error) : told.map(one => one.error ?? one)
    const first = documents.findIndex(({ type }) => RESPONSES_ENDS.has(type))
    return {
      text: documents.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join(''),
      good: ends.length - failed.length,
      errors: errors.map(error => fromCompatible(told[0]?.error ?? error)),
      trailing: first >= 0 && first < documents.length - 1,
    }
  },
}

const RESPONSES_ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

const messages: TextClient = {
  name: 'messages',
  protocol: 'messages',
  path: () => '/v1/messages',
  body: (model, stream, more) => ({
    model,
    stream,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hello' }],
    ...more,
  }),
  headers: key => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  text: answer => (answer.json() as MessagesAnswer).content.map(({ text }) => text ?? '').join(''),
  error: (t, answer, status) => {
    sound(t, answer, status)
    const { type, error, request_id } = answer.json() as { type: string; error: Inner; request_id: string }
    t.equal(type, 'error')
    t.equal(typeof request_id, 'string')
    t.same(Object.keys(error).sort(), ['message', 'type'])
    return { message: error.message ?? '', word: error.type ?? '' }
  },
  ending: ({ body }) => {
    const events = eventsOf(body.toString())
    const documents = events.map(({ data }) => JSON.parse(data) as MessagesEvent)
    const isEnd = ({ type }: MessagesEvent): boolean => type === 'message_stop' || type === 'error'
    return {
      text: documents.map(({ delta }) => delta?.text ?? '').join(''),
      good: documents.filter(({ type }) => type === 'message_stop').length,
      errors: documents.flatMap(({ type, error }) =>
        type === 'error' ? [{ message: error?.message ?? '', word: error?.type ?? '' }] : [],
      ),
      trailing: documents.findIndex(isEnd) < documents.length - 1,
    }
  },
}

function generate(framing: 'sse' | 'ndjson' | 'array'): TextClient {
  const query = { sse: '?alt=sse', ndjson: '', array: '?alt=json' }[framing]
  return {
    name: `generate, ${framing}`,
    protocol: 'generate',
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? `streamGenerateContent${query}` : 'generateContent'}`,
    body: (_model, _stream, more) => ({ contents: [{ role: 'user', parts: [{ text: 'hello' }] }], ...more }),
    headers: key => ({ 'x-goog-api-key': key }),
    text: answer => textOf(answer.json() as GenerateAnswer),
    error: (t, answer, status) => {
      sound(t, answer, status)
      const { error } = answer.json() as { error: Inner & { status?: string } }
      t.equal(error.code as unknown, status, 'the body repeats the status')
      return { message: error.message ?? '', word: error.status ?? '' }
    },
    ending: ({ body }) => {
      const documents = documentsOf(body.toString(), framing)
      const isEnd = (one: GenerateAnswer): boolean =>
        one.error !== undefined || (one.candidates?.some(({ finishReason }) => finishReason !== undefined) ?? false)
      return {
        text: documents.map(textOf).join(''),
        good: documents.filter(one => one.error === undefined && isEnd(one)).length,
        errors: documents.flatMap(({ error }) =>
          error === undefined ? [] : [{ message: error.message ?? '', word: error.status ?? '' }],
        ),
        trailing: documents.findIndex(isEnd) < documents.length - 1,
      }
    },
  }
}

function documentsOf(text: string, framing: 'sse' | 'ndjson' | 'array'): readonly GenerateAnswer[] {
  switch (framing) {
    case 'sse':
      return eventsOf(text).map(({ data }) => JSON.parse(data) as GenerateAnswer)
    case 'ndjson':
      return text
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as GenerateAnswer)
    case 'array':
      return text === '' ? [] : (JSON.parse(text) as GenerateAnswer[])
  }
}

const converse: TextClient = {
  name: 'converse',
  protocol: 'converse',
  path: (model, stream) => `/model/${encodeURIComponent(model)}/converse${stream ? '-stream' : ''}`,
  body: (_model, _stream, more) => ({ messages: [{ role: 'user', content: [{ text: 'hello' }] }], ...more }),
  headers: bearer,
  text: answer => (answer.json() as ConverseAnswer).output.message.content.map(({ text }) => text ?? '').join(''),
  error: (t, answer, status) => {
    sound(t, answer, status)
    const { __type, ...error } = answer.json() as { __type?: string; message: string }
    // The service itself has the name in a header; the gateway says it in the body.
    t.same(Object.keys(error), ['message'])
    return { message: error.message, word: __type ?? '' }
  },
  ending: ({ body }) => {
    const events = messagesOf(body)
    const isEnd = ({ kind, name }: (typeof events)[number]): boolean => kind !== 'event' || name === 'metadata'
    const failed = events.filter(({ kind }) => kind !== 'event')
    return {
      text: events
        .map(({ name, payload }) => (name === 'contentBlockDelta' ? (payload as ConverseDelta).delta.text : '') ?? '')
        .join(''),
      good: events.filter(one => one.kind === 'event' && isEnd(one)).length,
      // In streams, names of exceptions begin with a small letter.
      errors: failed.map(({ name, payload }) => ({
        message: (payload as Inner).message ?? '',
        word: name.charAt(0).toUpperCase() + name.slice(1),
      })),
      trailing: events.findIndex(isEnd) < events.length - 1,
    }
  },
}

/** Every way in which a client can ask for text. */
export const CLIENTS: readonly TextClient[] = [
  chat,
  responses,
  messages,
  generate('sse'),
  generate('ndjson'),
  generate('array'),
  converse,
]

/** One client a protocol, where framings do not matter. */
export const EACH_CLIENT = [chat, responses, messages, generate('sse'), converse] as const

export function clientOf(protocol: Protocol): TextClient {
  const found = EACH_CLIENT.find(client => client.protocol === protocol)
  if (found === undefined) throw new Error(`no client of ${protocol}`)
  return found
}

function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` }
}

function compatible(t: Test, answer: Answer, status: number): Failure {
  sound(t, answer, status)
  const { error } = answer.json() as { error: Inner }
  t.same(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
  return fromCompatible(error)
}

function fromCompatible(error: Inner | undefined): Failure {
  return { message: error?.message ?? '', word: error?.code ?? error?.type ?? '', param: error?.param ?? null }
}

/** What all error answers have in common. */
function sound(t: Test, answer: Answer, status: number): void {
  t.equal(answer.status, status, `status ${status}: ${answer.text.slice(0, 300)}`)
  t.equal(answer.whole, true, 'the answer is whole')
  t.match(answer.header('content-type'), /^application\/json/)
  t.match(answer.header('x-request-id'), /^[\w.:/+=-]+$/, 'x-request-id is there')
  t.notMatch(answer.text, /127\.0\.0\.|localhost|\.ts:|\.js:|node:|\bat \//, 'no address and no stack')
}

interface Inner {
  readonly message?: string
  readonly type?: string
  readonly param?: string | null
  readonly code?: string | null
}

interface ChatAnswer {
  readonly choices: readonly { readonly message: { readonly content: string | null } }[]
}

interface ChatChunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[]
  readonly error?: Inner
}

interface ResponsesAnswer {
  readonly output: readonly { readonly content?: readonly { readonly text?: string }[] }[]
}

interface ResponsesEvent extends Inner {
  readonly type: string
  readonly delta?: string
  readonly error?: Inner
  readonly response?: { readonly error?: Inner }
}

interface MessagesAnswer {
  readonly content: readonly { readonly text?: string }[]
}

interface MessagesEvent {
  readonly type: string
  readonly delta?: { readonly text?: string }
  readonly error?: Inner
}

interface ConverseAnswer {
  readonly output: { readonly message: { readonly content: readonly { readonly text?: string }[] } }
}

interface ConverseDelta {
  readonly delta: { readonly text?: string }
}

interface GenerateAnswer {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly text?: string }[] }
    readonly finishReason?: string
  }[]
  readonly error?: Inner & { readonly status?: string }
}

function textOf({ candidates }: GenerateAnswer): string {
  return (candidates?.[0]?.content?.parts ?? []).map(({ text }) => text ?? '').join('')
}
