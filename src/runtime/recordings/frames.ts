import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { StartError } from '../problems.js'
import { type PlayedFrame, type PlayedSession, saidIn } from './exchange.js'

/** Close code of a session that ended without a close frame. */
const ABNORMAL = 1006
/** Never sent: a close frame without a code. */
const NO_CODE = 1005
/** Of messages in HAR that are bytes: the opcode of RFC 6455 §11.8. */
const BINARY = 2

/** The session of a document of ours. Throws {@link StartError} where someone has written what cannot be played. */
export function ownSession(frames: readonly Json[], end: Json | undefined, file: string): PlayedSession {
  const read = frames.map((frame, at) => {
    const found = isObject(frame) ? ownFrame(frame) : undefined
    if (found !== undefined) return found
    const wanted = 'expected from: client or upstream, after_ms, and one of json, text, base64 and close'
    throw new StartError(`recordings: ${file}: frame ${at + 1} cannot be played: ${wanted}`)
  })
  const { by, code, cut } = isObject(end) ? end : ({} as JsonObject)
  return {
    ...session(read),
    breaksOff: by === 'upstream' && code === ABNORMAL,
    ...(typeof cut === 'string' ? { cut } : {}),
  }
}

/** `client`: the client closed. */
type ReadFrame = PlayedFrame | 'client closed'

function ownFrame(frame: JsonObject): ReadFrame | undefined {
  const { from, after_ms: at = 0, json, text, base64, binary, close, reason = '' } = frame
  if ((from !== 'client' && from !== 'upstream') || typeof at !== 'number' || at < 0) return undefined
  const given = [json, text, base64, close].filter(one => one !== undefined)
  if (given.length !== 1) return undefined
  if (close !== undefined) {
    if (!isCloseCode(close) || typeof reason !== 'string') return undefined
    return from === 'client' ? 'client closed' : { from, at, close, reason }
  }
  if (json !== undefined) return message(from, at, Buffer.from(JSON.stringify(json)), binary === true)
  if (typeof text === 'string') return message(from, at, Buffer.from(text), binary === true)
  return typeof base64 === 'string' ? message(from, at, Buffer.from(base64, 'base64'), true) : undefined
}

/** Codes that an endpoint may send (RFC 6455 §7.4), and that of a frame without one. */
function isCloseCode(code: Json): code is number {
  if (typeof code !== 'number' || !Number.isInteger(code)) return false
  return (code >= 3000 && code <= 4999) || (code >= 1000 && code <= 1014 && ![1004, ABNORMAL].includes(code))
}

function message(from: 'client' | 'upstream', at: number, bytes: Buffer, isBinary: boolean): PlayedFrame {
  const said = saidIn(bytes)
  return from === 'client' ? { from, at, said } : { from, at, said, bytes, isBinary }
}

/** What comes after the client's close frame was on its way, or answers it. */
function session(frames: readonly ReadFrame[]): PlayedSession {
  const end = frames.indexOf('client closed')
  const kept = (end < 0 ? frames : frames.slice(0, end)) as readonly PlayedFrame[]
  return { frames: kept, breaksOff: false }
}

/** VCR cassettes of sessions: `{ kind: message, direction: sent | received, data }`. They have no times and no address. */
export function cassetteSession(interactions: readonly Json[]): PlayedSession | undefined {
  const messages = interactions.filter(isObject).filter(({ kind, data }) => kind === 'message' && data !== undefined)
  if (messages.length === 0) return undefined
  const read = messages.map(({ direction, data = null }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    return message(direction === 'sent' ? 'client' : 'upstream', 0, Buffer.from(text), false)
  })
  return session(read)
}

/** Messages that browsers keep in HAR: `{ type: send | receive, time, opcode, data }`, times in seconds since the epoch. */
export function harSession(messages: readonly Json[]): PlayedSession {
  const known = messages.filter(isObject)
  const first = Number(known[0]?.time ?? 0)
  const read = known.map(({ type, time, opcode, data }) => {
    const at = Math.max(0, Math.round((Number(time ?? first) - first) * 1000))
    const bytes = Buffer.from(String(data ?? ''), opcode === BINARY ? 'base64' : 'utf8')
    return message(type === 'send' ? 'client' : 'upstream', at, bytes, opcode === BINARY)
  })
  return session(read)
}

/** Whether a close frame has a code. */
export function hasCode(code: number): boolean {
  return code !== NO_CODE
}
