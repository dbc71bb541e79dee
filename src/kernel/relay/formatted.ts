import { GatewayError } from '../../core/errors.js'
import { headersWithout } from '../../core/header-list.js'
import { type Json, parseJson } from '../../core/json.js'
import type { AnswerFormat } from '../../core/shape.js'
import { bytesOfBase64, bytesOfHex } from '../../wire/base64.js'
import { asBuffer } from '../../wire/bytes.js'
import { findValue, parsePath } from '../../wire/json-edit.js'
import { usageOf } from '../../wire/usage.js'
import { answerDocument, answerLease, malformedAnswer, reserveAnswer } from '../answer-document.js'
import type { Body } from '../body.js'
import type { Call } from '../call.js'
import type { MemoryLease } from '../memory.js'
import { OF_BYTES } from '../response-headers.js'
import { joined, yieldToEventLoop } from '../translate/steps.js'
import type { Relay, Source } from './relay.js'

/** Bytes of memory for each byte that becomes base64: the text, and the document that has it. */
const COST_OF_BASE64 = 3

type BytesFormat = Extract<AnswerFormat, { readonly bytes: string }>

/** Relays a whole answer in another format: base64 or hexadecimal text in JSON as bytes, or bytes as base64 in JSON. */
export class FormattedRelay implements Relay {
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: readonly string[]
  readonly #format: AnswerFormat
  #chunks: Buffer[] = []
  #size = 0

  constructor(attempt: Source, status: number, headers: readonly string[], format: AnswerFormat) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
    this.#format = format
  }

  data(chunk: Buffer): void {
    const attempt = this.#attempt
    attempt.content()
    if (attempt.isDraining) return
    this.#size += chunk.length
    this.#chunks.push(chunk)
    if (this.#size <= attempt.route.limits.response) return
    this.#chunks = []
    attempt.failed('bad_response', malformedAnswer('It is too large to be rewritten.', 'response'))
  }

  end(): void {
    if (this.#attempt.isDraining) this.#attempt.complete(true)
    else this.#send().catch((cause: unknown) => this.#fail(cause))
  }

  broken(): boolean {
    return false
  }

  settle(): void {}

  async #send(): Promise<void> {
    const { call } = this.#attempt
    const memory = answerLease(this.#attempt)
    try {
      const body = await joined(this.#chunks, this.#size)
      this.#chunks = []
      const format = this.#format
      const isBytes = format.bytes !== undefined
      const made = isBytes ? await this.#bytes(format, body, memory) : await this.#json(format.base64, body, memory)
      const headers = headersWithout(this.#headers, name => OF_BYTES.has(name))
      headers.push(
        'content-type',
        isBytes ? typeFor(format, call) : 'application/json',
        'content-length',
        String(made.length),
      )
      call.cancellation.throwIfCancelled()
      this.#attempt.complete(true, made.length)
      call.begin(this.#status, headers)
      call.end(made)
    } finally {
      memory.end()
    }
  }

  /** What the base64 or hexadecimal text at a path of the rewritten answer holds. */
  async #bytes({ bytes: path, encoding = 'base64' }: BytesFormat, body: Buffer, memory: MemoryLease): Promise<Buffer> {
    const { route } = this.#attempt
    const document = await answerDocument(body, this.#attempt, memory)
    if (route.protocol?.usage !== undefined) this.#attempt.usage = usageOf(document, route.protocol.usage)
    const changed = this.#rewritten(body)
    await yieldToEventLoop(changed.length)
    const found = findValue(changed, parsePath(path))
    const value: Json | undefined = found && parseJson(changed.toString('utf8', found.start, found.end))
    const read = encoding === 'hex' ? bytesOfHex : bytesOfBase64
    const bytes = typeof value === 'string' ? read(value) : undefined
    if (bytes === undefined) throw malformedAnswer(`It has no ${encoding} at ${path}.`)
    return bytes
  }

  /** A JSON object with the answer as base64, as verbs leave it. */
  async #json(member: string, body: Buffer, memory: MemoryLease): Promise<Buffer> {
    if (body.length === 0) throw malformedAnswer('It is empty.')
    await reserveAnswer(memory, COST_OF_BASE64 * body.length)
    const text = body.toString('base64')
    await yieldToEventLoop(body.length)
    return this.#rewritten(Buffer.from(`{${JSON.stringify(member)}:"${text}"}`))
  }

  #rewritten(body: Buffer): Buffer {
    try {
      return asBuffer(this.#attempt.exchange.response?.(body) ?? body)
    } catch (cause) {
      throw malformedAnswer('It is not a JSON object.', undefined, cause)
    }
  }

  #fail(cause: unknown): void {
    if (cause instanceof GatewayError && cause.code === 'bad_upstream_response') {
      this.#attempt.failed('bad_response', cause)
    } else this.#attempt.call.fail(cause)
  }
}

/** The content type that the client's request asks for, of those that are declared. */
function typeFor({ type, types = {} }: BytesFormat, { body }: Call): string {
  for (const [member, known] of Object.entries(types)) {
    const value = valueIn(body, member)
    if (typeof value === 'string' && Object.hasOwn(known, value)) return known[value] ?? type
  }
  return type
}

/** A top-level member of a client's JSON, or a field of its form. */
function valueIn(body: Body, member: string): Json | undefined {
  if (body.type === 'form') return body.value(member)
  const found = body.type === 'bytes' ? findValue(body.bytes, [member]) : undefined
  return body.type === 'bytes' && found ? parseJson(body.bytes.toString('utf8', found.start, found.end)) : undefined
}
