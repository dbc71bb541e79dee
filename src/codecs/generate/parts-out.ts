import type { Json } from '../../core/json.js'
import type { Seal } from '../../core/text.js'

/** A part of `contents` or of a candidate while it is made. */
export type WirePart = Record<string, Json>

export function textOut(text: string, signature?: string): WirePart {
  return signed({ text }, signature)
}

export function thoughtOut(text: string, signature?: string): WirePart {
  return signed({ text, thought: true }, signature)
}

export function signed(part: WirePart, signature: string | undefined): WirePart {
  if (signature !== undefined) part.thoughtSignature = signature
  return part
}

/** Signatures are bytes in base64, of either alphabet. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The seal of a part, where this protocol made it: others mean nothing to an upstream, and what is not bytes is not a seal. */
export function ownSignature(seal: Seal | undefined, protocol: string): string | undefined {
  return seal?.by === protocol && BASE64.test(seal.value) ? seal.value : undefined
}
