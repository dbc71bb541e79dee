import { StoreError, type StoreFault } from '../core/store.js'

/** What a server's error, by its code, means for those who use the store. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const MEANINGS: Readonly<Record<string, readonly [StoreFault, string]>> = {
  '53100': ['full', 'has no space left on its disk'],
  '53200': ['full', 'has no memory left'],
  '53300': ['unavailable', 'accepts no more connections'],
  '57014': ['unavailable', 'did not answer in time'],
  '57P01': ['unavailable', 'is shutting down'],
  '57P02': ['unavailable', 'crashed'],
  '57P03': ['unavailable', 'is starting up'],
  '25006': ['unavailable', 'is read-only'],
  '28000': ['refused', 'refused the user'],
  '28P01': ['refused', 'refused user or password'],
  '3D000': ['refused', 'has no such database'],
  '42501': ['refused', 'does not permit this user to do that'],
}

const AWAY_CODES = new Set([
  '57P01',
  '57P02',
  '57P03',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** The library's messages if connecting takes too long, and if all connections are in use for too long. */
export const NO_CONNECTION = 'Connection terminated due to connection timeout'
export const NONE_FREE = 'timeout exceeded when trying to connect'
const AWAY_WORDS = /^(Query read timeout|Connection terminated|timeout expired)/

/** Whether the server is gone, or as good as that: it does not even keep to its own time limit. */
export function isAway(error: unknown): boolean {
  return AWAY_CODES.has(codeOf(error)) || (error instanceof Error && AWAY_WORDS.test(error.message))
}

/** Whether the server's name leads nowhere: connections that are open may be well. */
export function isUnnamed(error: unknown): boolean {
  return ['ENOTFOUND', 'EAI_AGAIN'].includes(codeOf(error))
}

/** Such as a replica since a fail-over: another connection may find the primary. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006'
}

/** Serialization failure or deadlock: the server undid all of it and says to try again. */
export function isFleeting(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error))
}

export function postgresFault(error: unknown, where: string, { wait }: { readonly wait: number }): StoreError {
  const known = MEANINGS[codeOf(error)]
  if (known !== undefined) return new StoreError(known[0], `the store at ${where} ${known[1]}`, error)
  const message = error instanceof Error ? error.message || codeOf(error) : String(error)
  if (message === NONE_FREE) {
    return new StoreError('unavailable', `no connection to the store at ${where} was free within ${wait} ms`, error)
  }
  const reason = isAway(error) ? 'cannot be reached' : 'failed'
  return new StoreError('unavailable', `the store at ${where} ${reason} (${message.slice(0, 200)})`, error)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
