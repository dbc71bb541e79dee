import t from 'tap'
import { moderations } from '../../src/codecs/moderations/index.js'
import { CATEGORIES, memberOf } from '../../src/codecs/moderations/question.js'
import type { TextCodec } from '../../src/core/codec.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import type { Part, TextRequest, TextResult } from '../../src/core/text.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { replaysOrNone } from '../helpers/replay-stage.js'
import { TEXT_CODECS } from './all.js'
import { PNG } from './samples.js'
import { answerTo, brief, plain, targetOf } from './support.js'

/**
 * Every recorded moderation, put to a model of texts by each text protocol: the model is asked what the recording was
 * asked, and where it judges as the recorded upstream did, the client gets the recorded judgement.
 */

interface Judgement {
  readonly flagged: boolean
  readonly categories: Readonly<Record<string, boolean>>
  readonly category_scores: Readonly<Record<string, number>>
}

const replays = (await replaysOrNone()).filter(({ path }) => path === '/v1/moderations')
const skip = replays.length === 0 && 'no recordings here'

t.test('there is something to translate', { skip }, async t => {
  t.ok(replays.length >= 5, `${replays.length} moderations`)
})

/** What the model says that judges so. Older models of the recordings know fewer categories. */
function said({ category_scores: scores }: Judgement): JsonObject {
  return Object.fromEntries(CATEGORIES.map(category => [memberOf(category), scores[category] ?? 0]))
}

for (const codec of TEXT_CODECS) {
  t.test(`judged by ${codec.protocol}`, { skip }, async t => {
    for (const { name, request: body, body: answer } of replays) {
      const request = moderations.server.decodeRequest(body as JsonObject, { model: 'm', stream: false })
      const given = withBytes(request, codec)
      const asked = plain(codec.client.encodeRequest(given, targetOf(codec)))
      for (const content of contentsOf(body.input as Json)) {
        t.ok(holds(asked, given !== request && /^https?:/.test(content) ? PNG : content), `${name}: ${content}`)
      }
      const recorded = (JSON.parse(answer.toString()) as { results: readonly Judgement[] }).results
      const text = JSON.stringify({ results: recorded.map(said) })
      const result: TextResult = {
        ...{ id: '1', model: 'up', candidates: [{ parts: [{ type: 'text', text }], end: { reason: 'stop' } }] },
      }
      const context = answerTo(request, body as JsonObject)
      const heard = codec.client.decodeResult(plain(codec.server.encodeResult(result, context)))
      const told = plain(moderations.server.encodeResult(heard, context)) as unknown as { results: Judgement[] }
      t.equal(told.results.length, recorded.length)
      for (const [i, one] of recorded.entries()) {
        t.equal(told.results[i]?.flagged, one.flagged, name)
        t.match(told.results[i]?.category_scores, one.category_scores, name)
        t.match(told.results[i]?.categories, one.categories, name)
      }
      if (openApiFolder() !== undefined) t.same(openApi('moderations.response')(told), [], brief(told as never))
    }
  })
}

/** The request as the gateway gives it to a protocol that takes no addresses: it fetches these first. */
function withBytes(request: TextRequest, { client }: TextCodec): TextRequest {
  const isFetched = (part: Part): boolean => part.type === 'media' && 'url' in part.source && !client.takesUrl(part, {})
  if (!request.turns.some(({ parts }) => parts.some(isFetched))) return request
  const inline = (part: Part): Part =>
    isFetched(part) ? ({ ...part, mime: 'image/png', source: { base64: PNG } } as Part) : part
  return { ...request, turns: request.turns.map(turn => ({ ...turn, parts: turn.parts.map(inline) })) }
}

/** Texts and addresses that are judged. */
function contentsOf(input: Json): readonly string[] {
  if (typeof input === 'string') return [input]
  return (input as JsonObject[]).map(part => String(part.text ?? (part.image_url as JsonObject).url))
}

/** Whether some string of a document holds a text. */
function holds(value: Json, text: string): boolean {
  if (typeof value === 'string') return value.includes(text)
  return typeof value === 'object' && value !== null && Object.values(value).some(one => holds(one as Json, text))
}
