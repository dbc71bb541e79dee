import { Buffer } from 'node:buffer'
import type { ReasoningPart, Seal } from '../core/text.js'

/** Begins every seal that is in a field of a protocol which did not make it. */
const PREFIX = 'gw1.'

/** What the owner of a seal wants back with it, and fields of other protocols have no place for. */
export type Shape = Pick<ReasoningPart, 'id' | 'summary' | 'redacted'>

/**
 * The text for an opaque field of `protocol`: the seal as it is where that protocol made it, else wrapped so that
 * {@link unwrapSeal} finds out whose it is. Holds only base64url, `+` and dots, or what the protocol itself sent.
 */
export function wrapSeal(seal: Seal, protocol: string, shape: Shape = {}): string {
  if (seal.by === protocol) return seal.value
  return `${PREFIX}${ownerWith(seal.by, shape)}.${Buffer.from(seal.value, 'utf8').toString('base64url')}`
}

/** The seal that a client sent back in an opaque field of `protocol`. One that came back torn is no one else's. */
export function unwrapSeal(text: string, protocol: string): Seal {
  return unwrapThought(text, protocol).seal
}

/** The same with the shape of the thought that it seals. */
export function unwrapThought(text: string, protocol: string): Shape & { readonly seal: Seal } {
  const own = { seal: { by: protocol, value: text } }
  const dot = text.startsWith(PREFIX) ? text.indexOf('.', PREFIX.length) : -1
  if (dot <= PREFIX.length) return own
  const { by, ...shape } = ownerOf(text.slice(PREFIX.length, dot))
  const seal = { by, value: Buffer.from(text.slice(dot + 1), 'base64url').toString('utf8') }
  return wrapSeal(seal, protocol, shape) === text ? { ...shape, seal } : own
}

const ID = /^[A-Za-z0-9_-]{1,128}$/

/** `messages+r` for what is redacted, `responses+s-rs_1` for the summary of an item with an id. */
export function ownerWith(by: string, { id, summary, redacted }: Shape): string {
  const flags = `${redacted === true ? 'r' : ''}${summary === true ? 's' : ''}`
  const named = id !== undefined && ID.test(id) ? `-${id}` : ''
  return flags + named === '' ? by : `${by}+${flags}${named}`
}

/** {@link ownerWith}, the other way round. */
export function ownerOf(owner: string): Shape & { readonly by: string } {
  const [, by = owner, flags = '', id] = /^([^+]*)\+([rs]{0,2})(?:-(.*))?$/.exec(owner) ?? []
  return {
    by,
    ...(flags.includes('r') && { redacted: true }),
    ...(flags.includes('s') && { summary: true }),
    ...(id !== undefined && ID.test(id) && { id }),
  }
}
