import { Buffer } from 'node:buffer'
import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CallPart, Seal } from '../../core/text.js'
import { MADE_UP } from '../made-ids.js'
import { isBounded, parseObject, stringOf } from '../read.js'
import { ownerOf, ownerWith, type Shape } from '../seal.js'

export const PROTOCOL = 'generate'

/** Stands for a signature on calls that no upstream of this protocol made; the upstream then does not look for one. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator'

const SEAL_PREFIX = 'gw1.'
/** How base64 of that begins. */
const HEAD_BASE64 = Buffer.from(SEAL_PREFIX, 'latin1').toString('base64').slice(0, 5)

/**
 * A seal as `thoughtSignature`. The field holds bytes in base64, and clients may decode it and write it again in the
 * URL-safe alphabet; so the seal of another protocol is base64 as a whole, with its owner inside.
 */
export function signatureOf(seal: Seal, shape: Shape = {}): string {
  if (seal.by === PROTOCOL) return seal.value
  return Buffer.from(`${SEAL_PREFIX}${ownerWith(seal.by, shape)}.${seal.value}`, 'utf8').toString('base64')
}

/** The seal that came as `thoughtSignature`, with the shape of the thought that it seals. */
export function thoughtOf(signature: string): Shape & { readonly seal: Seal } {
  const own = { seal: { by: PROTOCOL, value: signature } }
  if (!signature.startsWith(HEAD_BASE64)) return own
  const text = Buffer.from(signature, 'base64').toString('utf8')
  const dot = text.indexOf('.', SEAL_PREFIX.length)
  if (!text.startsWith(SEAL_PREFIX) || dot < 0) return own
  const { by, ...shape } = ownerOf(text.slice(SEAL_PREFIX.length, dot))
  return { ...shape, seal: { by, value: text.slice(dot + 1) } }
}

/** Begins names that were rewritten; those of tools that take free text. */
const PREFIX = 'gw__'
const CUSTOM_PREFIX = 'gwc__'

/** Names of functions: a letter or an underscore, then letters, digits and `_ : . -`, at most 128. */
const VALID = /^[A-Za-z_][A-Za-z0-9_:.-]*$/

const ESCAPED = /_x([0-9a-f]{1,6})_/g

/**
 * The name as the protocol takes it: another character, and the underscore with it, is its code in hex between `_x` and
 * `_`. {@link clientName} undoes that without knowing the request. A tool that takes free text is a function here; its
 * name says so, and its calls become what they were.
 */
export function wireName(name: string, custom = false): string {
  if (!custom && VALID.test(name) && !name.startsWith(PREFIX) && !name.startsWith(CUSTOM_PREFIX)) return name
  const body = Array.from(name, letter => (/[A-Za-z0-9:.-]/.test(letter) ? letter : escaped(letter))).join('')
  return (custom ? CUSTOM_PREFIX : PREFIX) + body
}

function escaped(letter: string): string {
  return `_x${(letter.codePointAt(0) ?? 0).toString(16)}_`
}

/** The name that the client gave to the tool, and whether it takes free text. */
export function clientName(name: string): { readonly name: string; readonly custom: boolean } {
  const custom = name.startsWith(CUSTOM_PREFIX)
  if (!custom && !name.startsWith(PREFIX)) return { name, custom }
  return { name: name.slice(custom ? CUSTOM_PREFIX.length : PREFIX.length).replace(ESCAPED, unescaped), custom }
}

function unescaped(all: string, hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : all
}

/** Members of a call's part as they are read of `functionCall`, where `args` is whole. */
export function callIn(id: string, wire: string, args: JsonObject): CallPart {
  const { name, custom } = clientName(wire)
  if (!custom) return { type: 'call', id, name, arguments: jsonText(args) }
  return { type: 'call', id, name, arguments: stringOf(args.input) ?? jsonText(args), custom: true }
}

/**
 * A `functionCall`. Generated ids are omitted. Free text is wrapped in an object as `input`; arguments that are not objects
 * are wrapped in one as `_raw`, since the protocol only has objects.
 */
export function callOut({ id, name, arguments: text, custom }: CallPart): JsonObject {
  const args = custom === true ? { input: text } : argumentsOf(text)
  const call: Record<string, Json> = { name: wireName(name, custom), args }
  if (!id.startsWith(MADE_UP) && id !== '') call.id = id
  return call
}

function argumentsOf(text: string): JsonObject {
  const args = parseObject(text)
  return args !== undefined && isBounded(args) ? args : { _raw: text }
}

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
