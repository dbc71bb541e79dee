import { GatewayError } from '../../core/errors.js'

/** For what cannot be left out, because the answer would not be the one that was asked for. */
export function refuse(at: string | undefined, why: string): GatewayError {
  const name = at ?? 'messages'
  return new GatewayError('untranslatable', `The model cannot be given '${name}': ${why}.`, { param: name })
}
