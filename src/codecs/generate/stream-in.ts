import { createHash, randomUUID } from 'node:crypto'
import type { Frame, StreamDecoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { parseExact } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, TextEvent, TextResult } from '../../core/text.js'
import { Fold } from '../fold.js'
import { MADE_UP } from '../made-ids.js'
import { errorOf, streamError } from '../native-errors.js'
import { badUpstream, latest, numberOf, objectOf, stringOf, truncated } from '../read.js'
import { CandidateIn, candidatesOf } from './candidate-in.js'
import { blockedEnd } from './ends.js'
import { tierIn, USAGE_MEMBERS, usageIn } from './usage.js'

/** Most candidates of one answer. */
const MAX_CANDIDATES = 64

/** Every document of an answer has one of these members. */
const MARKS = ['candidates', 'promptFeedback', 'usageMetadata', 'responseId', 'modelVersion'] as const

/**
 * Reads an answer from its documents: one, or those of a stream, each with what is new. Each one's usage counts from
 * the beginning. No document is marked as the last one: the answer is complete if every candidate has its
 * `finishReason`, or the prompt was refused, when the transfer ends.
 */
export class StreamIn implements StreamDecoder {
  /** Whether there is one document only: then what is missing in it does not come later. */
  readonly #whole: boolean
  readonly #candidates = new Map<number, CandidateIn>()
  readonly #ids = new Set<string>()
  #state: 'empty' | 'open' | 'over' = 'empty'
  /** How the answer ended where the prompt was refused. */
  #blocked: End | undefined
  #usage: JsonObject | undefined
  /** The part of made-up ids that tells answers from each other. */
  #key = ''
  #calls = 0

  constructor(whole = false) {
    this.#whole = whole
  }

  push({ data }: Frame): readonly TextEvent[] {
    if (this.#state === 'over') return []
    let document: Json
    try {
      document = parseExact(data)
    } catch {
      return this.fail(badUpstream('A message of its stream is not JSON.'), [])
    }
    return this.document(document)
  }

  /** Takes a document that is parsed already. */
  document(document: Json): readonly TextEvent[] {
    const out: TextEvent[] = []
    if (this.#state === 'over') return out
    try {
      // A stream that is one array may come in pieces of the array.
      if (Array.isArray(document)) for (const each of document as readonly Json[]) this.take(each, out)
      else this.take(document, out)
      return out
    } catch (cause) {
      return this.fail(cause instanceof GatewayError ? cause : badUpstream('Its parts are not valid.'), out)
    }
  }

  end(): readonly TextEvent[] {
    if (this.#state === 'over') return []
    const out: TextEvent[] = []
    const candidates = [...this.#candidates].sort(([a], [b]) => a - b)
    for (const [candidate, state] of candidates) {
      state.close(out)
      const end =
        state.end ?? (this.#whole ? { reason: state.called ? ('tool' as const) : ('other' as const) } : undefined)
      if (end !== undefined) out.push({ type: 'end', candidate, end })
      else return this.fail(truncated(), [])
    }
    if (candidates.length === 0) {
      if (this.#blocked === undefined) return this.fail(this.#whole ? badUpstream(NO_ANSWER) : truncated(), [])
      out.push({ type: 'end', candidate: 0, end: this.#blocked })
    }
    const usage = usageIn(this.#usage)
    const serviceTier = tierIn(this.#usage)
    this.#state = 'over'
    out.push({
      type: 'finish',
      ...(usage !== undefined && { usage }),
      ...(serviceTier !== undefined && { serviceTier }),
    })
    return out
  }

  private take(document: Json, out: TextEvent[]): void {
    if (!isObject(document)) throw badUpstream('A document of it is not an object.')
    const error = errorOf(document)
    if (error !== undefined) throw streamError(error)
    if (!MARKS.some(mark => document[mark] !== undefined)) throw badUpstream('A document of it is not an answer.')
    const usage = objectOf(document.usageMetadata)
    // Each document may omit what an earlier one has sent.
    if (usage !== undefined) this.#usage = latest(USAGE_MEMBERS, this.#usage ?? {}, usage)
    if (this.#state === 'empty') this.start(document, out)
    const candidates = candidatesOf(document)
    for (let i = 0; i < candidates.length; i++) {
      const value = objectOf(candidates[i])
      if (value === undefined) throw badUpstream('A candidate is not an object.')
      this.candidate(value.index ?? i).push(value, this.#whole, out)
    }
    const feedback = objectOf(document.promptFeedback)
    const reason = stringOf(feedback?.blockReason)
    if (reason !== undefined) this.#blocked = blockedEnd(reason, feedback?.blockReasonMessage)
  }

  private start(document: JsonObject, out: TextEvent[]): void {
    const id = stringOf(document.responseId) ?? ''
    const model = stringOf(document.modelVersion) ?? ''
    const usage = usageIn(this.#usage)
    this.#state = 'open'
    this.#key = keyOf(id)
    out.push({ type: 'start', id, model, ...(usage !== undefined && { usage }) })
  }

  private candidate(place: Json): CandidateIn {
    const index = numberOf(place)
    if (index === undefined || !Number.isInteger(index) || index < 0 || index >= MAX_CANDIDATES) {
      throw badUpstream('A candidate has no place.')
    }
    let candidate = this.#candidates.get(index)
    if (candidate === undefined) {
      candidate = new CandidateIn(index, this.callId)
      this.#candidates.set(index, candidate)
    }
    return candidate
  }

  private readonly callId = (given: string | undefined): string => {
    const n = this.#calls++
    const id = given === undefined || given === '' || this.#ids.has(given) ? `${MADE_UP}${this.#key}_${n}` : given
    this.#ids.add(id)
    return id
  }

  private fail(error: GatewayError, out: TextEvent[]): readonly TextEvent[] {
    this.#state = 'over'
    out.push({ type: 'error', error })
    return out
  }
}

const NO_ANSWER = 'It has no candidate.'

/** Ids of calls go to protocols that take few letters and no more than 40 of them. */
const MAX_KEY_CHARS = 24

/** Out of the answer's own id, so that the same answer gives the same ids of calls. */
function keyOf(id: string): string {
  if (id === '') return randomUUID().replaceAll('-', '').slice(0, MAX_KEY_CHARS)
  if (id.length <= MAX_KEY_CHARS && /^[A-Za-z0-9_-]+$/.test(id)) return id
  return createHash('sha256').update(id).digest('hex').slice(0, MAX_KEY_CHARS)
}

/** A whole answer: what a stream of this one document comes to. Throws `bad_upstream_response` where it is not one. */
export function decodeResult(body: Json): TextResult {
  const stream = new StreamIn(true)
  const sum = new Fold()
  for (const event of stream.document(body)) sum.push(event)
  for (const event of stream.end()) sum.push(event)
  return sum.result()
}
