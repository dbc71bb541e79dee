import { GatewayError } from '../core/errors.js'
import { parseJson } from '../core/json.js'
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
        const changed = colour === 'white' ? 255 : 0
        return document => changeValues(document, path, written => opaque(parseJson(written.toString('utf8')), changed))
      }),
    ),
}

function opaque(value: unknown, changed: 0 | 255): string | undefined {
  if (typeof value !== 'string') return undefined
  const made = opaqueMask(Buffer.from(value, 'base64'), changed)
  if (typeof made === 'string') throw new GatewayError('invalid_parameter', FAULTS[made], { param: 'mask' })
  return made === undefined ? undefined : JSON.stringify(made.toString('base64'))
}

const FAULTS: Readonly<Record<PngFault, string>> = {
  large: 'The mask has too many pixels for this model.',
  broken: 'The mask is not a valid PNG.',
  other: 'The mask must be a PNG with 8 or 16 bits a channel, an alpha channel and no interlacing for this model.',
}
