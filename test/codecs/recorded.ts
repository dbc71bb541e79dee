import { fold, unfold } from '../../src/codecs/fold.js'
import type { TextCodec } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Json } from '../../src/core/json.js'
import type { TextEvent, TextResult } from '../../src/core/text.js'
import { type TextExchange, textExchanges } from '../helpers/text-recordings.js'
import { TEXT_CODECS } from './all.js'
import { decodeAll, faultsOf, onlyGatewayErrors } from './support.js'

/** A recorded answer as the codec of its protocol reads it. */
export interface RecordedAnswer {
  readonly exchange: TextExchange
  readonly codec: TextCodec
  readonly result: TextResult
  readonly events: readonly TextEvent[]
}

export interface Recorded {
  /** All exchanges of protocols that there is a codec for. */
  readonly exchanges: readonly TextExchange[]
  readonly answers: readonly RecordedAnswer[]
  /** Good answers that cannot be read, and why. */
  readonly unread: readonly string[]
}

/** Every recorded exchange, and its answer read where it is a good one; nothing where the recordings are not here. */
export async function readRecorded(): Promise<Recorded> {
  const exchanges = (await textExchanges()).filter(exchange => codecOf(exchange) !== undefined)
  const answers: RecordedAnswer[] = []
  const unread: string[] = []
  for (const exchange of exchanges) {
    const codec = codecOf(exchange)
    if (codec === undefined || exchange.status >= 300) continue
    const answer = read(codec, exchange)
    if (answer instanceof GatewayError) unread.push(`${exchange.name}: ${answer.code}: ${answer.message}`)
    else if (answer !== undefined) answers.push({ exchange, codec, ...answer })
  }
  return { exchanges, answers, unread }
}

export function codecOf({ protocol }: TextExchange): TextCodec | undefined {
  return TEXT_CODECS.find(codec => codec.protocol === protocol)
}

export function othersThan(codec: TextCodec): readonly TextCodec[] {
  return TEXT_CODECS.filter(other => other !== codec)
}

function read(
  codec: TextCodec,
  { frames, result, name }: TextExchange,
): { result: TextResult; events: readonly TextEvent[] } | GatewayError | undefined {
  if (frames !== undefined) {
    const events = decodeAll(codec, frames)
    const faults = faultsOf(events)
    if (faults.length > 0) throw new Error(`${name}: ${faults}`)
    const sum = onlyGatewayErrors(() => fold(events))
    return sum instanceof GatewayError ? sum : { result: sum, events }
  }
  if (result === undefined) return undefined
  const decoded = onlyGatewayErrors(() => codec.client.decodeResult(result as Json))
  return decoded instanceof GatewayError ? decoded : { result: decoded, events: unfold(decoded) }
}
