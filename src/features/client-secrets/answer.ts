import { missingParameter } from '../../core/admission.js'
import { takesClientSecrets } from '../../core/client-secrets.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { messageRules } from '../../core/members.js'
import type { Exchange, Route } from '../../core/plan.js'
import { unknownModel } from '../../core/refusals.js'
import type { Answer } from '../../core/route-settings.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { newId } from '../../kernel/own-ids.js'
import { readRequest } from '../../kernel/read-request.js'
import { resolve } from '../../kernel/resolve.js'
import { type FoundMembers, findInMessage } from '../../wire/find-members.js'
import { checkFound } from '../../wire/member-names.js'
import { IDENTITY } from '../identity/service.js'
import { presentedKey } from '../keys/authenticate.js'
import { CLIENT_SECRETS, type ClientSecret, digestOf, MAX_SECRET_CHARS, MAX_SESSION_BYTES } from './client-secrets.js'

/** The protocol's own bounds of a secret's lifetime, seconds. */
const LIFE_SECONDS = { least: 10, usual: 600, most: 7200 }
/** Types of sessions that have secrets, and the names of their objects. */
const SESSIONS: Readonly<Record<string, string>> = {
  realtime: 'realtime.session',
  transcription: 'realtime.transcription_session',
}

/** Makes a short-lived secret that opens sessions in the name of the caller's key. */
export const CLIENT_SECRET_ANSWERS: Partial<Record<Answer, (call: Call, route: Route) => Promise<void>>> = {
  client_secret: make,
}

async function make(call: Call, route: Route): Promise<void> {
  const body = await readRequest(call, route)
  const document = body.type === 'bytes' ? await documentOfBody(call, body, { exact: true }) : {}
  const seconds = lifeOf(document.expires_after)
  const session = sessionOf(document.session)
  const model = modelOf(session)
  call.model = model
  const opens = call.generation.plan.routes.find(
    one => one.tunnel !== undefined && takesClientSecrets(one.protocol?.name),
  )
  if (opens === undefined) throw new GatewayError('not_found', 'No realtime sessions are served here.')
  const [exchange] = resolve(call, opens)
  const others = exchange === undefined ? [] : namedIn(session, call, opens, exchange)
  const clientSecrets = call.kernel.need(CLIENT_SECRETS)
  const holder = holderOf(call, route)
  // A secret lives no longer than the token or the certificate that it was made with.
  const most = Math.floor((holder.identity?.until ?? Number.POSITIVE_INFINITY) / 1000)
  const expires = Math.min(Math.floor(clientSecrets.now / 1000) + seconds, most)
  const { model: _, ...settings } = session
  const begins = Object.keys(settings).length > 1 ? settings : null
  const secret: ClientSecret = { ...holder, expires, model, others, session: begins }
  const value = await clientSecrets.make(secret)
  if (value.length > MAX_SECRET_CHARS) throw tooLarge()
  const shown = { type: session.type ?? null, object: SESSIONS[String(session.type)] ?? null, id: newId('sess_') }
  const named = session.type === 'realtime' ? { model } : {}
  call.answer(200, { value, expires_at: expires, session: { ...shown, ...named, ...settings } })
}

/** The caller that the secret is bound to. */
function holderOf(call: Call, route: Route): Pick<ClientSecret, 'key' | 'identity'> {
  const identified = call.get(IDENTITY)
  if (identified === undefined) return { key: digestOf(presentedKey(call.request, call.query, route.caller)) }
  const { identity, provider, until } = identified
  return { key: '', identity: { identity, provider, until } }
}

function lifeOf(after: Json | undefined): number {
  if (after === undefined || after === null) return LIFE_SECONDS.usual
  if (!isObject(after)) throw invalid('expires_after', 'must be an object', 'invalid_type')
  const { anchor = 'created_at', seconds = LIFE_SECONDS.usual } = after
  if (anchor !== 'created_at') throw invalid('expires_after.anchor', 'must be created_at')
  const { least, most } = LIFE_SECONDS
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= least && seconds <= most) return seconds
  throw invalid('expires_after.seconds', `must be a whole number from ${least} to ${most}`)
}

function sessionOf(session: Json | undefined): JsonObject {
  if (session === undefined || session === null) throw missingParameter('session')
  if (!isObject(session)) throw invalid('session', 'must be an object', 'invalid_type')
  if (session.type === undefined) throw missingParameter('session.type')
  if (!Object.hasOwn(SESSIONS, String(session.type))) {
    throw invalid('session.type', `must be ${Object.keys(SESSIONS).join(' or ')}`)
  }
  if (Buffer.byteLength(jsonText(session)) > MAX_SESSION_BYTES) throw tooLarge()
  return session
}

/** The session's model. A transcription session names it under `audio.input.transcription`. */
function modelOf(session: JsonObject): string {
  const isHeard = session.type === 'transcription' && session.model === undefined
  const place = isHeard ? 'session.audio.input.transcription.model' : 'session.model'
  const model = isHeard
    ? memberOf(memberOf(memberOf(session, 'audio'), 'input'), 'transcription')?.model
    : session.model
  if (model === undefined || model === null) throw missingParameter(place)
  if (typeof model !== 'string' || model === '') throw invalid(place, 'must be a string', 'invalid_type')
  return model
}

/** Further models that the session names. Throws for members that a session's messages may not have either. */
function namedIn(session: JsonObject, call: Call, route: Route, { upstream }: Exchange): readonly string[] {
  const { names: found, refused, dropped } = membersIn(session, messageRules(route.members.of(upstream.name)))
  checkFound({ names: found, refused: [...refused, ...dropped] })
  const names = new Set(found.map(({ text }) => text))
  names.delete(call.model)
  const { models } = call.generation.plan
  for (const name of names) {
    const isThere = call.caller?.may(name) === true && models.nameAt(name, upstream.name) !== undefined
    if (!isThere) throw unknownModel(name, route)
  }
  return [...names]
}

function membersIn(session: JsonObject, rules: Parameters<typeof findInMessage>[1]): FoundMembers {
  try {
    return findInMessage(Buffer.from(jsonText({ session })), rules)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw invalid('session', 'is nested too deep')
  }
}

function memberOf(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = value?.[name]
  return isObject(member) ? member : undefined
}

function invalid(param: string, what: string, familyCode = 'invalid_value'): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' ${what}.`, { param, familyCode })
}

function tooLarge(): GatewayError {
  const message = `The session is too large for a client secret, which contains it: ${MAX_SESSION_BYTES} bytes at most, and ${MAX_SECRET_CHARS} packed. Let the client send the rest.`
  return new GatewayError('invalid_parameter', message, { param: 'session', limit: 'client_secret' })
}
