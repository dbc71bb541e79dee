import t, { type Test } from 'tap'
import { dataOf, post, type Received, simulator } from '../support.js'

const HELLO = { messages: [{ role: 'user', content: 'Hello' }] }
const CONTENTS = { contents: [{ parts: [{ text: 'Hello' }] }] }

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

interface Streamed {
  readonly title: string
  /** Sends a request for a stream of five tokens with faults. */
  readonly ask: (t: Test, faults: string) => Promise<Received>
  /** Documents of the stream up to its break, broken ones as text. */
  readonly documents: (text: string) => readonly Json[]
  /** How many there are without a fault, and how the last one is known. */
  readonly length: number
  readonly isLast: (document: Json) => boolean
  readonly isError: (document: Json) => boolean
}

function events(text: string): readonly Json[] {
  return dataOf(text.replaceAll('\r', '')).map(parsed)
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The elements of an array that may lack its end. */
function elements(text: string): readonly Json[] {
  if (text === '') return []
  return text
    .replace(/^\[/, '')
    .replace(/\n\]+x*$/, '')
    .split('\n,\r\n')
    .map(parsed)
}

async function native(t: Test, faults: string, query: string): Promise<Received> {
  const model = encodeURIComponent(`sim-generate?tokens=5&${faults}`)
  return post(await simulator(t), `/v1beta/models/${model}:streamGenerateContent${query}`, CONTENTS)
}

const isFinished = (document: Json) => document?.candidates?.[0]?.finishReason !== undefined
const isNativeError = (document: Json) => document?.error?.code === 500 && document.error.status === 'INTERNAL'

const PROTOCOLS: readonly Streamed[] = [
  {
    title: 'messages',
    ask: async (t, faults) => {
      const model = `sim-messages?tokens=5&${faults}`
      return post(await simulator(t), '/v1/messages', { ...HELLO, model, max_tokens: 99, stream: true })
    },
    documents: events,
    length: 11,
    isLast: ({ type }) => type === 'message_stop',
    isError: ({ type, error }) => type === 'error' && error.type === 'api_error',
  },
  {
    title: 'generate, as events',
    ask: (t, faults) => native(t, faults, '?alt=sse'),
    documents: events,
    length: 6,
    isLast: isFinished,
    isError: isNativeError,
  },
  {
    title: 'generate, as an array',
    ask: (t, faults) => native(t, faults, ''),
    documents: elements,
    length: 6,
    isLast: isFinished,
    isError: isNativeError,
  },
]

for (const { title, ask, documents, length, isLast, isError } of PROTOCOLS) {
  t.test(`${title}: without a fault it comes to its end`, async t => {
    const found = documents((await ask(t, '')).text)
    t.equal(found.length, length)
    t.ok(isLast(found.at(-1)))
  })

  t.test(`${title}: cut at every place`, async t => {
    for (let at = 0; at < length; at += 1) {
      for (const fault of ['cut-after', 'reset-after']) {
        const answer = await ask(t, `${fault}=${at}`)
        t.ok(answer.broken, `${fault}=${at}`)
        t.equal(documents(answer.text).length, at)
        t.notOk(documents(answer.text).some(isLast))
      }
    }
  })

  t.test(`${title}: ended properly at every place, without what ends it`, async t => {
    for (let at = 1; at < length; at += 1) {
      const answer = await ask(t, `fin-after=${at}`)
      t.notOk(answer.broken)
      t.equal(documents(answer.text).length, at)
    }
    const empty = await ask(t, 'fin-after=0')
    t.match(empty, { status: 200, text: '', broken: undefined })
  })

  t.test(`${title}: an error at every place, in the family's own shape`, async t => {
    for (let at = 0; at < length; at += 1) {
      const found = documents((await ask(t, `error-after=${at}`)).text)
      t.equal(found.length, at + 1)
      t.ok(isError(found.at(-1)), JSON.stringify(found.at(-1)))
    }
  })

  t.test(`${title}: malformed: the second document breaks off`, async t => {
    const found = documents((await ask(t, 'malformed')).text)
    t.type(found[1], 'string')
  })

  t.test(`${title}: no-terminator and double-done`, async t => {
    const open = documents((await ask(t, 'no-terminator')).text)
    t.equal(open.length, length - 1)
    t.notOk(open.some(isLast))
    const twice = documents((await ask(t, 'double-done')).text)
    t.ok(twice.length >= length)
    t.notOk((await ask(t, 'double-done')).broken)
  })

  t.test(`${title}: big-line, trailing, split and gzip leave the rest as it is`, async t => {
    const big = documents((await ask(t, 'big-line=100KiB')).text)
    t.equal(big.length, length + 1)
    t.equal(big[1].padding.length, 102_400)
    const plain = await ask(t, '')
    t.equal((await ask(t, 'trailing=3')).text, `${plain.text}xxx`)
    t.equal((await ask(t, 'split=7')).text, plain.text)
    t.match(await ask(t, 'encoding=gzip'), { headers: { 'content-encoding': 'gzip' } })
  })

  t.test(`${title}: usage that is left out or spoiled`, async t => {
    t.notMatch((await ask(t, 'usage=none')).text, /"(input_tokens|promptTokenCount)"/)
    t.match((await ask(t, 'usage=negative')).text, /"(input_tokens|promptTokenCount)": ?-/)
  })
}

t.test('comments and pings keep to the form of their stream', async t => {
  t.match((await native(t, 'comments=1', '?alt=sse')).text, /^: a comment\n\ndata: /)
  const array = await native(t, 'comments=1', '')
  t.type(JSON.parse(array.text), Array)
})

t.test('framing: the native stream in other lines than its own', async t => {
  const lines = await native(t, 'framing=no-space', '?alt=sse')
  t.match(lines.text, /^data:\{.*\}\n\ndata:/)
})

t.test('a status, and what comes instead of an answer, in each family', async t => {
  const upstream = await simulator(t)
  for (const path of ['/v1/messages', '/v1beta/models/sim-generate:generateContent']) {
    const ask = (fault: string) => post(upstream, path, { ...HELLO, ...CONTENTS }, { 'x-simulate': fault })
    t.match(await ask('status=503'), { status: 503, headers: { 'content-type': 'application/json' } })
    t.match(await ask('html'), { status: 200, text: /<html>/ })
    t.match(await ask('empty'), { status: 200, text: '' })
  }
  const quoted = await post(upstream, '/v1/messages', {}, { 'x-simulate': 'status=401 echo-key', 'x-api-key': 'a key' })
  t.match(JSON.parse(quoted.text).error.message, 'a key')
})
