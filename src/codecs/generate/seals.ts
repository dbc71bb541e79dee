import { Buffer } from 'node:buffer'
import type { Seal } from '../../core/text.js'
import { ownerOf, ownerWith, type Shape } from '../seal.js'

export const PROTOCOL = 'generate'

/** Stands for a signature on calls that no upstream of this protocol made; the upstream then does not look for one. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator'

const PREFIX = 'gw1.'
/** How base64 of that begins, whatever follows. */
const HEAD_BASE64 = Buffer.from(PREFIX, 'latin1').toString('base64').slice(0, 5)

/**
 * A seal as `thoughtSignature`. The field holds bytes in base64, and clients may decode it and write it again in the
 * URL-safe alphabet; so the seal of another protocol is base64 as a whole, with its owner inside.
 */
export function signatureOf(seal: Seal, shape: Shape = {}): string {
  if (seal.by === PROTOCOL) return seal.value
  return Buffer.from(`${PREFIX}${ownerWith(seal.by, shape)}.${seal.value}`, 'utf8').toString('base64')
}

/** The seal that came as `thoughtSignature`, with the shape of the thought that it seals. */
export function thoughtOf(signature: string): Shape & { readonly seal: Seal } {
  const own = { seal: { by: PROTOCOL, value: signature } }
  if (!signature.startsWith(HEAD_BASE64)) return own
  const text = Buffer.from(signature, 'base64').toString('utf8')
  const dot = text.indexOf('.', PREFIX.length)
  if (!text.startsWith(PREFIX) || dot < 0) return own
  const { by, ...shape } = ownerOf(text.slice(PREFIX.length, dot))
  return { ...shape, seal: { by, value: text.slice(dot + 1) } }
}
