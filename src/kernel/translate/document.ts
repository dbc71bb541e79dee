import { unfold } from '../../codecs/fold.js'
import { OPEN_BRACE, SPACE } from '../../core/ascii.js'
import type { Frame } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import type { Json } from '../../core/json.js'
import type { TextResult } from '../../core/text.js'
import type { Transform } from '../../core/transform.js'
import type { Translated, TranslatedBody, Translator } from '../../translate/translator.js'
import { asBuffer } from '../../wire/bytes.js'
import { contentType, FrameWriter } from '../../wire/framing.js'
import { PassingUsage, usageOf } from '../../wire/usage.js'
import { answerDocument, answerLease, malformedAnswer, reserveAnswer } from '../answer-document.js'
import type { MemoryLease } from '../memory.js'
import { endDrained } from '../relay/error-document.js'
import { framingOf } from '../relay/framing.js'
import type { Relay, Source } from '../relay/relay.js'
import { type ClientStream, conditionOf } from './client-stream.js'
import { embeddedCost } from './embedded.js'
import { hooksOf } from './hooks.js'
import { mapUpstreamError } from './map-upstream-error.js'
import { isLarge, joined, jsonBytes, yieldToEventLoop } from './steps.js'

const EMPTY = Buffer.alloc(0)

/**
 * Sends an upstream's whole JSON answer in the client's protocol: as a document, or as a stream if the
 * client asked for one and the upstream did not send it.
 */
export class TranslatedDocument implements Relay {
  readonly #attempt: Source
  readonly #translator: Translator
  readonly #headers: string[]
  readonly #stream: ClientStream | undefined
  #chunks: Buffer[] = []
  #size = 0
  #given = false

  constructor(attempt: Source, translator: Translator, headers: string[], stream: ClientStream | undefined) {
    this.#attempt = attempt
    this.#translator = translator
    this.#headers = headers
    this.#stream = stream
  }

  data(chunk: Buffer): void {
    if (this.#given) return
    this.#attempt.content()
    this.#size += chunk.length
    this.#chunks.push(chunk)
    if (this.#size <= this.#attempt.route.limits.response) return
    this.#given = true
    this.#chunks.length = 0
    this.#attempt.failed('bad_response', malformedAnswer('It is too large to be translated.', 'response'))
  }

  end(): void {
    if (this.#given) return
    this.#given = true
    if (this.#attempt.isDraining) {
      this.settle()
      endDrained(this.#attempt, this.#chunks)
      return
    }
    this.translate().catch((cause: unknown) => {
      if (!(cause instanceof GatewayError) || cause.code === 'unavailable') this.#attempt.call.fail(cause)
      else this.#attempt.failed(conditionOf(cause), mapUpstreamError(cause, this.#attempt, this.#headers))
    })
  }

  broken(_error: GatewayError): boolean {
    return false
  }

  /** Reads the usage even if the client leaves while its answer is being translated. */
  settle(): void {
    const paths = this.#attempt.exchange.translation?.usage
    if (!this.#given || paths === undefined || this.#attempt.usage !== undefined) return
    const passing = new PassingUsage(paths)
    for (const chunk of this.#chunks) passing.push(chunk)
    this.#attempt.usage = passing.usage()
  }

  private async translate(): Promise<void> {
    const memory = answerLease(this.#attempt)
    try {
      const document = await this.read(memory)
      this.#chunks = []
      // The upstream bills it, even if the answer cannot be sent.
      this.count(document)
      const others = await documentsOf(this.#attempt, this.#translator, memory)
      this.#attempt.call.cancellation.throwIfCancelled()
      await this.show(document, others, memory)
    } finally {
      memory.end()
    }
  }

  private count(document: Json): void {
    const paths = this.#attempt.exchange.translation?.usage
    if (paths !== undefined) this.#attempt.usage = usageOf(document, paths)
  }

  /** The document, with the declared changes of JSON answers. */
  private async read(memory: MemoryLease): Promise<Json> {
    const body = this.#chunks.length === 1 ? this.#chunks[0] : await joined(this.#chunks, this.#size)
    this.#chunks = body === undefined ? [] : [body]
    const attempt = this.#attempt
    // Numbers in a text answer's arguments keep their digits; for other answers, such as vectors, doubles are enough.
    const exact = this.#translator.text !== undefined
    return answerDocument(changed(body ?? EMPTY, attempt.exchange.response), attempt, memory, exact)
  }

  private async show(document: Json, others: readonly Json[], memory: MemoryLease): Promise<void> {
    await yieldToEventLoop(this.#size)
    const { text } = this.#translator
    const result = text?.result(document)
    if (result !== undefined && isLarge(this.#size)) await this.reserveEmbedded(result, memory)
    if (this.#stream !== undefined && result !== undefined) {
      for (const event of unfold(result)) this.#stream.event(event)
      this.#stream.flush()
      return
    }
    const translated =
      text !== undefined && result !== undefined ? text.show(result) : this.#translator.document(document, others)
    await send(this.#attempt, this.#translator, translated, this.#headers, this.#size)
  }

  /** Reserves memory for the JSON inside strings of the answer's calls. */
  private async reserveEmbedded({ candidates }: TextResult, memory: MemoryLease): Promise<void> {
    const { route } = this.#attempt
    const { values, heap } = await embeddedCost(
      candidates.map(({ parts }) => parts),
      route.limits.values,
    )
    if (values > route.limits.values) throw malformedAnswer('It has too many values.', 'values')
    await reserveAnswer(memory, heap)
  }
}

/** Only objects are changed; the parser reports bodies that are not JSON. */
function changed(body: Buffer, change: Transform | undefined): Buffer {
  if (change === undefined || body.find(byte => byte > SPACE) !== OPEN_BRACE) return body
  try {
    return asBuffer(change(body))
  } catch (cause) {
    throw malformedAnswer('It is not JSON.', undefined, cause)
  }
}

/** The answers to the other calls of a request that takes several. */
async function documentsOf(
  { route, exchange }: Answering,
  { others }: Translator,
  memory: MemoryLease,
): Promise<readonly Json[]> {
  const documents: Json[] = []
  for (const { body } of (await others?.answers()) ?? []) {
    try {
      documents.push(await answerDocument(changed(body, exchange.response), { route }, memory))
    } catch (cause) {
      // A call with an invalid answer has failed: its part is missing.
      if (!(cause instanceof GatewayError) || cause.code !== 'bad_upstream_response') throw cause
    }
  }
  return documents
}

/** Answers with the results of a request's other calls, if the first one failed. False: they have none. */
export async function sendOthers(attempt: Answering, translator: Translator): Promise<boolean> {
  const memory = answerLease(attempt)
  try {
    const [first, ...rest] = await documentsOf(attempt, translator, memory)
    const { call } = attempt
    if (first === undefined) return false
    call.cancellation.throwIfCancelled()
    await send(attempt, translator, translator.document(first, rest), [], 0)
    return true
  } catch (cause) {
    // All of them failed: report why the first one did.
    if (cause instanceof GatewayError && cause.code !== 'unavailable') return false
    throw cause
  } finally {
    memory.end()
  }
}

/** The parts of an attempt that sending an answer needs. */
// The usage of a request's other calls is counted by themselves, although the answer's usage includes it.
type Answering = Pick<Source, 'call' | 'route' | 'exchange' | 'usage' | 'write' | 'complete'>

async function send(
  attempt: Answering,
  translator: Translator,
  translated: Translated,
  headers: string[],
  size: number,
): Promise<void> {
  if ('body' in translated) return sendDocument(attempt, translator, translated, headers, size)
  if (translator.others === undefined) attempt.usage = translated.usage
  if ('frames' in translated) sendFrames(attempt, translator, translated.frames, headers)
  else sendWhole(attempt, translator, translated.content, headers)
}

/** `size` is that of the upstream's document, in bytes. */
export async function sendDocument(
  attempt: Answering,
  translator: Translator,
  { body, usage }: TranslatedBody,
  headers: string[],
  size: number,
): Promise<void> {
  const { call } = attempt
  await translator.text?.remember(call.kernel.sealMemory, call.caller?.name)
  await yieldToEventLoop(size)
  const document = (await hooksOf(call).onAnswer?.(body)) ?? body
  // A string is sent with the head in one write; a buffer would need a second one.
  const bytes = isLarge(size) ? await jsonBytes(document, size) : jsonText(document)
  if (translator.others === undefined) attempt.usage = usage
  sendWhole(attempt, translator, { type: 'application/json', bytes }, headers)
}

function sendWhole(
  attempt: Answering,
  translator: Translator,
  { type, bytes }: { readonly type: string; readonly bytes: string | Uint8Array },
  headers: string[],
): void {
  const { call } = attempt
  const length = Buffer.byteLength(bytes)
  attempt.complete(true, length)
  headers.push('content-type', type, ...translator.losses.headers())
  headers.push('content-length', String(length))
  call.begin(200, headers)
  call.end(bytes)
}

/** Sends a stream whose events are all known. */
function sendFrames(attempt: Answering, translator: Translator, frames: readonly Frame[], headers: string[]): void {
  const { call, route } = attempt
  const framing = framingOf(call, route.framing)
  call.tally.events += frames.length
  headers.push('content-type', contentType(framing), 'cache-control', 'no-cache', ...translator.losses.headers())
  call.begin(200, headers)
  const writer = new FrameWriter(framing)
  for (const frame of frames) {
    writer.add(frame)
    attempt.write(writer.take())
  }
  writer.close()
  if (!writer.isEmpty) attempt.write(writer.take())
  attempt.complete(true)
  call.end()
}
