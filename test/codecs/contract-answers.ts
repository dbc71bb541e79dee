import type { Test } from 'tap'
import { fold, unfold } from '../../src/codecs/fold.js'
import type { TextCodec } from '../../src/core/codec.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import type { Seal, TextResult } from '../../src/core/text.js'
import { type OpenApiName, openApi, openApiFolder } from '../helpers/openapi.js'
import { ANSWERS, sealedAnswers } from './answers.js'
import { assembled, sealsBack, unique } from './next-turn.js'
import { answerTo, brief, decodeAll, encodeAll, faultsOf, type Gist, gistOf, plain, requestOf } from './support.js'

/** Answers, whole and streamed, come back as they were, as far as the encoder does not say what it loses. */
export function answerContract(t: Test, codec: TextCodec): void {
  const all = { ...ANSWERS, ...sealedAnswers(codec.protocol), ...foreign(sealedAnswers('another')) }
  for (const [name, result] of Object.entries(all)) {
    t.test(`an answer: ${name}`, async t => {
      const { back, lost, body } = throughResult(codec, result)
      check(t, `${codec.protocol}.response`, [body])
      survives(t, result, back, lost)
      t.same(sealsBack(codec, body as JsonObject), sealsIn(result), 'seals, in the next turn')
      t.same(gistOf(throughResult(codec, back).back), gistOf(back), 'said once more, it is the same')
    })
    t.test(`a stream: ${name}`, async t => {
      const answer = answerTo(requestOf({ stream: true }))
      const frames = encodeAll(codec, unfold(result), answer)
      check(
        t,
        `${codec.protocol}.event`,
        frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data)),
      )
      const events = decodeAll(codec, frames)
      t.same(faultsOf(events), [], brief(events))
      const streamed = fold(events)
      survives(t, result, streamed, answer.lost)
      t.same(gistOf(streamed), gistOf(throughResult(codec, result).back), 'the stream adds up to the whole answer')
      t.same(streamed.usage, throughResult(codec, result).back.usage)
      const answered = assembled(codec.protocol, frames)
      t.same(sealsBack(codec, answered), sealsIn(result), 'seals, in the next turn')
    })
  }
}

function throughResult(
  codec: TextCodec,
  result: TextResult,
): { back: TextResult; lost: readonly string[]; body: Json } {
  const answer = answerTo(requestOf())
  const body = plain(codec.server.encodeResult(result, answer))
  return { back: codec.client.decodeResult(body), lost: answer.lost, body }
}

function foreign(answers: Readonly<Record<string, TextResult>>): Readonly<Record<string, TextResult>> {
  return Object.fromEntries(Object.entries(answers).map(([name, result]) => [`${name} of another protocol`, result]))
}

/** Text, calls and usage always; the rest where the encoder did not say that it is lost. */
function survives(t: Test, sent: TextResult, got: TextResult, lost: readonly string[]): void {
  const [was, is] = [gistOf(sent), gistOf(got)]
  const several = lost.length > 0 && sent.candidates.length > got.candidates.length
  for (const [i, gist] of (several ? was.slice(0, 1) : was).entries()) {
    t.equal(spoken(is[i]), spoken(gist), 'text and refusal')
    t.same(is[i]?.calls, gist.calls, 'calls')
    // A refusal is said in words, by the reason, or both.
    if (gist.refusal === '') t.equal(reasonOf(is[i]), reasonOf(gist), 'reason')
    if (lost.length === 0) t.same(is[i]?.reasoning, gist.reasoning, 'reasoning')
  }
  if (sent.usage === undefined) return
  const { input, output, cached } = sent.usage
  t.match(got.usage ?? {}, { input, output, ...(cached !== undefined && { cached }) })
}

function sealsIn({ candidates }: TextResult): readonly Seal[] {
  return unique(candidates.flatMap(({ parts }) => parts.flatMap(({ seal }) => seal ?? [])))
}

function spoken(gist: Gist | undefined): string {
  return `${gist?.text}${gist?.refusal}`
}

/** A filter that stepped in is a refusal to some protocols. */
function reasonOf(gist: Gist | undefined): string | undefined {
  return gist?.reason === 'filter' ? 'refusal' : gist?.reason
}

function check(t: Test, name: string, documents: readonly Json[]): void {
  if (openApiFolder() === undefined) return
  for (const document of documents) t.same(openApi(name as OpenApiName)(document), [], brief(document))
}
