import { estimate } from '../codecs/index.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/plan.js'
import { decodeAlone } from './decode.js'
import { wantedBytes, withFetched } from './media.js'
import { translatorOf } from './pair.js'

/** Larger bodies are not translated only to compare: of their targets those come first that relay them. */
const MAX_COMPARED_BYTES = 262_144

/** What a target drops of a request, by the client's names; `refused`: it cannot be given it at all; undefined: not looked at. */
export type Lost = readonly string[] | 'refused' | undefined

const NOTHING: readonly string[] = Object.freeze([])

/** What each of several targets would drop of a request with that body, in the protocol of the route. */
export function lossesOf(
  exchanges: readonly Exchange[],
  body: Buffer | undefined,
  head: { readonly model: string; readonly stream: boolean },
  isStrict: boolean,
): ReadonlyMap<Exchange, Lost> {
  let decoded: ReturnType<typeof decodeAlone> | undefined
  const lost = (exchange: Exchange): Lost => {
    const { translation } = exchange
    if (translation === undefined) return NOTHING
    if (body === undefined || body.length > MAX_COMPARED_BYTES || translation.client === estimate) return undefined
    decoded ??= decodeAlone(translation.server, body, head)
    const wanted = wantedBytes(decoded.request, translation)
    const request = withFetched(decoded.request, wanted, ({ kind, mime = '' }) => ({
      kind,
      mime,
      source: { base64: '' },
    }))
    const translator = translatorOf({ ...decoded, request }, exchange, translation, translation.strict || isStrict)
    translator.encode()
    return translator.losses.dropped
  }
  return new Map(
    exchanges.map(exchange => {
      try {
        return [exchange, lost(exchange)]
      } catch (error) {
        if (error instanceof GatewayError) return [exchange, 'refused']
        throw error
      }
    }),
  )
}

/** Those that drop least first. */
export function byLosses(exchanges: readonly Exchange[], losses: ReadonlyMap<Exchange, Lost>): readonly Exchange[] {
  const rank = (exchange: Exchange): number => {
    const lost = losses.get(exchange)
    if (lost === 'refused') return Number.POSITIVE_INFINITY
    return lost === undefined ? Number.MAX_SAFE_INTEGER : lost.length
  }
  return exchanges.toSorted((one, other) => rank(one) - rank(other) || 0)
}

/** The exchanges that are before the first and lose more than it: `north (seed, tools[0]), south (refused)`; undefined if none. */
export function skippedText(
  written: readonly Exchange[],
  first: Exchange | undefined,
  losses: ReadonlyMap<Exchange, Lost>,
): string | undefined {
  const at = first === undefined ? -1 : written.indexOf(first)
  const skipped = written.slice(0, Math.max(0, at)).map(exchange => {
    const lost = losses.get(exchange)
    return `${exchange.upstream.name} (${lost === undefined ? 'not compared' : lost === 'refused' ? lost : lost.join(', ')})`
  })
  return skipped.length === 0 ? undefined : skipped.join(', ')
}
