import { isObject, type JsonObject, parseJson } from './json.js'

/** Longest token that is looked at, characters. */
const MAX_TOKEN_CHARS = 16 * 1024
/** Three parts in base64url, of which the first is a JSON object. */
const JWT = /^ey[\w-]+\.[\w-]+\.[\w-]*$/

/** Whether a text has the form of a signed token (JWS, RFC 7515). */
export function isToken(text: string): boolean {
  return text.length <= MAX_TOKEN_CHARS && JWT.test(text)
}

/** What a token says of its issuer; nothing of it has been checked. */
export function issuerOf(token: string): string | undefined {
  const claims = readPart(token.split('.')[1] ?? '')
  return typeof claims?.iss === 'string' ? claims.iss : undefined
}

function readPart(part: string): JsonObject | undefined {
  const value = parseJson(Buffer.from(part, 'base64url').toString('utf8'))
  return isObject(value) ? value : undefined
}
