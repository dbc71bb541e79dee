import { Buffer } from 'node:buffer'
import type { Seal } from '../../core/text.js'
import { type Shape, unwrapThought, wrapSeal } from '../seal.js'
import { PROTOCOL } from './media-in.js'

/** `redactedContent` is base64, which clients decode and encode again: another protocol's seal is in base64 once more. */
export function encodeRedacted(seal: Seal, shape: Shape): string {
  if (seal.by === PROTOCOL) return seal.value
  return Buffer.from(wrapSeal(seal, PROTOCOL, shape), 'utf8').toString('base64')
}

export function decodeRedacted(base64: string): Shape & { readonly seal: Seal } {
  const text = Buffer.from(base64, 'base64').toString('utf8')
  const found = unwrapThought(text, PROTOCOL)
  return found.seal.by === PROTOCOL ? { seal: { by: PROTOCOL, value: base64 } } : found
}
