import { PICTURE_TOKENS, picture } from '../../image/picture.js'
import { parseJson } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { Seed } from '../../seed.js'
import type { CallPart, Citation, ReplyPart, TextPart, TextReply } from '../../text/conversation.js'
import { lastUserText } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { logprobOf, tokenize } from '../../text/tokens.js'
import { type PromptTokens, promptTokens } from '../../text/usage.js'
import type { GenerateRequest } from './request.js'
import { signatureOf } from './signatures.js'
import { spoken } from './sound.js'
import type { Spent } from './usage.js'

/** Everything that one request is answered with. No candidates where the prompt is blocked. */
export interface Generated {
  readonly id: string
  readonly model: string
  readonly prompt: PromptTokens
  readonly candidates: readonly Candidate[]
}

export interface Candidate {
  readonly index: number
  readonly pieces: readonly Piece[]
  readonly finish: string
  /** What the end of a text is signed with, where it is. */
  readonly signature: string | undefined
  /** Members that the last chunk has besides. */
  readonly more: object
}

/** A part of the answer as it is sent at once, and what it cost; without a part it is only thought. */
interface Piece {
  readonly part: PieceOfPart | undefined
  readonly spent: Spent
}

export type PieceOfPart =
  | { readonly text: string; readonly thought?: true }
  | { readonly functionCall: object; readonly thoughtSignature?: string }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }

const FINISHES = { stop: 'STOP', length: 'MAX_TOKENS', calls: 'STOP', refusal: 'SAFETY', blocked: 'SAFETY' } as const
const DANGEROUS = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }

/** Answers a request: the same for the whole answer and for its stream. */
export function generate(request: GenerateRequest, call: Call): Generated {
  const { text, n, transcript } = request
  const replies = Array.from({ length: n }, (_, index) => {
    const seed = text.seed.fork('choice', index)
    return { index, seed, reply: transcript === undefined ? compose({ ...text, seed }) : written(transcript) }
  })
  const blocked = replies.some(({ reply }) => reply.finish === 'blocked')
  return {
    id: call.seed.fork('id').letters(22),
    model: request.model,
    prompt: promptTokens(text),
    candidates: blocked ? [] : replies.map(({ index, seed, reply }) => candidate(request, reply, index, seed, call)),
  }
}

function candidate(request: GenerateRequest, reply: TextReply, index: number, seed: Seed, call: Call): Candidate {
  const { thinking, logprobs, image } = request
  const text = reply.parts.find(part => part.type === 'text')
  const refused = reply.finish === 'refusal'
  return {
    index,
    pieces: [...piecesOf(reply, request, seed, call), ...drawn(request, reply, seed), ...said(request, reply)],
    finish: image !== undefined && refused ? 'IMAGE_SAFETY' : FINISHES[reply.finish],
    signature: thinking && text !== undefined && text.tokens.length > 0 ? signatureOf() : undefined,
    more: {
      ...(refused ? { safetyRatings: [DANGEROUS] } : {}),
      ...(text?.citation === undefined ? {} : { groundingMetadata: grounding(text, text.citation) }),
      ...(text === undefined || logprobs === undefined ? {} : logprobsResult(text.tokens, logprobs, seed)),
    },
  }
}

function piecesOf(reply: TextReply, request: GenerateRequest, seed: Seed, { faults }: Call): readonly Piece[] {
  const { showsThoughts, thinking } = request
  const first = reply.parts.findIndex(part => part.type === 'call')
  return reply.parts.flatMap((part, at) => {
    if (part.type === 'text' && (request.image?.words === false || request.voice !== undefined)) return []
    if (part.type !== 'call') return spokenPieces(part, showsThoughts)
    const { name } = part.tool
    const id = faults['call-ids'] ? { id: seed.fork('call', at).letters(16) } : {}
    // Arguments that the limit has cut are none.
    const functionCall = { ...id, name, args: parseJson(part.tokens.join('')) ?? {} }
    const signed = thinking && at === first ? { thoughtSignature: signatureOf(name) } : {}
    return [{ part: { functionCall, ...signed }, spent: { output: part.tokens.length, thoughts: 0 } }]
  })
}

/** The image that was asked for, behind the words. */
function drawn({ text, image }: GenerateRequest, { finish }: TextReply, seed: Seed): readonly Piece[] {
  if (image === undefined || finish !== 'stop') return []
  const data = picture(lastUserText(text.turns), image.pixels, seed.fork('image'))
  return [{ part: { inlineData: { mimeType: 'image/png', data } }, spent: { output: PICTURE_TOKENS, thoughts: 0 } }]
}

/** The text of the last turn, spoken: models of speech say what they are given. */
function said({ text, voice }: GenerateRequest, { finish }: TextReply): readonly Piece[] {
  if (voice === undefined || finish !== 'stop') return []
  const { output, ...inlineData } = spoken(lastUserText(text.turns), voice)
  return [{ part: { inlineData }, spent: { output, thoughts: 0 } }]
}

function written(text: string): TextReply {
  const tokens = tokenize(text)
  return { parts: [{ type: 'text', tokens }], finish: 'stop', stopped: undefined, output: tokens.length, reasoning: 0 }
}

/** A piece for each token; hidden tokens are counted, too. */
function spokenPieces({ type, tokens }: Exclude<ReplyPart, CallPart>, showsThoughts: boolean): readonly Piece[] {
  switch (type) {
    case 'reasoning': {
      const spent = { output: 0, thoughts: 1 }
      return tokens.map(text => ({ part: showsThoughts ? { text, thought: true } : undefined, spent }))
    }
    case 'text':
      return tokens.map(text => ({ part: { text }, spent: { output: 1, thoughts: 0 } }))
    case 'refusal':
      return tokens.map(() => ({ part: undefined, spent: { output: 1, thoughts: 0 } }))
  }
}

/** Places in the text are counted in bytes of UTF-8. */
function grounding({ tokens }: TextPart, { end, url, title }: Citation): object {
  const text = tokens.join('').slice(0, end)
  return {
    webSearchQueries: ['the simulator'],
    groundingChunks: [{ web: { uri: url, title } }],
    groundingSupports: [{ segment: { endIndex: Buffer.byteLength(text), text }, groundingChunkIndices: [0] }],
  }
}

function logprobsResult(tokens: readonly string[], top: number, seed: Seed): object {
  const all = tokens.map((token, at) => logprobOf(token, at, top, seed))
  const sum = all.reduce((total, { logprob }) => total + logprob, 0)
  const write = ({ token, logprob }: { token: string; logprob: number }) => ({ token, logProbability: logprob })
  return {
    avgLogprobs: all.length === 0 ? undefined : sum / all.length,
    logprobsResult: {
      chosenCandidates: all.map(write),
      topCandidates: all.map(({ top_logprobs }) => ({ candidates: top_logprobs.map(write) })),
    },
  }
}
