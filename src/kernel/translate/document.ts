import { unfold } from '../../codecs/fold.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText, readExact } from '../../core/exact-json.js'
import { isObject, type Json, parseJson } from '../../core/json.js'
import { closing, contentType, encodeFrame } from '../../wire/framing.js'
import { framingOf } from '../relay/framing.js'
import type { Relay, Source } from '../relay/relay.js'
import { type ClientStream, conditionOf } from './client-stream.js'
import { breathe, isLarge, jsonBytes, utf8Text } from './steps.js'
import { toldError } from './told.js'
import type { TranslatedBody, TranslatedBytes, TranslatedFrames, Translator } from './translator.js'

/**
 * Takes an upstream's whole JSON answer and sends it in the client's protocol: as a document, or as a stream where the
 * client asked for one and the upstream did not give it.
 */
export class TranslatedDocument implements Relay {
  readonly #attempt: Source
  readonly #translator: Translator
  readonly #headers: string[]
  readonly #stream: ClientStream | undefined
  readonly #chunks: Buffer[] = []
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
    if (this.#size > this.#attempt.route.limits.response) this.refuse('It is too large to be translated.', 'response')
    else this.#chunks.push(chunk)
  }

  end(): void {
    if (this.#given) return
    this.#given = true
    this.translate().catch((cause: unknown) => {
      if (!(cause instanceof GatewayError)) this.#attempt.call.fail(cause)
      else this.#attempt.failed(conditionOf(cause), toldError(cause, this.#attempt, this.#headers))
    })
  }

  broken(_error: GatewayError): boolean {
    return false
  }

  settle(): void {}

  private async translate(): Promise<void> {
    const [first, ...others] = this.#chunks
    const body = first !== undefined && others.length === 0 ? first : Buffer.concat(this.#chunks)
    const document = this.edited(body, this.read(await utf8Text(body)))
    if (document === undefined) {
      this.refuse(body.length === 0 ? 'It is empty.' : 'It is not JSON.')
      return
    }
    await breathe(this.#size)
    if (this.#stream !== undefined && this.#translator.text !== undefined) {
      for (const event of unfold(this.#translator.text.result(document))) this.#stream.event(event)
      this.#stream.flush()
      return
    }
    const translated = this.#translator.document(document)
    if ('content' in translated) sendBytes(this.#attempt, this.#translator, translated, this.#headers)
    else if ('frames' in translated) sendFrames(this.#attempt, this.#translator, translated, this.#headers)
    else await sendDocument(this.#attempt, this.#translator, translated, this.#headers, this.#size)
  }

  /** With the changes that are declared for JSON answers; they are made of what is JSON. */
  private edited(body: Buffer, document: Json | undefined): Json | undefined {
    const { response } = this.#attempt.exchange
    if (response === undefined || !isObject(document)) return document
    try {
      return this.read(Buffer.from(response(body)).toString('utf8'))
    } catch {
      return undefined
    }
  }

  /** Text holds arguments, whose numbers keep their digits; of vectors and the like nobody wants more than doubles. */
  private read(text: string): Json | undefined {
    return this.#translator.text === undefined ? parseJson(text) : readExact(text)
  }

  private refuse(why: string, limit?: string): void {
    this.#given = true
    const details = limit === undefined ? { phase: 'body' } : { phase: 'body', limit }
    const error = new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${why}`, details)
    this.#attempt.failed('bad_response', error)
  }
}

/** `size` is that of the upstream's document, in bytes. */
export async function sendDocument(
  attempt: Source,
  translator: Translator,
  { body, usage }: TranslatedBody,
  headers: string[],
  size: number,
): Promise<void> {
  const { call } = attempt
  await translator.text?.remember(call)
  await breathe(size)
  const document = (await call.turn?.keep(body)) ?? body
  // A string leaves with the head in one write; a buffer would be a second one.
  const bytes = isLarge(size) ? await jsonBytes(document, size) : jsonText(document)
  if (call.over || call.begun) return
  call.usage = usage
  attempt.complete(true)
  headers.push('content-type', 'application/json', ...translator.losses.headers())
  headers.push('content-length', String(Buffer.byteLength(bytes)))
  call.begin(200, headers)
  call.end(bytes)
}

/** An answer that is no JSON. */
function sendBytes(
  attempt: Source,
  translator: Translator,
  { content: { type, bytes }, usage }: TranslatedBytes,
  headers: string[],
): void {
  const { call } = attempt
  if (call.over || call.begun) return
  call.usage = usage
  attempt.complete(true)
  headers.push('content-type', type, ...translator.losses.headers())
  headers.push('content-length', String(bytes.length))
  call.begin(200, headers)
  call.end(bytes)
}

/** A stream whose events are all there. */
function sendFrames(
  attempt: Source,
  translator: Translator,
  { frames, usage }: TranslatedFrames,
  headers: string[],
): void {
  const { call, route } = attempt
  if (call.over || call.begun) return
  const framing = framingOf(call, route.framing)
  call.usage = usage
  call.events += frames.length
  headers.push('content-type', contentType(framing), 'cache-control', 'no-cache', ...translator.losses.headers())
  call.begin(200, headers)
  for (const [i, frame] of frames.entries()) attempt.write(Buffer.from(encodeFrame(framing, frame, i === 0)))
  const end = closing(framing)
  if (end !== '') attempt.write(Buffer.from(end))
  attempt.complete(true)
  call.end()
}
