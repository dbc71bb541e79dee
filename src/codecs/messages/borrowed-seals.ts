import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../core/json.js'
import type { Seal } from '../../core/text.js'

/**
 * Other protocols seal calls and texts, too; here only thoughts have a place for that. Such a seal travels as a block of
 * hidden thoughts beside what it belongs to: clients send those back unread, and its signature tells where it goes.
 * `next`: onto the part behind it; `prev`: onto the part before; `text`: onto a text of its own that is empty.
 */
export type SealPlace = 'next' | 'prev' | 'text'

const FORM = /^gw1\.([^.]+)\.([A-Za-z0-9_-]*)\.(next|prev|text)$/

export function encodeBorrowedSeal({ by, value }: Seal, place: SealPlace): JsonObject {
  const signature = `gw1.${by}.${Buffer.from(value, 'utf8').toString('base64url')}.${place}`
  return { type: 'thinking', thinking: '', signature }
}

export function decodeBorrowedSeal(signature: string): { readonly seal: Seal; readonly place: SealPlace } | undefined {
  const [, by, value, place] = FORM.exec(signature) ?? []
  if (by === undefined || value === undefined) return undefined
  return { seal: { by, value: Buffer.from(value, 'base64url').toString('utf8') }, place: place as SealPlace }
}
