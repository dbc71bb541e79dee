import { GatewayError } from '../core/errors.js'
import { type Json, parseJson } from '../core/json.js'
import type { Transform } from '../core/transform.js'
import { changeValues, parsePath } from '../wire/json-edit.js'
import { opaqueMask, type PngFault } from '../wire/png-mask.js'
import { chain, members, type Verb } from './verb.js'

/** `{ path: black }` or `{ path: white }`: a mask that is transparent where an image may change, as an opaque one. */
export const mask: Verb = {
  name: 'mask',
  compile: args =>
    chain(
      members(args).map(([dotted, colour]): Transform => {
        const path = parsePath(dotted)
        return document =>
          changeValues(document, path, written => {
            const value = parseJson(written.toString('utf8'))
            const made = typeof value === 'string' ? opaqueText(value, colour) : undefined
            return made === undefined ? undefined : JSON.stringify(made)
          })
      }),
    ),
}

/** A mask in base64 as an opaque one; undefined for other images, and other texts. */
export function opaqueText(value: string, colour: Json): string | undefined {
  const made = opaqueMask(Buffer.from(value, 'base64'), colour === 'white' ? 255 : 0)
  if (typeof made === 'string') throw new GatewayError('invalid_parameter', FAULTS[made], { param: 'mask' })
  return made?.toString('base64')
}

const FAULTS: Readonly<Record<PngFault, string>> = {
  large: 'The mask has too many pixels for this model.',
  broken: 'The mask is not a valid PNG.',
  other: 'The mask must be a PNG with 8 or 16 bits a channel, an alpha channel and no interlacing for this model.',
}
