import t from 'tap'
import { type Recording, readRecordings, recordingsFile } from '../helpers/recordings.js'
import { dataOf, post, simulator } from './support.js'

const OPERATION = /\/(chat\/completions|completions|embeddings|moderations|responses)$/

/** What a provider keeps between requests and the simulator does not. */
const NEEDS_MEMORY = ['previous_response_id', 'conversation', 'background']

/** Members that providers have, though not in these recordings: seen where they are used, or newer than they are. */
const UNSEEN = [
  /top_logprobs\[\]\./,
  /^responses#response\.incomplete/,
  /^responses#response\.content_part\.done\.part\.logprobs/,
  /^responses#response\.function_call_arguments\.done\.name/,
]

/** What clients put there themselves. */
const CLIENTS_OWN = /\.(arguments|parameters|schema|tools|metadata|format|prompt)\b/

const file = recordingsFile()

t.test('every recorded request that a provider took is taken here too', { skip: file === undefined }, async t => {
  const upstream = await simulator(t)
  let taken = 0
  for await (const { file: name, n, request } of compatible()) {
    const { status, text } = await post(upstream, operationPath(request.url), {
      ...(request.body as object),
      model: 'sim-text',
    })
    if (status === 200) taken += 1
    else if (!NEEDS_MEMORY.includes(JSON.parse(text).error.param)) t.fail(`${name} ${n}: ${text}`)
  }
  t.ok(taken > 500, `${taken} requests`)
})

t.test('every member of an answer is one that a provider has sent', { skip: file === undefined }, async t => {
  const upstream = await simulator(t)
  const seen = new Set<string>()
  const ours = new Set<string>()
  for await (const { request, response } of compatible()) {
    const path = operationPath(request.url)
    const answer = await post(upstream, path, { ...(request.body as object), model: 'sim-text' })
    if (answer.status !== 200) continue
    collect(path.slice('/v1/'.length), answer.text, ours)
    collect(path.slice('/v1/'.length), response.body, seen)
  }
  const novel = [...ours].filter(member => !seen.has(member) && !UNSEEN.some(pattern => pattern.test(member)))
  t.same(novel, [])
})

async function* compatible(): AsyncGenerator<Recording> {
  for await (const recording of readRecordings(file ?? '')) {
    const { provider, request, response } = recording
    const object = typeof request.body === 'object' && request.body !== null
    if (provider === 'openai' && response.status === 200 && object && OPERATION.test(pathOf(request.url)))
      yield recording
  }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}

function operationPath(url: string): string {
  return `/v1/${OPERATION.exec(pathOf(url))?.[1]}`
}

/** The paths of all members of an answer, or of each event of a stream. */
function collect(operation: string, text: string, into: Set<string>): void {
  if (text.startsWith('{')) walk(operation, JSON.parse(text), into)
  const events = dataOf(text).filter(data => data !== '[DONE]')
  for (const event of events.map(data => JSON.parse(data))) walk(`${operation}#${event.type ?? 'chunk'}`, event, into)
}

function walk(path: string, value: unknown, into: Set<string>): void {
  if (CLIENTS_OWN.test(path)) return
  if (Array.isArray(value)) for (const each of value) walk(`${path}[]`, each, into)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      into.add(`${path}.${name}`)
      walk(`${path}.${name}`, member, into)
    }
  }
}
