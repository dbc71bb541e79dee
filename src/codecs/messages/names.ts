import { Buffer } from 'node:buffer'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import { isBounded, parseObject } from '../read.js'

/** Ids of calls are `^[a-zA-Z0-9_-]+$` in this protocol; others are written in base64url behind this. */
const CALL_ID_PREFIX = 'gw1-'

const PLAIN_CALL_ID = /^[a-zA-Z0-9_-]+$/

export function encodeCallId(id: string): string {
  return PLAIN_CALL_ID.test(id) && !id.startsWith(CALL_ID_PREFIX)
    ? id
    : CALL_ID_PREFIX + Buffer.from(id, 'utf8').toString('base64url')
}

/** The id that {@link encodeCallId} wrote; any other as it is. */
export function decodeCallId(wire: string): string {
  if (!wire.startsWith(CALL_ID_PREFIX)) return wire
  const id = Buffer.from(wire.slice(CALL_ID_PREFIX.length), 'base64url').toString('utf8')
  return encodeCallId(id) === wire ? id : wire
}

/**
 * Names of tools are `^[a-zA-Z0-9_-]{1,128}$` in this protocol. Another name is written in those characters, so that it
 * can be read back without knowing the request: `gw1_` and the name, where `-` is `--` and any other character its
 * UTF-16 code in hex between hyphens (`files.read` is `gw1_files-2e-read`). A tool that takes free text has `gw1c_`.
 */
const PREFIX = 'gw1_'
const CUSTOM = 'gw1c_'

const PLAIN = /^[a-zA-Z0-9_-]+$/
const MAX_NAME_CHARS = 128

/** The name on the wire; undefined where it would be too long. */
export function encodeToolName(name: string, custom = false): string | undefined {
  const plain = !custom && PLAIN.test(name) && !name.startsWith(PREFIX) && !name.startsWith(CUSTOM)
  const wire = plain ? name : (custom ? CUSTOM : PREFIX) + name.replace(/[^a-zA-Z0-9_]/g, escaped)
  return wire.length > MAX_NAME_CHARS ? undefined : wire
}

export function decodeToolName(wire: string): { readonly name: string; readonly custom: boolean } {
  const custom = wire.startsWith(CUSTOM)
  if (!custom && !wire.startsWith(PREFIX)) return { name: wire, custom }
  return { name: wire.slice(custom ? CUSTOM.length : PREFIX.length).replace(/-([0-9a-f]{0,4})-/g, unescaped), custom }
}

function escaped(character: string): string {
  return character === '-' ? '--' : `-${character.charCodeAt(0).toString(16)}-`
}

function unescaped(_: string, code: string): string {
  return code === '' ? '-' : String.fromCharCode(Number.parseInt(code, 16))
}

/** For what cannot be left out, because the answer would not be the one that was asked for. */
export function refuse(at: string | undefined, why: string): GatewayError {
  const name = at ?? 'messages'
  return new GatewayError('untranslatable', `The model cannot be given '${name}': ${why}.`, { param: name })
}

/** The arguments of a call as an object (`''` is `{}`); undefined where they are none, or nested too deeply. */
export function inputOf(text: string): JsonObject | undefined {
  const input = parseObject(text)
  return input !== undefined && isBounded(input) ? input : undefined
}
