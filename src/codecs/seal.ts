import { Buffer } from 'node:buffer'
import type { Seal } from '../core/text.js'

/** Begins every seal that stands in a field of a protocol which did not make it. */
const HEAD = 'gw1.'

/**
 * The text for an opaque field of `protocol`: the seal as it is where that protocol made it, else wrapped so that
 * {@link unwrapSeal} finds out whose it is. Holds only base64url and dots, or what the protocol itself sent.
 */
export function wrapSeal(seal: Seal, protocol: string): string {
  if (seal.by === protocol) return seal.value
  return `${HEAD}${seal.by}.${Buffer.from(seal.value, 'utf8').toString('base64url')}`
}

/** The seal that a client sent back in an opaque field of `protocol`. */
export function unwrapSeal(text: string, protocol: string): Seal {
  if (!text.startsWith(HEAD)) return { by: protocol, value: text }
  const dot = text.indexOf('.', HEAD.length)
  if (dot < 0) return { by: protocol, value: text }
  return { by: text.slice(HEAD.length, dot), value: Buffer.from(text.slice(dot + 1), 'base64url').toString('utf8') }
}
