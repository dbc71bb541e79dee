import { LF } from '../../core/ascii.js'
import { GatewayError } from '../../core/errors.js'
import { headersWithout } from '../../core/header-list.js'
import { parseJson } from '../../core/json.js'
import type { ResultRule } from '../../core/resources.js'
import { RawRelay } from '../../kernel/relay/raw.js'
import type { Relay, Source } from '../../kernel/relay/relay.js'
import { OF_BYTES } from '../../kernel/response-headers.js'
import { next } from '../../wire/bytes.js'
import { findValue } from '../../wire/json-edit.js'
import { apply } from '../../wire/json-splice.js'
import { nameOfResult, type ResultNames } from './result-names.js'

/**
 * Passes the results of a batch on line by line, with the client's own names of models. Everything else is unchanged,
 * byte for byte, including lines that are not JSON. At most one line is in memory, up to the route's
 * `limits.line`.
 */
export class ResultsRelay implements Relay {
  readonly #attempt: Source
  readonly #raw: RawRelay
  readonly #rule: ResultRule
  readonly #names: ResultNames
  /** The pieces of the current, incomplete line. */
  #line: Buffer[] = []
  #size = 0
  #isOver = false

  constructor(attempt: Source, status: number, headers: string[], rule: ResultRule, names: ResultNames) {
    this.#attempt = attempt
    // Validators would describe the upstream's bytes, which are changed here.
    this.#raw = new RawRelay(attempt, status, withoutValidators(headers), undefined)
    this.#rule = rule
    this.#names = names
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    // Counts as progress, even if no line has ended.
    this.#attempt.content()
    const out: Uint8Array[] = []
    let from = 0
    for (let end = next(chunk, LF, 0); end < chunk.length; end = next(chunk, LF, from)) {
      this.append(chunk.subarray(from, end + 1))
      out.push(this.takeBuffered())
      from = end + 1
    }
    if (from < chunk.length) this.append(chunk.subarray(from))
    if (out.length > 0) this.#raw.data(Buffer.concat(out))
    if (this.#size > this.#attempt.route.limits.line) this.refuse()
  }

  end(): void {
    if (this.#isOver) return
    if (this.#size > 0) this.#raw.data(Buffer.from(this.takeBuffered()))
    this.#raw.end()
  }

  broken(error: GatewayError): boolean {
    return this.#raw.broken(error)
  }

  settle(): void {}

  private append(piece: Buffer): void {
    this.#line.push(piece)
    this.#size += piece.length
  }

  /** The line for the client. */
  private takeBuffered(): Uint8Array {
    const [only] = this.#line
    const line = this.#line.length === 1 && only !== undefined ? only : Buffer.concat(this.#line)
    this.#line = []
    this.#size = 0
    try {
      return this.renamed(line)
    } catch {
      return line
    }
  }

  private renamed(line: Buffer): Uint8Array {
    const place = findValue(line, this.#rule.model)
    const model = place && parseJson(line.toString('utf8', place.start, place.end))
    if (place === undefined || typeof model !== 'string') return line
    const named = findValue(line, this.#rule.id)
    const request = named && parseJson(line.toString('utf8', named.start, named.end))
    const name = nameOfResult(this.#names, typeof request === 'string' ? request : undefined, model)
    if (name === undefined) return line
    return apply(line, [{ start: place.start, end: place.end, bytes: Buffer.from(JSON.stringify(name)) }])
  }

  private refuse(): void {
    this.#isOver = true
    this.#line = []
    const error = new GatewayError('bad_upstream_response', 'The upstream sent a line that is too long.', {
      phase: 'body',
      limit: 'line',
    })
    if (!this.#raw.broken(error)) this.#attempt.failed('bad_response', error)
  }
}

/** Headers without those that describe the upstream's bytes, except the type. */
function withoutValidators(headers: readonly string[]): string[] {
  const KEPT = new Set(['content-type', 'content-disposition', 'cache-control'])
  return headersWithout(headers, name => OF_BYTES.has(name) && !KEPT.has(name))
}
