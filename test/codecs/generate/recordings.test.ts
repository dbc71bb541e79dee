import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { generate } from '../../../src/codecs/generate/index.js'
import { GatewayError } from '../../../src/core/errors.js'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.js'
import type { Part, TextResult } from '../../../src/core/text.js'
import { type TextExchange, textExchanges } from '../../helpers/text-recordings.js'
import { answer, encodeStream, eventsOf, HEAD, target } from './support.js'

const exchanges = (await textExchanges()).filter(({ protocol }) => protocol === 'generate')
const answered = exchanges.filter(({ status, frames, result }) => status === 200 && (frames ?? result) !== undefined)

/** What an answer says, regardless of its form. */
interface Said {
  readonly text: string
  readonly thoughts: string
  readonly calls: readonly [string, unknown][]
  readonly signatures: readonly string[]
  readonly media: number
  readonly hosted: number
  readonly ends: readonly string[]
  readonly usage: { readonly input?: number; readonly output?: number; readonly reasoning?: number }
}

function parts(documents: readonly JsonObject[]): JsonObject[] {
  return candidates(documents).flatMap(({ content }) => list(isObject(content) ? content.parts : undefined))
}

function candidates(documents: readonly JsonObject[]): JsonObject[] {
  return documents.flatMap(document => list(document.candidates))
}

function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Reads the raw documents without the codec. */
function saidRaw(documents: readonly JsonObject[]): Said {
  const all = parts(documents)
  const texts = all.filter(({ text }) => typeof text === 'string')
  const usage = documents.map(({ usageMetadata }) => usageMetadata).filter(isObject)
  // Each document may omit what an earlier one has sent.
  const last: JsonObject = Object.assign({}, ...usage)
  const called = all.some(({ functionCall }) => functionCall !== undefined)
  const hosted = ['executableCode', 'codeExecutionResult', 'functionResponse', 'toolCall', 'toolResponse']
  return {
    text: texts
      .filter(({ thought }) => thought !== true)
      .map(({ text }) => text)
      .join(''),
    thoughts: texts
      .filter(({ thought }) => thought === true)
      .map(({ text }) => text)
      .join(''),
    calls: all
      .map(({ functionCall }) => functionCall)
      .filter(isObject)
      .filter(({ name }) => name !== undefined)
      .map(({ name, args, willContinue, partialArgs }) => {
        const inPieces = willContinue === true || partialArgs !== undefined
        return [String(name), inPieces ? undefined : (args ?? {})]
      }),
    signatures: all.map(({ thoughtSignature }) => thoughtSignature).filter(each => typeof each === 'string'),
    media: all.filter(({ inlineData }) => inlineData !== undefined).length,
    hosted: all.filter(part => hosted.some(name => part[name] !== undefined)).length,
    ends: candidates(documents)
      .map(({ finishReason }) => finishReason)
      .filter(reason => reason !== undefined)
      .map(reason =>
        reason === 'STOP' || reason === 1 ? (called ? 'tool' : 'stop') : (ENDS[String(reason)] ?? 'unknown'),
      )
      .slice(-1),
    usage: {
      input: number(last.promptTokenCount) + number(last.toolUsePromptTokenCount),
      output:
        last.totalTokenCount === undefined
          ? number(last.candidatesTokenCount) + number(last.thoughtsTokenCount)
          : number(last.totalTokenCount) - number(last.promptTokenCount) - number(last.toolUsePromptTokenCount),
      reasoning: number(last.thoughtsTokenCount),
    },
  }
}

const ENDS: Readonly<Record<string, string>> = { MAX_TOKENS: 'length', 2: 'length', UNEXPECTED_TOOL_CALL: 'malformed' }

function number(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0
}

/** Reads what the codec made of them. */
function saidCanonical({ candidates, usage }: TextResult): Said {
  const all = candidates.flatMap(each => each.parts)
  const of = <T extends Part['type']>(type: T) =>
    all.filter((part): part is Extract<Part, { type: T }> => part.type === type)
  return {
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    thoughts: of('reasoning')
      .map(({ text }) => text)
      .join(''),
    calls: of('call').map(({ name, arguments: text }) => [name, JSON.parse(text) as unknown]),
    signatures: all.flatMap(({ seal }) => seal?.value ?? []),
    media: of('media').length,
    hosted: of('hosted').length,
    ends: candidates.map(({ end }) => end.reason).slice(-1),
    usage: { input: usage?.input ?? 0, output: usage?.output ?? 0, reasoning: usage?.reasoning ?? 0 },
  }
}

/** Arguments that come in pieces are not looked at again here: another test does. */
function compared(raw: Said, canonical: Said): readonly [Said, Said] {
  const calls = canonical.calls.map(
    ([name, args], i) => [name, raw.calls[i]?.[1] === undefined ? undefined : args] as [string, unknown],
  )
  return [raw, { ...canonical, calls }]
}

function documentsOf({ frames, result }: TextExchange): JsonObject[] {
  const all = frames === undefined ? [result] : frames.map(({ data }) => JSON.parse(data) as Json)
  return all.flatMap(each => (Array.isArray(each) ? each : [each])).filter(isObject)
}

/** Whether nothing is missing at the end: some were recorded without it, and some continue behind an end. */
function isEnded(documents: readonly JsonObject[]): boolean {
  return candidates(documents).at(-1)?.finishReason !== undefined
}

function decoded({ frames, result }: TextExchange): TextResult {
  return frames === undefined ? generate.client.decodeResult(result ?? null) : fold(eventsOf(frames))
}

/** Ids and detail of the answer, apart from what encoding settles (made-up ids are made again). */
function comparable(result: TextResult): unknown {
  return JSON.parse(
    JSON.stringify(result, (name, value: unknown) =>
      name === 'id' && String(value).startsWith('gwcall_') ? 'made up' : value,
    ),
  )
}

t.test('recorded answers', { skip: exchanges.length === 0 }, async t => {
  t.ok(answered.length > 300, `${answered.length} of ${exchanges.length}`)

  await t.test('say the same when they are decoded', async t => {
    let streams = 0
    for (const exchange of answered) {
      const documents = documentsOf(exchange)
      if (exchange.frames !== undefined && !isEnded(documents)) continue
      if (exchange.frames !== undefined) streams++
      const [raw, canonical] = compared(saidRaw(documents), saidCanonical(decoded(exchange)))
      t.same(canonical, raw, exchange.name)
    }
    t.ok(streams > 40, `${streams} streams`)
  })

  await t.test('that break off are reported so', async t => {
    for (const { name, frames } of answered) {
      if (frames === undefined || frames.length === 0) continue
      const cut = frames.slice(0, -1)
      const isWhole = isEnded(cut.map(({ data }) => JSON.parse(data) as JsonObject))
      const last = eventsOf(cut).at(-1)
      t.equal(last?.type, isWhole ? 'finish' : 'error', name)
      if (last?.type === 'error') t.equal(last.error.code, 'upstream_truncated', name)
    }
  })

  await t.test('come back when they are encoded whole, and as a stream', async t => {
    for (const exchange of answered) {
      const documents = documentsOf(exchange)
      if (!isEnded(documents)) continue
      const result = decoded(exchange)
      const whole = generate.client.decodeResult(generate.server.encodeResult(result, answer()))
      t.same(comparable(whole), comparable(result), exchange.name)
      const streamed = fold(eventsOf(encodeStream(unfold(result))))
      t.same(comparable(streamed), comparable(result), `${exchange.name}, streamed`)
    }
  })

  await t.test('that are refusals have a message', async t => {
    const refused = exchanges.filter(({ status, result }) => status >= 400 && result !== undefined)
    t.ok(refused.length >= 5, String(refused.length))
    for (const { name, status, result } of refused) {
      const error = generate.client.decodeError(status, result)
      t.ok((error.message ?? '').length > 10, name)
    }
  })
})

t.test('recorded requests', { skip: exchanges.length === 0 }, async t => {
  const asked = exchanges.filter(({ status, request }) => status === 200 && request?.contents !== undefined)
  t.ok(asked.length > 300, String(asked.length))
  for (const { name, request = {} } of asked) {
    try {
      // Neighbouring turns of the model become one, and the pieces of its text with them.
      const whole = encodeAgain(encodeAgain(request))
      t.same(encodeAgain(whole), whole, name)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      t.fail(`${name}: ${error.message}`)
    }
  }
})

function encodeAgain(body: JsonObject): JsonObject {
  return generate.client.encodeRequest(generate.server.decodeRequest(body, HEAD), target({ reasoning: 'budget' }))
}
